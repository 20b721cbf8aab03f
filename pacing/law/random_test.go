package law_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestRefusalsForNothing: one request in 300 is refused whatever the pace is.
// That is found out, so that the plateau does not sink with each of them. What
// is refused after ten answers, again and again, is no chance.
func TestRefusalsForNothing(t *testing.T) {
	const rate, ceiling, seeds = 12, 20, 30
	used := 0.0
	for seed := range uint64(seeds) {
		chance := rand.New(rand.NewPCG(seed, 0))
		l := &limited{Learner: law.NewLearner(1, ceiling), now: t0, at: t0, rate: rate, burst: 20,
			forNothing: func() bool { return chance.IntN(300) == 0 }}
		l.run(20 * time.Minute)
		answered, refused := l.run(40 * time.Minute)
		used += float64(answered) / (40 * 60 * rate) / seeds
		if refused > answered/100 {
			t.Errorf("seed %d: %d of %d were refused, want at most one in 100", seed, refused, answered+refused)
		}
		l.rate = 3 // and now there is a limit
		l.run(5 * time.Minute)
		answered, refused = l.run(20 * time.Minute)
		if refused > answered/50 {
			t.Errorf("seed %d: under a new limit %d of %d were refused, want at most one in 50", seed, refused, answered+refused)
		}
	}
	if used < 0.7 {
		t.Errorf("%.0f %% of the limit was used, want at least 70 %%", 100*used)
	}
}

// A tale is a Learner alone with a provider that refuses when the tale says so.
type tale struct {
	law.Learner
	now time.Time
}

// believing returns one that has found out that refusals come by chance: it was
// refused twice, each time after thousands of answers, and once more in the test
// of it.
func believing(t *testing.T) *tale {
	s := &tale{law.NewLearner(4, 4), t0}
	s.spell(3000, 1)
	if s.spell(3000, 1); s.Plateau() < 0.9*4 || s.Plateau() > 0.95*4 {
		t.Fatalf("the test of the belief is at %v/s, want a little less than 4/s", s.Plateau())
	}
	if s.spell(200, 1); s.Plateau() != 4 {
		t.Fatalf("after the test the plateau is %v/s, want 4/s", s.Plateau())
	}
	return s
}

func (s *tale) send(signal law.Signal) {
	at, _ := s.Next(s.now)
	s.now = later(s.now, at)
	sent := s.Send(s.now)
	s.now = s.now.Add(ms)
	s.Result(sent, law.Result{Signal: signal}, s.now)
}

// spell is n answers, with refusals before the last of them. It reports whether
// the plateau is what it was.
func (s *tale) spell(n, refusals int) (forgiven bool) {
	for range n - 1 {
		s.send(law.Succeeded)
	}
	was := s.Plateau()
	for range refusals {
		s.send(law.Throttled)
	}
	s.send(law.Succeeded)
	return s.Plateau() == was
}

// TestChanceIsWeighed: a hundred answers before a refusal speak neither for
// chance nor for a limit, and it is believed while three times as much speaks
// for it as against it. A refusal that lasts speaks against it.
func TestChanceIsWeighed(t *testing.T) {
	for n, want := range map[int]bool{100: true, 99: false} {
		s := believing(t)
		if s.spell(3000, 2) {
			t.Error("a refusal that lasts is taken for chance")
		}
		if got := s.spell(n, 1); got != want {
			t.Errorf("a refusal after %d answers is forgiven: %t, want %t", n, got, want)
		}
	}
}

// TestProbeIsRefusedByChance, and goes on, once chance is believed: before, a
// probe is what is refused.
func TestProbeIsRefusedByChance(t *testing.T) {
	for want, s := range map[bool]*tale{true: believing(t), false: {law.NewLearner(4, 4), t0}} {
		s.spell(3000, 2)
		s.spell(3000, 2) // the first refusal alone is doubted
		for n := 0; n < 150 || s.Rate() <= s.Plateau(); n++ {
			if s.send(law.Succeeded); n > 10_000 {
				t.Fatal("nothing above the plateau is tried")
			}
		}
		tried := s.Rate()
		s.spell(1, 1)
		for range 25 {
			s.send(law.Succeeded)
		}
		if got := s.Rate() == tried; got != want {
			t.Errorf("refused at %v/s over a plateau of %v/s, it goes on with %v/s, believing in chance: %t", tried, s.Plateau(), s.Rate(), want)
		}
	}
}

