package sim_test

import (
	"io"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/response"
	"collect/pacing/sim"
)

// read is what our client reads in an answer.
func read(a sim.Answer) response.Reading {
	return response.Read(time.Now(), a.Status, a.Header, []byte(a.Body))
}

// press asks as fast as the owner allows, from at on, until it is refused.
func press(t *testing.T, p *sim.Provider, at float64) (float64, sim.Answer) {
	t.Helper()
	for end := at + 7200; at < end; at += 1.0 / sim.Ceiling {
		if a := p.Ask("/records", at, 1); a.Status != 200 {
			return at, a
		}
	}
	t.Fatalf("%s, seed %d: nothing is refused", p.Family, p.Seed)
	return 0, sim.Answer{}
}

// What a refusal asks for is what its family says, and our client takes it for
// a throttle.
func TestSilenceAskedFor(t *testing.T) {
	for _, tc := range []struct {
		family      string
		status      int
		least, most float64 // seconds asked for, beside those needed
		told        bool
	}{
		{"after-short", 429, -20, -0.5, true},
		{"after-date", 429, 0, 2, true},
		{"unavailable", 503, 0, 1, true},
		{"forbidden", 403, 0, 0, false},
	} {
		for seed := range uint64(5) {
			p := family(t, tc.family).New(seed)
			at, a := press(t, p, 0)
			r := read(a)
			if a.Status != tc.status || r.Class != response.Throttle || (r.Hold >= 0) != tc.told {
				t.Fatalf("%s, seed %d: refused with %d, %s, hold %v", tc.family, seed, a.Status, r.Class, r.Hold)
			}
			if !tc.told {
				continue
			}
			needed := at
			for p.Ask("/records", needed, 1).Status != 200 {
				needed += 0.05
			}
			if got := at + r.Hold.Seconds() - needed; got < tc.least-0.1 || got > tc.most+0.1 {
				t.Errorf("%s, seed %d: the silence asked for is %.2f s longer than needed, want %v to %v", tc.family, seed, got, tc.least, tc.most)
			}
		}
	}
}

func TestAfterMinute(t *testing.T) {
	p := family(t, "after-minute").New(1000)
	refused := 0
	for at := 0.0; at < 600; at += 1.0 / sim.Ceiling {
		switch a := p.Ask("/records", at, 1); {
		case a.Status == 200 && a.Header.Get("Retry-After") == "":
		case a.Status == 429 && a.Header.Get("Retry-After") == "60":
			refused++
		default:
			t.Fatalf("%d with Retry-After %q", a.Status, a.Header.Get("Retry-After"))
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
}

// The silence doubles with each refusal after it, whatever is sent during it,
// and begins anew after ten minutes without one.
func TestAfterGrows(t *testing.T) {
	p := family(t, "after-grows").New(1000)
	hold := func(a sim.Answer) float64 { return read(a).Hold.Seconds() }
	at, a := press(t, p, 0)
	least := hold(a)
	if got := p.Ask("/records", at+1, 1); got.Status != 429 || math.Abs(hold(got)-least+1) > 0.5 {
		t.Errorf("a second into a silence of %v s: %d, %v s", least, got.Status, hold(got))
	}
	last := least
	for range 3 {
		at, a = press(t, p, at+last)
		if got := hold(a); math.Abs(got-2*last) > 2 {
			t.Errorf("after a silence of %v s, one of %v s, want it doubled", last, got)
		}
		last = hold(a)
	}
	if _, a = press(t, p, at+last+601); hold(a) != least {
		t.Errorf("after ten minutes, a silence of %v s, want %v s as at first", hold(a), least)
	}
}

// The hour that is announced is not what refuses.
func TestHourTold(t *testing.T) {
	for seed := range uint64(5) {
		p := family(t, "hour-told").New(seed)
		_, a := press(t, p, 0)
		r := read(a)
		if len(r.Windows) != 1 || r.Windows[0].Remaining <= 0 || r.Hold >= 0 {
			t.Fatalf("seed %d: refused with %+v", seed, r)
		}
		if told, limit := r.Windows[0].Limit/3600, p.Capacity("/records", 0); told < 1.4*limit {
			t.Errorf("seed %d: %.2f/s announced, and %.2f/s are granted, want less", seed, told, limit)
		}
	}
}

// Until the time that is announced by the provider's clock, nothing is left;
// then all of it is.
func TestEpochTold(t *testing.T) {
	for seed := range uint64(5) {
		p := family(t, "epoch-told").New(seed)
		at, a := press(t, p, 0)
		r := read(a)
		if len(r.Windows) != 1 || r.Windows[0].Remaining != 0 {
			t.Fatalf("seed %d: refused with %+v", seed, r)
		}
		reset := r.Windows[0].Reset.Seconds()
		if before := p.Ask("/records", at+reset-2.1, 1); before.Status != 429 {
			t.Errorf("seed %d: %d before the time", seed, before.Status)
		}
		then := read(p.Ask("/records", at+reset, 1))
		if got, want := then.Windows[0].Remaining, r.Windows[0].Limit-1; got != want {
			t.Errorf("seed %d: %v left then, want %v", seed, got, want)
		}
	}
}

// Others take some at the beginning of a window, and later.
func TestOthersTold(t *testing.T) {
	p := family(t, "others-told").New(1000)
	beginning, later := 0, 0
	var last response.Quota
	for at := 0.0; at < 3600; at += 5 {
		w := read(p.Ask("/records", at, 1)).Windows[0]
		switch {
		case at == 0 || w.Reset > last.Reset: // a new window
			if w.Limit-w.Remaining > 1 {
				beginning++
			}
		case w.Remaining < last.Remaining-1:
			later++
		}
		last = w
	}
	if beginning < 5 || later < 10 {
		t.Errorf("others take some at %d beginnings of a window, and %d times later", beginning, later)
	}
}

// A date is a silence, too, for who counts the requests inside of it.
func TestSilenceUntilDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := family(t, "after-date").New(1000)
		send := func() response.Reading {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sim.Origin+"/records", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := p.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response.Read(time.Now(), resp.StatusCode, resp.Header, body)
		}
		r := send()
		for r.Hold < 0 {
			r = send()
		}
		r = send()
		if got := p.Score(0, 2*time.Hour).Early; got != 1 {
			t.Errorf("one request at once after the refusal: %d early", got)
		}
		time.Sleep(r.Hold)
		send()
		if got := p.Score(0, 2*time.Hour).Early; got != 1 {
			t.Errorf("and one after the silence: %d early, want the first alone", got)
		}
	})
}
