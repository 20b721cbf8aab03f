package sim_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

// TestReplay: one seed is one history, request by request, on one processor and
// on eight. Our client plays it at every family; the others, and eight
// processes that share a pace, at some.
//
// It is not parallel, because it changes the number of processors.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	fleet := sim.Fleet(law.Plateau, make([]atomic.Int64, 8))
	fleet.Name = "eight processes"
	refused, broken, unanswered := 0, 0, 0
	for _, f := range append(sim.Families(), family(t, "two-routes"), family(t, "nodes"), family(t, "dropping"),
		family(t, "slack"), family(t, "shopify-graphql"), family(t, "cached")) {
		clients, long := []sim.Client{sim.Governed(law.Plateau)}, 5*time.Minute
		switch f.Name {
		case "bucket-after", "several", "concurrency", "ban-refusals":
			clients = append(sim.Contenders(), fleet)
		case "ban-soft":
			long = 20 * time.Minute // past the end of a freeze, for which all workers wait
		}
		for _, c := range clients {
			was, is := visits(t, 1, f, c, long), visits(t, 8, f, c, long)
			if was != is {
				t.Errorf("%s at %s: played again, it went another way. %s", c.Name, f.Name, parted(was, is))
			}
			refused += strings.Count(was, "refused true")
			broken += strings.Count(was, ": 503 after")
			unanswered += strings.Count(was, ": 0 after")
		}
	}
	if refused < 100 || broken < 20 || unanswered < 5 {
		t.Errorf("%d refusals, %d answers with a 503 and %d requests without one are too few to say anything", refused, broken, unanswered)
	}
}

// visits returns what an instance of f sees, on so many processors, of c, which
// comes for long and once more, and what c keeps in the end.
func visits(t *testing.T, processors int, f sim.Family, c sim.Client, long time.Duration) (log string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	synctest.Test(t, func(*testing.T) {
		p := f.New(*first)
		var state []byte
		sim.Play(p, c, long, &state)
		time.Sleep(30 * time.Minute)
		sim.Play(p, c, 2*time.Minute, &state)
		log = strings.Join(append(p.Log(), "kept: "+string(state)), "\n")
	})
	return log
}

// parted shows where two logs part.
func parted(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	n := 0
	for n < len(a)-1 && n < len(b)-1 && a[n] == b[n] {
		n++
	}
	return fmt.Sprintf("Line %d of %d and %d was\n%s\nand is\n%s", n+1, len(a), len(b), a[n], b[n])
}
