package sim_test

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// near draws a latency around 5 ms.
func near(rng *rand.Rand) float64 { return 0.005 * math.Exp(0.3*rng.NormFloat64()) }

func set(h http.Header, name string, n float64) { h.Set(name, strconv.Itoa(int(n))) }

// fields tells what is left, and until when: in whole seconds, rounded up, and
// some more.
func fields(more float64) func(http.Header, ...sim.Left) {
	return func(h http.Header, all ...sim.Left) {
		l := all[0]
		set(h, "RateLimit-Limit", l.Limit)
		set(h, "RateLimit-Remaining", l.Remaining)
		set(h, "RateLimit-Reset", math.Ceil(l.Reset)+more)
		after(h, l)
	}
}

func after(h http.Header, l sim.Left) {
	if l.Wait > 0 {
		set(h, "Retry-After", math.Ceil(l.Wait))
	}
}

// always tells the same, whatever is left.
func always(limit, remaining, reset float64) func(http.Header, ...sim.Left) {
	return func(h http.Header, all ...sim.Left) {
		fields(0)(h, sim.Left{Limit: limit, Remaining: remaining, Reset: reset})
		if all[0].Wait > 0 {
			set(h, "Retry-After", 2)
		}
	}
}

// TestFieldsCostLittle: a limit that is told with a time which is longer than
// its window, or that is counted in another way than it is told, is used nearly
// as well as one that is told as it is.
func TestFieldsCostLittle(t *testing.T) {
	window := func() sim.Limiter { return sim.Window(10, 1) }
	bucket := func() sim.Limiter { return sim.Bucket(10, 10) }
	for _, tc := range []struct {
		name    string
		limit   func() sim.Limiter
		tell    func(http.Header, ...sim.Left)
		most    float64 // times as long as the best client
		refused int
	}{
		{"10 a second", window, fields(0), 1.1, 0},
		{"10 a second, and a second more", window, fields(1), 1.12, 0},
		{"10 in any second", func() sim.Limiter { return sim.Sliding(10, 1) }, fields(0), 1.2, 0},
		{"10 in any second, and a second more", func() sim.Limiter { return sim.Sliding(10, 1) }, fields(1), 1.3, 0},
		{"a bucket of 10 a second", bucket, fields(0), 1.1, 0},
		{"a bucket of 10 a second, and a second more", bucket, fields(1), 1.15, 0},
		{"a bucket of 10 a second, of which the same is told always", func() sim.Limiter { return sim.Bucket(10, 5) }, always(10, 9, 2), 1.2, 8},
		{"100 in ten seconds", func() sim.Limiter { return sim.Window(100, 10) }, fields(0), 1.06, 0},
		{"100 in ten seconds, and one more", func() sim.Limiter { return sim.Window(100, 10) }, fields(1), 1.1, 0},
		{"100 in any ten seconds, and one more", func() sim.Limiter { return sim.Sliding(100, 10) }, fields(1), 1.13, 0},
		{"600 a minute", func() sim.Limiter { return sim.Window(600, 60) }, fields(0), 1.03, 0},
		{"600 a minute, by a clock that is two minutes off", func() sim.Limiter { return sim.Window(600, 60) }, fields(120), 1.7, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, latency := range []func(*rand.Rand) float64{near, ordinary} {
				synctest.Test(t, func(t *testing.T) {
					limit := tc.limit()
					p := sim.Plain(limit, latency).Tell(tc.tell, limit)
					var state []byte
					const records, best = 2000, 10 // a second
					took := sim.Job(p, sim.Owned(perSecond(50), 4), records, 2*time.Hour, &state).Seconds() / (records / best)
					refused, _ := p.Refused()
					t.Logf("%.2f of the least, %d refused", took, refused)
					if took > tc.most || refused > tc.refused {
						t.Errorf("it took %.2f times the least, with %d refused, want at most %v and %d", took, refused, tc.most, tc.refused)
					}
				})
			}
		})
	}
}

// hourly tells the rest of an hour as GitHub does.
func hourly(h http.Header, all ...sim.Left) {
	began := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	now := began.Add(time.Duration(all[0].Now * float64(time.Second)))
	h.Set("Date", now.Format(http.TimeFormat))
	set(h, "X-RateLimit-Limit", all[0].Limit)
	set(h, "X-RateLimit-Remaining", all[0].Remaining)
	set(h, "X-RateLimit-Used", all[0].Limit-all[0].Remaining)
	h.Set("X-RateLimit-Resource", "core")
	set(h, "X-RateLimit-Reset", math.Ceil(float64(now.Unix())+all[0].Reset))
}

