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

// A randomRefusals finds out whether the provider refuses now and then for nothing,
// whatever the pace. A limit that is reached refuses again soon, unless the
// pace goes below it, and then it does not. Chance refuses after as many
// answers as before, and each time that it is taken for a limit, the plateau
// sinks.
type randomRefusals struct {
	unrefused int     // answers since the last episode
	odds      float64 // for chance

	// While it is believed:
	forgiven int     // refusals
	spells   int     // answers before them, in all
	untested float64 // the pace before the test; 0: there is none under way
	soon     bool    // one came too soon to be forgiven, since the last that was
}

// A verdict is what an episode tells of the limit.
type verdict uint8

const (
	meant    verdict = iota // it was refused for the limit
	early                   // by chance or not: it came too soon to tell
	byChance                // the limit had nothing to do with it
)

// judge returns what an episode tells, of those that can tell anything. One that
// lasted for more than a refusal is meant. A probe is expected to be refused, so
// that it says nothing for chance until that is believed. It reports whether it is
// believed from now on.
//
// One in four by chance comes too soon to be forgiven, if it refuses one request
// in 300. A second one before any is forgiven again is taken for a limit.
func (c *randomRefusals) judge(tells, probed, lasted bool) (v verdict, since bool) {
	n := c.unrefused
	c.unrefused = 0
	switch {
	case !tells:
		return meant, false
	case lasted:
		n = 0
	}
	says := min(float64(n)/chanceEach, chanceMost) - 1
	if probed && says > 0 && c.odds < chanceSure {
		return meant, false
	}
	before := c.odds
	if c.odds = max(0, min(chanceKnown, before+says)); c.odds < chanceSure {
		*c = randomRefusals{odds: c.odds}
		return meant, false
	}
	since = before < chanceSure
	switch {
	case n >= chanceEach:
		c.forgiven++
		c.spells += n
		return byChance, since
	case c.soon || lasted || probed:
		return meant, since
	}
	c.soon = true
	return early, since
}

// testing reports whether a slower pace is tried, to see whether that was the
// limit after all.
func (c *randomRefusals) testing() bool { return c.untested > 0 }

// forgive returns the plateau to go on with after a refusal that was forgiven; 0
// if it is as if there had been none. The first time, and from time to time, it
// is a little slower than what was counted since the refusal before, which does
// not tell of a plateau that was lower. After that, it is the one before the
// test, also where a probe went further, and was refused.
func (c *randomRefusals) forgive(target, counted float64) (rate float64) {
	c.soon = false
	switch {
	case c.testing():
		rate, c.untested = c.untested, 0
	case c.forgiven%chanceTest == 1:
		rate, c.untested = chanceLess*min(target, counted), target
	}
	return rate
}

// answered counts an answer, and unlearns what is believed if the test is failed.
func (c *randomRefusals) answered() {
	c.unrefused++
	if c.testing() && c.unrefused*c.forgiven > chanceQuiet*c.spells {
		*c = randomRefusals{unrefused: c.unrefused}
	}
}
