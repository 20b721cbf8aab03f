package declarative

import (
	"hash/fnv"
	"strconv"

	"collect/collection"
)

// A tie is a run of records with one mark, longer than a page, in a walk that is
// ordered and whose pages are counted. Nothing in it can be an anchor, so that it
// is walked by the numbers of its pages, and these shift: a record that is
// updated, or deleted, behind the walk pulls one in front of it out of sight,
// whose mark the walk then leaves behind.
//
// So a tie is walked until two passes over it, one after the other, had the
// same records: then none of them left it during the first of the two, and
// that one missed none.
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
// was asked for by its anchor and no number. It reports whether the pass ended
// here and must be made again.
func (t *tie) pass(s *since, m marks, first bool, anchor, token string) (again bool) {
	if !s.counted || first && (anchor != "" || token == "") {
		*t = tie{} // one answer has all of it
		return false
	}
	if t.Mark == "" && anchor != "" {
		return false
	}
	if first {
		t.Mark, t.Sum = "", ""
	}
	if anchor == "" {
		t.Mark = latest(t.Mark, m.high)
	}
	t.add(s, m.records)
	if token != "" && anchor == "" {
		return false
	}
	again = t.Sum != t.Before && t.Passes+1 < mostPasses
	if *t = (tie{Before: t.Sum, Passes: t.Passes + 1}); !again {
		*t = tie{}
	}
	return again
}

// add sums up the records that are no later than the tie, in any order.
func (t *tie) add(s *since, records []collection.Record) {
	sum, _ := strconv.ParseUint(t.Sum, 16, 64) // "" is none
	for _, r := range records {
		if text, _ := scalarText(s.field.in(r.Data)); !later(text, t.Mark) {
			h := fnv.New64a()
			h.Write([]byte(r.Key))
			sum += h.Sum64()
		}
	}
	t.Sum = strconv.FormatUint(sum, 16)
}
