package law

// The constants of refusals for nothing: chosen, and judged together by
// docs/pacing-score.md.
const (
	chanceEach  = 100  // answers before a refusal that speak neither for chance nor for a limit
	chanceMost  = 3    // times as many are counted at most
	chanceSure  = 3    // so much more for chance than against it, and it is believed;
	chanceKnown = 6    // never more, so that it can be unlearned
	chanceTest  = 8    // refusals that are forgiven from one test of it to the next,
	chanceLess  = 0.95 // which is to go so much slower than what would be the limit,
	chanceQuiet = 3    // and is failed if so many times the usual answers come without a refusal
)

// A chance finds out whether the provider refuses now and then for nothing,
// whatever the pace. A limit that is reached refuses again soon, unless the
// pace goes below it, and then it does not. Chance refuses after as many
// answers as before, and each time that it is taken for a limit, the plateau
// sinks.
type chance struct {
	unrefused int     // answers since the last episode
	odds      float64 // for chance

	// While it is believed:
	forgiven int     // refusals
	spells   int     // answers before them, in all
	untested float64 // the pace before the test; 0: there is none under way
	soon     bool    // one came too soon to be forgiven, since the last that was
}

// byChance reports whether the episode that has just ended was by chance, and
// notes what it says. A refusal that lasts, or for which a time is told, is
// meant. A probe is expected to be refused, so that it says nothing for chance
// until that is believed.
func (p *plateau) byChance() bool {
	n := p.unrefused
	p.unrefused = 0
	switch {
	case p.weak, p.asked > 0, p.was != steady && p.was != recovering && p.was != probing:
		return false
	case p.tries > 0:
		n = 0
	}
	says := min(float64(n)/chanceEach, chanceMost) - 1
	if p.was == probing && says > 0 && p.odds < chanceSure {
		return false
	}
	before := p.odds
	p.odds = max(0, min(chanceKnown, before+says))
	switch {
	case p.odds < chanceSure:
		p.chance = chance{odds: p.odds}
		return false
	case before < chanceSure: // what made probes rare and fine was chance
		p.every, p.step = probeLeast, stepFirst
	}
	if n < chanceEach {
		return false
	}
	p.forgiven++
	p.spells += n
	return true
}

// tooSoon reports whether the episode that has just ended, at the plateau or on
// the way to it, came too soon to be forgiven, while chance is believed. One in
// four by chance does, if it refuses one request in 300. A second one before any
// is forgiven again is taken for a limit.
func (p *plateau) tooSoon() bool {
	if p.soon || p.odds < chanceSure || p.weak || p.asked > 0 || p.tries > 0 || p.was != steady && p.was != recovering {
		return false
	}
	p.soon = true
	return true
}

// forgive goes on as if there had been no refusal. The first time, and from time
// to time, it does so a little slower than what the count says, to see whether
// that was the limit after all. The count is of the time since the last refusal,
// so that it does not tell of a plateau that was lower.
func (p *plateau) forgive(now Moment) {
	switch {
	case p.untested > 0:
		p.climb(p.untested)
		p.untested = 0
	case p.forgiven%chanceTest == 1:
		plateau := p.target // also where a probe went further, and was refused
		p.climb(chanceLess * min(plateau, p.counted(now)))
		p.untested = plateau
	default:
		p.resume()
	}
	p.soon = false
	p.begin(now)
}

// answered counts an answer, and unlearns what is believed if the test is failed.
func (c *chance) answered() {
	c.unrefused++
	if c.untested > 0 && c.unrefused*c.forgiven > chanceQuiet*c.spells {
		*c = chance{unrefused: c.unrefused}
	}
}
