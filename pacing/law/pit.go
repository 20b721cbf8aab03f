package law

// The constants of drains for a share of late answers: chosen, and judged
// together by docs/pacing-score.md.
const (
	pitProof  = 4    // late answers that were to come, if slower has not helped
	pitHelped = 1    // and as many that did, if it has
	pitDeep   = 0.15 // a share that is no scatter: it is not slow enough
	pitMore   = 1.5  // times as many as expected, too: the share was only growing
	pitLess   = 0.5  // of the share, if slower has helped, and not enough
)

// A pit is what is known of answers some of which take much longer than most:
// those to what was too fast, or any of them, because the latencies of the
// provider scatter. Chance looks like the one as well as the other, so a drain
// is an experiment. It ends when enough late answers were to come, and unless
// the pace is one of which nothing is known yet, it is made twice: what came
// before it was looked at because it was bad, and is better the next time.
type pit struct {
	wading bool  // the drain is for a share of late answers
	lates  int32 // of them, in the drain
	deeper int8  // halves that may still be tried
	again  bool  // slower has helped once
	surely bool  // and need not help again
}

// wade begins such a drain: in a start, after a step that was probed, or at the
// plateau.
func (p *plateau) wade(probed bool) {
	l := &p.latency
	l.lates, l.lateBefore, l.late = 0, l.late, l.usualLate
	l.surely = probed || p.mode == startup || p.restart
	l.deeper = halvesMost
	p.r = min(p.r, max(slowest, drainPace*p.target))
}

// climbOut looks at one answer of such a drain, and ends it when enough came. If
// most of them are slow, it is a queue that has to be emptied, and no pit.
func (p *plateau) climbOut(took float64, now Moment) {
	l := &p.latency
	if l.recent.n == latencies && l.slowFor(l.recent.typical().seconds()) {
		before, halves := p.preCut, p.halves
		p.slowDown(l.recent.typical().seconds(), false, now)
		p.preCut, p.halves = before, halves
		return
	}
	l.waited++
	if took > lateBeside(max(l.usual, l.before)) {
		l.lates++
	}
	n, lates := float64(l.waited), float64(l.lates)
	expected := l.lateBefore * n
	switch {
	case l.waited < latencies && 2*lates > n: // the typical latency will say it
	case expected < pitProof && (l.lates < pitProof || l.waited < latencyLeast):
	case expected >= pitProof && l.lates <= pitHelped:
		if l.again = !l.surely && !l.again; l.again {
			p.climb(p.preCut)
			return
		}
		l.usualLate = min(l.usualLate, lates/n)
		l.late, l.slowBeyond = l.usualLate, true
		p.climb(p.target)
	case l.deeper > 0 && lates > max(pitDeep*n, pitMore*expected):
		l.deeper--
		p.deepen(0.5)
	case lates <= pitLess*expected:
		p.deepen(drainPace)
	default:
		l.usualLate = max(l.usualLate, l.lateBefore)
		l.late, l.again = l.usualLate, false
		p.climb(p.preCut)
	}
}
