package paging

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// ByJob reads what a job of the provider made: the first page of a walk is the answer
// that creates it, and all others are those of its result. A token is the id of the
// job, and behind a line break that of the page.
type ByJob struct {
	Kind               // of the result
	ID   notation.Path // in the answer that creates the job
}

// JobOf returns the id of the job in a token, and the token of the page of its result.
func JobOf(token string) (id, page string) {
	id, page, _ = strings.Cut(token, "\n")
	return id, page
}

func (b ByJob) Ask(token string) []Field {
	_, page := JobOf(token)
	return b.Kind.Ask(page)
}

// Next returns the token of the result where p created the job, and else that of the
// next page of the result.
func (b ByJob) Next(p *Page, token string) (string, error) {
	id, page := JobOf(token)
	if id == "" {
		id, err := tokenAt(b.ID, p.Body)
		if err == nil && (id == "" || strings.ContainsAny(id, "\n\r")) {
			err = BadPage("the answer that should create a job has no id at `%s`", b.ID.Text)
		}
		return id, err
	}
	next, err := b.Kind.Next(p, page)
	if next != "" {
		next = id + "\n" + next
	}
	return next, err
}

func (b ByJob) End(p *Page) collection.End { return b.Kind.End(p) }

// wordsAt are where an answer about a job says why it failed, the plainest first.
var wordsAt = []string{"errorMessage", "error_message", "error.message", "message", "failure_reason", "errorCode", "error_code", "error", "reason"}

// mostWords is how many bytes of the words of a provider are shown.
const mostWords = 300

// Words returns what an answer says of a failure, in one line; "" if it says nothing.
// Some providers put all of an answer into one member, {"export": {"state": …}}.
func Words(body []byte) string {
	if said := words(body); said != "" {
		return said
	}
	var only gjson.Result
	members := 0
	gjson.ParseBytes(body).ForEach(func(_, value gjson.Result) bool {
		only = value
		members++
		return members < 2
	})
	if members != 1 || !only.IsObject() {
		return ""
	}
	return words([]byte(only.Raw))
}

func words(object []byte) string {
	for _, at := range wordsAt {
		said := gjson.GetBytes(object, at)
		text := strings.Join(strings.FieldsFunc(said.Str, func(r rune) bool {
			return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
		}), " ")
		if len(text) > mostWords {
			text = strings.ToValidUTF8(text[:mostWords], "") + "…"
		}
		if text != "" {
			return text
		}
	}
	return ""
}
