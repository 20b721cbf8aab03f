package share_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"collect/pacing/share"
)

// TestOneLeads plays random histories on the lead of an account: processes take, renew
// and leave it, die, and stand still between their request and its effect; the server
// is started again, or gives way to a standby that forgot what was written last.
// Whoever leads by its own clock leads alone.
func TestOneLeads(t *testing.T) {
	const lasts, holds = int64(5000), int64(4000)
	reached := map[string]int{}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var lead share.Lead
		past := []share.Lead{lead}
		until := map[string]int64{} // by which it leads, by its own clock
		now, life := int64(1000000), 0
		for step := range 60 {
			now += r.Int64N(2500)
			id := fmt.Sprint("p", r.IntN(4))
			sent := now - r.Int64N(500) // it stood still since
			server := fmt.Sprint("life ", life)
			switch r.IntN(10) {
			case 0, 1, 2, 3:
				if sent < until[id] {
					continue // it leads
				}
				next, taken, killed := lead.Take(id, server, now, lasts)
				lead = next
				if !taken {
					reached["not taken"]++
					break
				}
				reached[fmt.Sprint("taken, killed ", killed)]++
				for other, end := range until {
					if other != id && now < end {
						t.Fatalf("seed %d, step %d: %s leads at %d, and %s does until %d", seed, step, id, now, other, end)
					}
				}
				until[id] = sent + holds
			case 4, 5, 6, 7:
				if sent >= until[id] {
					continue // it does not lead
				}
				next, leads := lead.Renew(id, server, now, lasts)
				lead = next
				if reached[fmt.Sprint("renewed ", leads)]++; leads {
					until[id] = sent + holds
				} else {
					delete(until, id)
				}
			case 8:
				lead = lead.Leave(id) // it may know no longer that it does not lead
				delete(until, id)
				reached["left"]++
			case 9:
				life++
				if r.IntN(2) == 0 && past[len(past)/2].Life != "" {
					lead = past[len(past)/2+r.IntN(len(past)-len(past)/2)]
					reached["forgot"]++
				}
			}
			past = append(past, lead)
		}
	}
	for _, branch := range []string{"not taken", "taken, killed true", "taken, killed false", "renewed true", "renewed false", "left", "forgot"} {
		if reached[branch] < 50 {
			t.Errorf("%q was reached %d times", branch, reached[branch])
		}
	}
}

// TestLeadAfterAClockWasSetBack: nobody waits for longer than a lease.
func TestLeadAfterAClockWasSetBack(t *testing.T) {
	lead, _, _ := share.Lead{}.Take("a", "1", 1_000_000, 500)
	lead, taken, _ := lead.Take("b", "1", 0, 500)
	if taken || lead.Ends != 500 {
		t.Errorf("a clock that was set back by a second: taken %t, the lease ends at %d; want that of a for 500 more", taken, lead.Ends)
	}
	if _, taken, killed := lead.Take("b", "1", 500, 500); !taken || !killed {
		t.Errorf("after a lease: taken %t, killed %t", taken, killed)
	}
}
