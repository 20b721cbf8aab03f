package collection

import "fmt"

// fewerOf is how many records a walk has at least whose list may be found to have
// far fewer: short lists come and go.
const fewerOf = 20

// neverEmpty is how many complete walks in a row had records in a list that is not
// one of those that are empty at times.
const neverEmpty = 3

// farFewer reports whether the walk has so few records beside the one before it that a
// person should hear of it.
func (e Evidence) farFewer() bool {
	n, least, drop := e.Distinct(), int64(fewerOf), int64(50)
	if n == 0 && e.Filled >= neverEmpty {
		least = 1
	}
	if e.Expect.Drops {
		least, drop = 1, int64(e.Expect.Drop)
	}
	if e.Partial || e.Holes > 0 || e.Before < least || e.Expect.AnyDrop || n == 0 && e.Expect.Zero == ZeroIsFine {
		return false
	}
	return 100*n < (100-drop)*e.Before
}

func (e Evidence) fewer() string {
	return fmt.Sprintf("the walk before had %d records, and this one has %d", e.Before, e.Distinct())
}

// bound says that a walk ended at a number which is a common bound of what a
// provider gives of a list, however many records there are; "" if it did not, or
// if the provider told a total, which was held against what came. An earlier walk
// had as many as before. As a warning it is said once: the next walk is compared
// with this one.
//
// A list that lost records and ends at a round number is told of from 100 on.
// One that did not is told of only where its pages end at a power of ten from
// 1,000 on, which real providers have for a bound: the search of GitHub ends
// after 1,000 results (https://docs.github.com/en/rest/search/search), a window
// of Elasticsearch after 10,000 (index.max_result_window).
func (e Evidence) bound(before int64) string {
	n := e.Distinct()
	switch {
	case e.Partial, e.Window, e.Holes > 0, e.End == EndKnown, e.By != "" && !e.InPages:
		return ""
	case !e.Expect.AnyDrop && before >= n+fewerOf && isRound(n):
		return fmt.Sprintf("exactly %d records came, and an earlier walk had %d: if that is the most that the provider gives of a list, ask for smaller lists", n, before)
	case before < n && n >= 1000 && e.Pages > 1 && isPowerOfTen(n):
		return fmt.Sprintf("exactly %d records came, and then no more: if that is the most that the provider gives of a list, ask for smaller lists", n)
	}
	return ""
}

// isRound reports whether n is 1, 2, 2.5 or 5 times a power of ten, from 100 on.
func isRound(n int64) bool {
	for ; n >= 100 && n%10 == 0; n /= 10 {
		switch n {
		case 100, 200, 250, 500:
			return true
		}
	}
	return false
}

func isPowerOfTen(n int64) bool {
	for n > 1 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
