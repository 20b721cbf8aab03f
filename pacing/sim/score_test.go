package sim_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

var (
	only  = flag.String("score.families", "", "score only `these`, separated by commas")
	laws  = flag.String("score.laws", "aimd,plateau", "")
	seeds = flag.Int("score.seeds", 2, "")
	trace = flag.Bool("score.v", false, "")
)

func TestExplore(t *testing.T) {
	type sum struct{ share, refused, n, requests float64 }
	for _, law := range strings.Split(*laws, ",") {
		var total sum
		for _, f := range sim.Families() {
			if *only != "" && !strings.Contains(","+*only+",", ","+f.Name+",") {
				continue
			}
			var s sum
			worst := 2.0
			line := ""
			for seed := range *seeds {
				synctest.Test(t, func(t *testing.T) {
					p := f.New(uint64(1000 + seed))
					var state []byte
					began := time.Now()
					_ = began
					sim.Play(p, sim.Governed(law), time.Hour, &state)
					got := p.Score(0, time.Hour)
					s.share += got.Share
					s.refused += 1000 * float64(got.Refusals)
					s.requests += float64(got.Requests)
					s.n++
					worst = min(worst, got.Share)
					line += fmt.Sprintf(" [%.0f%% %d/%d lat %.1f t90 %.0f", 100*got.Share, got.Refusals, got.Requests, got.Latency, got.Reached)
					if got.Banned {
						line += " BAN"
					}
					if got.Early > 0 {
						line += fmt.Sprintf(" EARLY%d", got.Early)
					}
					line += "]"
				})
			}
			t.Logf("%-8s %-15s %5.1f%% %6.1f worst %3.0f%% %s", law, f.Name, 100*s.share/s.n, s.refused/s.requests, 100*worst, line)
			if f.Learnable {
				total.share += s.share / s.n
				total.refused += s.refused / s.requests
				total.n++
			}
		}
		t.Logf("%-8s mean %.1f%% refused %.1f", law, 100*total.share/total.n, total.refused/total.n)
	}
}