// TestChanceIsTested: the first refusal that is forgiven, and every eighth after
// it, makes the pace a little slower than what the count says, and it is at an
// end with chance if three times the usual answers come then without one. However
// many come at the whole pace say nothing against it.
func TestChanceIsTested(t *testing.T) {
	const each = 200
	for n, want := range map[int]bool{1533: true, 1534: false} { // three times (3000 + 8*200)/9
		s := believing(t)
		for i := range 6 {
			if !s.spell(each, 1) {
				t.Fatalf("refusal %d is not forgiven", i+3)
			}
		}
		if s.spell(each, 1); s.Plateau() < 0.9*4 || s.Plateau() > 0.95*4 {
			t.Errorf("after nine refusals the plateau is %v/s, want a little less than 4/s", s.Plateau())
		}
		if s.spell(n, 1); (s.Plateau() == 4) != want {
			t.Errorf("refused after %d slower answers the plateau is %v/s; as before: want %t", n, s.Plateau(), want)
		}
	}
	s := believing(t)
	if !s.spell(20_000, 1) {
		t.Error("many answers at the whole pace are taken for a failed test")
	}
}

// TestRefusalTooSoonToBeForgiven takes a twentieth of the plateau while chance is
// believed, and not what a count of so few answers says. A second one is a limit,
// unless one was forgiven in between.
func TestRefusalTooSoonToBeForgiven(t *testing.T) {
	s := believing(t)
	for range 2 {
		if s.spell(20, 1); math.Abs(s.Plateau()-0.95*4) > 1e-9 {
			t.Errorf("refused after 20 answers the plateau is %v/s, want %v/s", s.Plateau(), 0.95*4)
		}
		if s.spell(3000, 1); s.Plateau() != 4 {
			t.Fatalf("refused after 3000 answers the plateau is %v/s, want 4/s", s.Plateau())
		}
	}
	s.spell(20, 1)
	if s.spell(20, 1); s.Plateau() > 0.95*0.95*4-0.1 {
		t.Errorf("refused after 20 answers twice in a row, the plateau is %v/s, want what was counted", s.Plateau())
	}
}

// TestChanceIsTestedByTheLatestCount: what went out before the refusal that was
// forgiven last says nothing of the pace since then. Here it was nothing, for an
// hour.
func TestChanceIsTestedByTheLatestCount(t *testing.T) {
	s := believing(t)
	s.now = s.now.Add(time.Hour)
	for i := range 6 {
		if !s.spell(200, 1) {
			t.Fatalf("refusal %d is not forgiven", i+3)
		}
	}
	if s.spell(200, 1); s.Plateau() < 0.9*4 || s.Plateau() > 0.95*4 {
		t.Errorf("the test is at %v/s, want a little less than 4/s", s.Plateau())
	}
}

// TestTestOfChanceIsOfThePlateau: if it follows the refusal of a probe, it goes
// back to the plateau that the probe came from.
func TestTestOfChanceIsOfThePlateau(t *testing.T) {
	s := believing(t)
	s.spell(3000, 2) // the first count alone is doubted
	s.spell(3000, 2)
	s.spell(3000, 1)
	for range 5 {
		s.spell(200, 1)
	}
	s.spell(20, 1) // below the ceiling, so that there is something to look for
	plateau := s.Plateau()
	for n := 0; n < 150 || s.Rate() <= plateau; n++ {
		if s.send(law.Succeeded); n > 10_000 {
			t.Fatal("nothing above the plateau is tried")
		}
	}
	tried := s.Rate()
	if s.spell(1, 1); s.Plateau() >= 0.96*plateau {
		t.Fatalf("the test is at %v/s, want less than %v/s", s.Plateau(), plateau)
	}
	if s.spell(200, 1); s.Plateau() != plateau {
		t.Errorf("after a test that followed a probe at %v/s the plateau is %v/s, want %v/s", tried, s.Plateau(), plateau)
	}
}

// TestLimitIsNotTakenForChanceForLong: a bucket that is used too quickly refuses
// after as many answers as before, too. The test is slower than what it gave, and
// so it is found out.
func TestLimitIsNotTakenForChanceForLong(t *testing.T) {
	asked := 0
	l := &limited{Learner: law.NewLearner(10, 20), now: t0, at: t0, rate: 30, burst: 60,
		forNothing: func() bool { asked++; return asked%500 == 0 }}
	l.run(20 * time.Minute)
	if got := l.Plateau(); got < 18 {
		t.Fatalf("with refusals for nothing the plateau is %v/s, want nearly 20/s", got)
	}
	l.rate, l.forNothing = 17.5, nil
	l.run(5 * time.Minute)
	if answered, refused := l.run(time.Hour); refused > answered/500 {
		t.Errorf("%d of %d were refused, want at most one in 500", refused, answered+refused)
	}
}
