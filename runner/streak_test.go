package runner_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/runner"
)

// TestUnreadableDetailsEndAPass: where one detail after the other is no page, it
// is not these details that are at fault, and the rest is left as one gap.
func TestUnreadableDetailsEndAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 60}
		for _, item := range p.items() {
			p.fail("/details/"+item+"?page=", http.StatusOK) // not JSON
		}
		asked := func() (n int) {
			for _, at := range p.asked {
				if strings.HasPrefix(at, "/details/") {
					n++
				}
			}
			p.asked = nil
			return n
		}
		var warnings []string
		set := func(mode collection.Mode) func(*runner.Config) {
			return func(c *runner.Config) {
				c.Run.Mode = mode
				c.Observe = func(e collection.Event) {
					if e.Kind == collection.WarningRaised {
						warnings = append(warnings, e.Message)
					}
				}
			}
		}
		run, err := do(t, m, p, set(collection.Forward))
		if err != nil {
			t.Fatal(err)
		}
		if n := asked(); n != 10 || len(m.owes()) != 11 || len(warnings) != 1 {
			t.Errorf("%d details were asked for, %d gaps are owed, warned %q; want 10, 11 and one", n, len(m.owes()), warnings)
		}
		if got, want := runner.Verdict(run, m.owes()), collection.Blocked; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
		if got, want := m.keys("notes"), p.want("notes"); len(got) != len(want) {
			t.Errorf("%d notes are stored, want %d: another stream goes on", len(got), len(want))
		}
		for _, mode := range []collection.Mode{collection.Forward, collection.Resume} {
			if _, err := do(t, m.reopen(), p, set(mode)); err != nil {
				t.Fatal(err)
			}
			if n := asked(); n > 20 {
				t.Errorf("%s: %d details were asked for again, want 20 at most", mode, n)
			}
		}
		p.mend()
		if _, err := do(t, m.reopen(), p, set(collection.Forward)); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	})
}
