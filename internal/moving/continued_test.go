package moving_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A wiki is a provider that sends each batch of five pages in several answers: their
// links, three at a time, then their tags. See the API:Continue page of MediaWiki.
type wiki struct{ pages int }

const (
	batch     = 5
	wikiLinks = 8 // of each page
	linksAt   = 3 // links of a page in one answer
)

func (s *wiki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("gapfrom"))
	links, _ := strconv.Atoi(q.Get("plcontinue"))
	more := q.Get("plcontinue") != "done"
	var pages []string
	end := min(from+batch, s.pages)
	for id := from + 1; id <= end; id++ {
		page := fmt.Sprintf(`{"pageid":%d,"title":"P%d"`, id, id)
		if more {
			var part []string
			for n := links; n < min(links+linksAt, wikiLinks); n++ {
				part = append(part, fmt.Sprintf(`"L%d-%d"`, id, n))
			}
			page += `,"links":[` + strings.Join(part, ",") + `]`
		} else {
			page += fmt.Sprintf(`,"tags":{"n":%d}`, id)
		}
		pages = append(pages, page+"}")
	}
	body := ""
	switch {
	case s.pages == 0:
		fmt.Fprint(w, `{"batchcomplete":true}`)
		return
	case !more && end < s.pages:
		body = fmt.Sprintf(`"batchcomplete":true,"continue":{"gapfrom":%d,"continue":"gapfrom||"},`, end)
	case !more:
		body = `"batchcomplete":true,`
	default:
		next := cmp.Or(map[bool]string{true: strconv.Itoa(links + linksAt)}[links+linksAt < wikiLinks], "done")
		body = fmt.Sprintf(`"continue":{"plcontinue":%q,"gapfrom":"%d","continue":"||tags"},`, next, from)
	}
	fmt.Fprintf(w, `{%s"query":{"pages":[%s]}}`, body, strings.Join(pages, ","))
}

// want returns the records that the parts of all batches make.
func (s *wiki) want() (lines []string) {
	for id := 1; id <= s.pages; id++ {
		var links []string
		for n := range wikiLinks {
			links = append(links, fmt.Sprintf(`"L%d-%d"`, id, n))
		}
		lines = append(lines, fmt.Sprintf("{\"pageid\":%d,\"title\":\"P%d\",\"links\":[%s],\"tags\":{\"n\":%d}}\n", id, id, strings.Join(links, ","), id))
	}
	return slices.Sorted(slices.Values(lines))
}

// TestPartsOfAPageAreOneRecord: runs that are killed at any moment store each record
// whole, though its fields come in four answers.
func TestPartsOfAPageAreOneRecord(t *testing.T) {
	s := &wiki{pages: 23}
	v := &victim{kills: 12, serve: s.ServeHTTP, file: `
connector: wiki
provider: {base_url: %q, pace: off}
streams:
  pages: {get: /api.php, query: {gapfrom: "0"}, records: query.pages, key: pageid, page: {continue: {from: continue, complete: batchcomplete}}}
`}
	v.runKilled(t, rand.New(rand.NewPCG(1, 2)))
	if got, want := v.exported(t, "pages"), s.want(); !slices.Equal(got, want) {
		t.Errorf("after %d kills %d records are stored, want %d:\n%s", v.killed, len(got), len(want), strings.Join(got, ""))
	}
}
