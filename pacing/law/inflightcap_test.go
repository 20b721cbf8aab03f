package law_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestPlacesAreRemembered: that a provider counts what is in flight is known
// to the next run as well, though the pace itself has no limit then, and may be
// that of the start. After more than a month nothing is known any more.
func TestPlacesAreRemembered(t *testing.T) {
	for _, pace := range []float64{1, 8} {
		var m law.Memory
		state := fmt.Appendf(nil, `{"interval_ns": 125000000, "plateau": {"target_per_second": %v, "in_flight": 3, "probe_every": 256}}`, pace)
		if err := json.Unmarshal(state, &m); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			age  time.Duration
			room bool // for a fourth
		}{{time.Hour, false}, {25 * time.Hour, false}, {33 * 24 * time.Hour, true}} {
			l, err := law.New(law.Plateau, 1, 20, rand.Float64)
			if err != nil {
				t.Fatal(err)
			}
			if believed := l.Restore(m, tc.age); believed == tc.room {
				t.Fatalf("after %v the pace %v is believed: %t", tc.age, pace, believed)
			}
			now, open := l.Next(0)
			for range 3 {
				if !open {
					t.Fatalf("after %v there is no room for three at %v/s", tc.age, pace)
				}
				l.OnSend(now, 1)
				now, open = l.Next(now)
			}
			if open != tc.room {
				t.Errorf("after %v there is room for a fourth at %v/s: %v, want %v", tc.age, pace, open, tc.room)
			}
		}
	}
}

// TestTrustIsEarnedBesidePlaces: where the bound that was earned holds the pace back, clean answers raise it, also if the
// provider was once found to count what is in flight.
func TestTrustIsEarnedBesidePlaces(t *testing.T) {
	var m law.Memory
	if err := json.Unmarshal([]byte(`{"interval_ns": 125000000, "plateau": {"target_per_second": 8, "in_flight": 3, "probe_every": 256,
		"earned_per_second": 8, "spoke": true}}`), &m); err != nil {
		t.Fatal(err)
	}
	r := begin(t, &provider{}, m, time.Hour)
	r.workers, r.answer = 2, func(*provider) (law.Outcome, time.Duration) { return granted(true), 100 * ms }
	answered := r.until(time.Hour + 3*time.Minute)
	kept := r.law.Keep()
	if earned := kept.Earned(); earned < 16 || answered < 2200 {
		t.Errorf("%d answers in 3 min, and %v/s are earned, want some 2,400, and 16 or more", answered, earned)
	}
}

// TestPlacesThatOthersUse: who says that too many requests were in flight is sent fewer, and no slower ones. Others leave
// it four places in turn, one, and none at all; 5.7 a second are possible in four places of 700 ms.
func TestPlacesThatOthersUse(t *testing.T) {
	places := []int{4, 1, 4, 0, 4}
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	r.workers, r.answer = 8, func(p *provider) (law.Outcome, time.Duration) {
		o, took := p.place(places[min(4, (p.now-time.Hour)/time.Minute)], 700*ms)
		o.AtOnce = o.Signal == law.Throttled
		return o, took
	}
	for i, least := range []int{200, 80, 150, 0, 200} {
		if answered := r.until(time.Hour + time.Duration(i+1)*time.Minute); answered < least {
			t.Errorf("minute %d: %d answers with %d places, want %d or more", i+1, answered, places[i], least)
		}
	}
}

// TestWordsOfTheWrongLimit: a provider says that too many requests were in flight, and counts what comes in a second. One
// that was alone is refused, and soon another one, so that the pace is learned as from any refusal.
func TestWordsOfTheWrongLimit(t *testing.T) {
	refused := 0
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	r.workers, r.answer = 8, func(p *provider) (law.Outcome, time.Duration) {
		o := granted(p.bucket(3, 3))
		if o.AtOnce = o.Signal == law.Throttled; o.AtOnce {
			refused++
		}
		return o, 150 * ms
	}
	if answered := r.until(time.Hour + 6*time.Minute); answered < 950 || refused > 30 {
		t.Errorf("%d answered of 1,080, and %d refused, want 950 or more and 30 at most", answered, refused)
	}
}

// TestPlacesOfTheRunBefore: a run that begins with one place looks for more as one that lost them would. Only what was
// looked for in vain is not tried again in the first minutes.
func TestPlacesOfTheRunBefore(t *testing.T) {
	for every, most := range map[int]int{8: 400, 256: 130} {
		var m law.Memory
		state := fmt.Appendf(nil, `{"interval_ns": 125000000, "plateau": {"target_per_second": 8, "in_flight": 1, "probe_every": %d, "earned_per_second": 8, "spoke": true}}`, every)
		if err := json.Unmarshal(state, &m); err != nil {
			t.Fatal(err)
		}
		r := begin(t, &provider{}, m, time.Hour)
		r.workers, r.answer = 8, func(p *provider) (law.Outcome, time.Duration) { return p.place(10, s) }
		if answered := r.until(time.Hour + 2*time.Minute); answered < most*9/10 || every == 256 && answered > most {
			t.Errorf("one more is tried after %d answers: %d are answered in 2 minutes, want some %d", every, answered, most)
		}
	}
}
