package runner_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// TestDetailsThatAreAllAbsent: where all of the first details are not there and
// none was ever had, the rest is not asked for. Among details that can be had,
// also of an earlier run, and of this one before it is stored, each is.
func TestDetailsThatAreAllAbsent(t *testing.T) {
	const n = 80
	for name, had := range map[string]int{"none": -1, "the first of the run": 0, "one in the middle": 20} {
		for _, earlier := range []bool{false, true} {
			if earlier && had >= 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, p := newMemory(), &provider{n: n}
					one := func(c *runner.Config) { c.Concurrency, c.Ledger = 1, &slow{memory: m} }
					if earlier { // one detail is stored, and the others are new
						p.n = 1
						if _, err := do(t, m, p, one); err != nil {
							t.Fatal(err)
						}
						m, p.n, p.asked = m.reopen(), n, nil
					}
					for i, item := range p.items() {
						if i != had {
							p.fail("/details/"+item+"?page=", http.StatusNotFound)
						}
					}
					// Each answer is read before the next one comes.
					distant := distant{p, 10 * time.Millisecond, func() bool { return true }}
					if _, err := do(t, m, distant, one); err != nil {
						t.Fatal(err)
					}
					asked, home := 0, 0
					for _, at := range p.asked {
						if strings.HasPrefix(at, "/details/") {
							asked++
						}
					}
					for _, gap := range m.gaps {
						if gap.Stream == "details" && gap.Partition == "" && gap.Reason == collection.NotFound {
							home++
						}
					}
					wantAsked, wantHome := n, 0
					switch {
					case earlier:
						wantAsked = n - 1
					case had < 0:
						wantAsked, wantHome = 30, 1
					}
					if asked < wantAsked || asked > wantAsked+1 || home != wantHome { // one may be in line
						t.Errorf("%d details were asked for and %d gaps stand for the rest, want %d and %d", asked, home, wantAsked, wantHome)
					}
				})
			})
		}
	}
}
