package since

import (
	"hash/fnv"
	"strconv"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// A tie is a run of records with one mark, longer than a page, in a walk that is
// ordered and whose pages are counted. Nothing in it can be an anchor, so that it
// is walked by the numbers of its pages, and these shift: a record that is
// updated, or deleted, behind the walk pulls one in front of it out of sight,
// whose mark the walk then leaves behind.
//
// So a tie is walked until two passes over it, one after the other, had the
// same records: then none of them left it during the first of the two, and
// that one missed none. The pass of an earlier walk counts, too: a tie of the
// newest records is walked once by each run, and not twice.
//
// Two passes can be the same and miss the same records, if the provider orders
// by the mark alone and its pages overlap. A record that came twice in a pass
// shows that: see collection.Evidence.
type tie struct {
	Mark   string `json:"tie,omitempty"`    // the highest in it so far, in this pass
	Sum    string `json:"sum,omitempty"`    // over the keys of its records, in this pass so far
	Before string `json:"before,omitempty"` // the sum of the pass before
	Passes int    `json:"passes,omitempty"` // that are over
}

// mostPasses bounds the passes over a tie. A provider that sorts by the mark
// alone may give out the records of a tie in another order each time; each pass
// then finds some that the others missed, and no two are the same.
const mostPasses = 5

// pass takes the tie over a page whose marks are m, and from which the walk can
// go on at anchor, if that is not "", or with token. first is whether the page
// was asked for by its anchor and no token. had is the name of the tie that an
// earlier walk ended with. again reports that the pass ended here and must be
// made again; left is the name of the tie if the walk leaves it.
func (t *tie) pass(field notation.Path, m Marks, first bool, anchor, token, had string) (again bool, left string) {
	if first && (anchor != "" || token == "") {
		*t = tie{} // one answer has all of it
		return false, ""
	}
	if t.Mark == "" && anchor != "" {
		return false, ""
	}
	if first {
		t.Mark, t.Sum = "", ""
	}
	if anchor == "" {
		t.Mark = latest(t.Mark, m.high)
	}
	t.add(field, m.records)
	if token != "" && anchor == "" {
		return false, ""
	}
	name := t.Mark + " " + t.Sum
	if t.Sum != t.Before && name != had && t.Passes+1 < mostPasses {
		*t = tie{Before: t.Sum, Passes: t.Passes + 1}
		return true, ""
	}
	*t = tie{}
	return false, name
}

// add sums up the records that are no later than the tie, in any order.
func (t *tie) add(field notation.Path, records []collection.Record) {
	sum, _ := strconv.ParseUint(t.Sum, 16, 64) // "" is none
	for _, r := range records {
		if text, _ := notation.TextOf(field.In(r.Data)); !later(text, t.Mark) {
			h := fnv.New64a()
			h.Write([]byte(r.Key))
			sum += h.Sum64()
		}
	}
	t.Sum = strconv.FormatUint(sum, 16)
}