// anHourAndASecond tells two limits without the length of either.
func anHourAndASecond(h http.Header, all ...sim.Left) {
	hourly(h, all...)
	set(h, "X-Short-Limit-Limit", all[1].Limit)
	set(h, "X-Short-Limit-Remaining", all[1].Remaining)
	set(h, "X-Short-Limit-Reset", math.Ceil(all[1].Reset))
}

func dayWithoutReset(h http.Header, all ...sim.Left) {
	set(h, "X-RateLimit-Limit-Day", all[0].Limit)
	set(h, "X-RateLimit-Remaining-Day", all[0].Remaining)
}

// quietly tells nothing.
func quietly(http.Header, ...sim.Left) {}

// policy tells as express-rate-limit does, whose window is a quarter of an hour
// unless somebody says otherwise.
func policy(h http.Header, all ...sim.Left) {
	fields(0)(h, all...)
	set(h, "RateLimit-Policy", all[0].Limit)
	h.Set("RateLimit-Policy", h.Get("RateLimit-Policy")+";w=900")
}

// TestBudgets: the requests of an hour are there to be used, at the pace that
// the provider bears, and the last of them are used up without a refusal.
func TestBudgets(t *testing.T) {
	hour := func() []sim.Limiter { return []sim.Limiter{sim.Window(5000, 3600)} }
	reserving := perSecond(15)
	reserving.Reserve = 0.2
	for _, tc := range []struct {
		name    string
		owner   collection.Provider
		limits  func() []sim.Limiter
		tell    func(http.Header, ...sim.Left)
		records int
		most    time.Duration
	}{
		{"an hour's limit, unused", perSecond(15), hour, hourly, 300, 40 * time.Second},
		{"a fifth of an hour's limit", perSecond(15), hour, hourly, 1000, 85 * time.Second},
		{"nearly all of it", perSecond(15), hour, hourly, 4900, 9 * time.Minute},
		{"all of it", perSecond(15), hour, hourly, 5000, 15 * time.Minute},
		{"more than an hour's", perSecond(15), hour, hourly, 5200, 61 * time.Minute},
		{"all that is not for people", reserving, hour, hourly, 3990, 6 * time.Minute},
		{"and more", reserving, hour, hourly, 4100, 61 * time.Minute},
		{"an hour and a second", perSecond(50), func() []sim.Limiter { return []sim.Limiter{sim.Window(5000, 3600), sim.Window(10, 1)} }, anHourAndASecond, 1000, 115 * time.Second},
		{"a day, without a reset", perSecond(15), func() []sim.Limiter { return []sim.Limiter{sim.Window(5000, 86400)} }, dayWithoutReset, 1000, 85 * time.Second},
		{"all of a day, without a reset", perSecond(15), func() []sim.Limiter { return []sim.Limiter{sim.Window(1000, 86400)} }, dayWithoutReset, 1000, 15 * time.Minute},
		{"an hour's limit, which the owner declared as well", collection.Provider{Ceilings: []collection.Ceiling{{Count: 900, Per: time.Minute}, {Count: 5000, Per: time.Hour}}}, hour, hourly, 300, 40 * time.Second},
		{"an hour's limit that the owner declared alone", collection.Provider{Ceilings: []collection.Ceiling{{Count: 5000, Per: time.Hour}}}, hour, quietly, 300, 80 * time.Second},
		{"a quarter of an hour, in a policy", perSecond(15), func() []sim.Limiter { return []sim.Limiter{sim.Window(100, 900)} }, policy, 80, 30 * time.Second},
		{"nearly all of it, and nothing declared", collection.Provider{}, func() []sim.Limiter { return []sim.Limiter{sim.Window(100, 900)} }, policy, 90, 35 * time.Second},
		{"all of it, and nothing declared", collection.Provider{}, func() []sim.Limiter { return []sim.Limiter{sim.Window(100, 900)} }, policy, 100, time.Minute},
		{"nothing declared", collection.Provider{}, hour, hourly, 1000, 160 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := tc.limits()
				p := sim.Plain(sim.Both(limits), ordinary).Tell(tc.tell, limits...)
				var state []byte
				took := sim.Job(p, sim.Owned(tc.owner, 0), tc.records, 3*time.Hour, &state)
				refused, _ := p.Refused()
				t.Logf("%v, %d refused", took, refused)
				if took > tc.most || refused > 0 {
					t.Errorf("%d requests took %v, %d of them refused, want %v and none", tc.records, took, refused, tc.most)
				}
				if kept := 5000 - p.AnsweredBy(3600); tc.owner.Reserve > 0 && kept < 1000 {
					t.Errorf("%d are left for people in the first hour, want 1000", kept)
				}
			})
		})
	}
}
