package crash_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// TestKilled kills processes at random moments, again and again, until one
// ends by itself.
func TestKilled(t *testing.T) {
	n, began := newTally(), time.Now()
	chains := make([]uint64, *kills) // one of them may be killed often, or never
	for i := range chains {
		chains[i] = uint64(began.UnixNano()) + uint64(i)
	}
	each(t, chains, func(b *bench, seed uint64) {
		if n.count("kills") >= *kills {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		all := chosen()
		sc := all[rnd.IntN(len(all))]
		killed := b.killed(sc, rnd)
		n.add("kills", killed)
		n.add(sc.name, killed)
	})
	t.Logf("%d processes killed at random moments, %.1f/s: %v",
		n.count("kills"), float64(n.count("kills"))/time.Since(began).Seconds(), n.n)
	if n.count("kills") == 0 {
		t.Error("none was killed")
	}
}

// killed runs one scenario to its end, killing it on its way, and returns how
// often it did.
func (b *bench) killed(sc scenario, rnd *rand.Rand) (kills int) {
	c := b.try(sc, "", "killed at random moments")
	whole := b.known[sc.name].took.took
	for {
		p := c.collecting()
		if err := p.start(); err != nil {
			c.fail("%v", err)
			return kills
		}
		timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(whole*3/2))), func() { _ = p.Process.Kill() })
		e, ok := c.ended(p)
		timer.Stop()
		switch {
		case !ok:
			return kills
		case e.signal == syscall.SIGKILL:
			kills++
			c.intact("after a kill")
			c.tokenKept(e)
			continue
		case c.signedOut(e):
			c.signIn()
			continue
		}
		if e.code != 0 {
			c.fail("%v after %d kills", e, kills)
		}
		c.judge(e, kills)
		return kills
	}
}
