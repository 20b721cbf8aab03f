package law

import (
	"cmp"
	"math"
	"slices"
	"time"

	"collect/pacing/response"
)

// The constants of announced limits.
const (
	disbelievedFor  = 100           // requests: what is announced is disbelieved for their time after a refusal of what it promised, at least,
	disbelievedMost = 4 * time.Hour // and at most
	grownFor        = 8             // answers in a row that tell more of a limit: it grew
	freshest        = time.Minute   // headers older than it are not followed
	shortWindow     = 10 * time.Second
	budgetLast      = 5 * time.Second // what is left of a budget lasts for it at least, or until its reset
	holdMore        = 0.1             // seconds that a hold is longer than was asked, about
	restLeast       = 0.3             // requests that remain are at least counted as this
	nameMost        = 128             // bytes of the name of a limit that is kept
	emptiedMost     = 3               // windows in a row that may be used up by others
)

// A bulletin is what headers last said.
type bulletin struct {
	news     float64       // the pace that uses up what remains until it resets
	told     Moment        // when they said so
	gauges   []*gauge      // the limits that are announced
	usages   []*usage      // those that are told in percent
	thrift   float64       // the pace that the last of a budget allows; 0: any
	thrifty  Moment        // until then
	lacks    time.Duration // until enough for one request is left of each; 0: it is
	doubted  Moment        // they are not followed before
	doubtFor time.Duration // for which they were not the last time; 0: no refusal speaks against them
	vowed    float64       // the highest pace that was refused though they promised it; 0: none was
	short    *short        // the strictest of a few seconds; nil: none is known
}

// announce reads the limits that o, the answer to d, announced: the pace that
// spends what remains evenly until the reset, but never more than half above the
// average of the whole window, because what remains at its end says more than
// the window sustains. Without a reset it is the average. It raises the bound that a
// provider earned only once the length of the window is known: what is left may be
// used, but what is left of an hour that ends soon is no rate. So it is beside a refusal,
// if that names the window: its reset, which may be told beside no other answer, says
// how long to wait, and no more.
func (p *plateau) announce(d *Ticket, o *Outcome, refused bool, now Moment) {
	if p.short != nil && now-p.short.counted > freshest {
		p.short = nil // it is of other requests: no answer tells of it any more
	}
	pace, counted := math.Inf(1), true
	for i := range o.Windows {
		q := &o.Windows[i]
		if q.Unit == response.Percent {
			p.ration(d, q, refused, now)
			continue
		}
		p.trust.Spoke = true
		if !refused {
			p.rescale(q, now)
		}
		g := p.gauge(q, refused, now)
		if g == nil {
			continue
		}
		g.charge.see(d, q, o.Cost, refused, g.told)
		if g.told >= response.BudgetFrom {
			if q.Remaining > 0 && (q.Unit == "" || g.known()) {
				p.allot(d, g, q, refused, now)
			}
			continue
		}
		if refused && q.Window <= 0 || q.Unit != "" {
			continue
		}
		if !refused {
			followed := 0.0
			if p.mode == following {
				followed = p.news
			}
			g.see(d, q, followed, p.sent, now)
		}
		isShort := q.Limit >= 1 && g.told <= shortWindow
		if !isShort && p.short != nil && q.Name == p.short.name {
			p.short = nil // it only seemed to be, near its end
		}
		if q.Remaining == 0 && !isShort {
			continue
		}
		rate := math.Inf(1)
		switch {
		case q.Reset > 0 && !refused:
			rest, left := max(restLeast, q.Remaining-p.afloat), g.left(q.Reset, now)
			if !g.measured(d, q) { // no more than a second's worth is known of it
				left = max(left, time.Second)
			}
			rate = margin * rest / left.Seconds()
		case q.Limit > 0:
			rate = margin * q.Limit / g.length.Seconds()
		}
		switch {
		case isShort:
			mine := !refused && q.Limit <= shortMost && p.short.strictest(q, g.length)
			if mine {
				p.short = p.short.see(d, q, g.length, now)
			}
			switch {
			case g.measured(d, q):
				rate = shortPace(q.Limit, g.length.Seconds(), mine && p.endKnown(now))
			case q.Remaining == 0: // silence is asked for, and then there is one at least
				rate = margin / q.Reset.Seconds()
			default:
				rate = min(rate, margin*q.Limit/g.length.Seconds())
			}
		case q.Limit > 0:
			rate = min(rate, response.AboveAverage*q.Limit/g.length.Seconds())
		}
		pace = min(pace, rate)
		counted = counted && q.Limit > 0 && q.Remaining <= q.Limit && g.measured(d, q)
	}
	if math.IsInf(pace, 1) {
		return
	}
	if refused {
		pace = min(pace, p.pace()) // an error never makes it faster
	}
	if !refused && counted {
		p.trust.vouch(pace)
	}
	p.news, p.told = pace, now
}

// gauge returns the limit q; nil if it says nothing about the pace. If a refusal tells
// another limit by the same name, that is a second one: flask-limiter tells 10 a second
// with every answer, and 300 a minute with the refusals of that.
func (b *bulletin) gauge(q *response.Quota, refused bool, now Moment) *gauge {
	if q.Unit == response.AtOnce || q.Remaining < 0 || q.Reset <= 0 && (q.Window <= 0 || q.Limit < 1) {
		return nil
	}
	i := slices.IndexFunc(b.gauges, func(g *gauge) bool { return g.name == q.Name && g.limit == q.Limit })
	if i < 0 && !refused {
		i = slices.IndexFunc(b.gauges, func(g *gauge) bool { return g.name == q.Name })
	}
	if i < 0 {
		if i = len(b.gauges); i == mostGauges {
			return nil
		}
		b.gauges = append(b.gauges, &gauge{name: q.Name})
	}
	g := b.gauges[i]
	g.others = q.Unit != ""
	if g.ends == 0 { // also of one that an earlier run saw
		g.ends = now + q.Reset
	}
	told := cmp.Or(max(0, q.Window), max(g.told, q.Reset))
	switch {
	case g.shown && told <= shortWindow && q.Limit == g.limit: // a longer reset was rounded by more
		if g.length == g.told { // which bounded the mean
			g.length = told
		}
		g.told = told
	case told != g.told || q.Limit != g.limit:
		if 0 < g.told && g.told < response.BudgetFrom && told >= response.BudgetFrom {
			b.told = now - freshest - 1 // what was left of it was followed, and it is a budget
		}
		was := g.charge
		if q.Limit != g.limit {
			was = charge{}
		}
		*g = gauge{name: q.Name, limit: q.Limit, told: told, length: told, ends: g.ends, others: g.others, charge: was}
	}
	return g
}

// allot bounds the pace by what is left of a budget: an hour's requests may be
// used in some minutes, at the pace that the provider bears, but the last of them
// one by one. So what is left never ends sooner than in some seconds: what is in
// flight does not end in a refusal, and if somebody else uses the budget as well,
// the next answer tells so in time. The end of it is no crawl: a share that is for
// others is a declared reserve.
func (p *plateau) allot(d *Ticket, g *gauge, q *response.Quota, refused bool, now Moment) {
	last := budgetLast
	if q.Reset > 0 {
		last = min(last, q.Reset)
	}
	each := g.each(q)
	rest := q.Remaining/each - p.afloat
	next := max(1, d.weight)                                             // if it is like this one
	if rest < next && (q.Unit != "" || each >= chargeMore) && !refused { // it would be refused
		p.lacks = max(p.lacks, g.anew(q, (next-rest)*each/margin, g.told))
	}
	rest = max(restLeast, rest)
	if !refused && q.Reset > 0 && g.told <= response.PaceLimit && q.Remaining <= q.Limit && g.measured(d, q) {
		p.trust.vouch(margin * min(rest/q.Reset.Seconds(), q.Limit/each/g.told.Seconds()))
	}
	p.bind(g, rest/last.Seconds(), max(last, q.Reset), refused, now)
}

// ration bounds the pace by what is left of a limit that is told in percent. It
// never raises it. What is left is spread over a sixth of the window. So a pace
// that the limit sustains for ever uses six sevenths of it, and what was used in a
// hurry leaves the window before the last of it is gone.
func (p *plateau) ration(d *Ticket, q *response.Quota, refused bool, now Moment) {
	if q.Window < response.BudgetFrom {
		return // nobody says how long what is used counts
	}
	used := q.Limit - q.Remaining
	i := slices.IndexFunc(p.usages, func(u *usage) bool { return u.name == q.Name })
	if i < 0 {
		if len(p.gauges) == mostGauges {
			return
		}
		g := &gauge{name: q.Name}
		p.gauges = append(p.gauges, g)
		i, p.usages = len(p.usages), append(p.usages, &usage{gauge: g, first: d.ID, began: used, used: used})
	}
	u := p.usages[i]
	if !refused {
		u.look(d, used, q.Window, now)
	}
	rest := max(restLeast, u.requests(q.Remaining)-p.afloat)
	last := q.Window / usageLasts
	p.bind(u.gauge, rest/last.Seconds(), last, refused, now)
}

// bind takes most as what g allows for a time, and the least of all that is
// allowed as a bound of the pace. An error never loosens it.
func (p *plateau) bind(g *gauge, most float64, until time.Duration, refused bool, now Moment) {
	if refused && now < g.until {
		most = min(most, g.most)
	}
	g.most, g.until = most, now+until
	was := p.pace()
	if !refused {
		p.thrift = 0
	}
	for _, g := range p.gauges {
		if now < g.until && (p.thrift == 0 || g.most < p.thrift) {
			p.thrift, p.thrifty = g.most, g.until
		}
	}
	if wait := p.tat - now; wait > 0 {
		p.tat = now + scale(wait, was/p.pace())
	}
}

// longest returns the budget with the longest window, to be kept. One with a
// very long name is left out.
func (b *bulletin) longest() (longest budget) {
	for _, g := range b.gauges {
		if !g.others && g.told >= response.BudgetFrom && g.told > longest.Long && len(g.name) <= nameMost {
			longest = budget{g.name, g.told}
		}
	}
	return longest
}

// spares reports whether the last of a budget is what bounds the pace.
func (p *plateau) spares() bool { return p.thrift > 0 && p.thrift < p.wanted() }

// shortPace returns the pace for a window of a few seconds. A reset in whole
// seconds says nothing of where in such a window we are, so what remains is of
// no use. If our departures do not tell either, the last request of a window
// costs the wait for its end, rounded up, so it is sent only where that is less
// than what it is worth.
func shortPace(limit, window float64, known bool) float64 {
	if known {
		return margin * limit / window
	}
	slot := window / limit / margin
	last := math.Ceil(slot) + holdMore
	all := limit / max(window, (limit-1)*slot+last)
	return max(margin*(limit-1)/window, min(margin*limit/window, all))
}

// endKnown reports whether the departures tell when the window ends.
func (p *plateau) endKnown(now Moment) bool {
	return p.short != nil && now >= p.short.others && p.doubtFor == 0
}

// silence returns how long to send nothing after o, which asks for some: as long as it
// asks for, or not at all if all that it says is that a short window is used up
// of which we know the end.
func (p *plateau) silence(o *Outcome, now Moment) time.Duration {
	s := p.short
	if o.Signal != Succeeded || p.mode != following || !p.endKnown(now) || s.free == 0 {
		return o.Hold
	}
	for _, q := range o.Windows {
		if q.Remaining == 0 && (q.Name != s.name || q.Unit != "" || q.Reset < o.Hold) {
			return o.Hold
		}
	}
	return -1
}

// follow moves the pace to what headers said, if that is fresh and they have
// not turned out to be wrong. It reports whether it did.
func (p *plateau) follow(now Moment) bool {
	b := &p.bulletin
	if now-b.told > freshest || now < b.doubted {
		if p.mode == following {
			p.climb(p.r)
			p.restart = p.known == 0 // nothing was refused
		}
		return false
	}
	if b.doubtFor > 0 && now-b.doubted > comebackSure*b.doubtFor {
		b.doubtFor, b.vowed = 0, 0
	}
	p.mode = following
	was := p.pace()
	p.r = max(slowest, b.news)
	p.target = p.r
	if wait := p.tat - now; wait > 0 {
		p.tat = now + scale(wait, was/p.pace())
	}
	return true
}

// A keptDoubt is the saved form of the time for which headers are not followed.
type keptDoubt struct {
	For  time.Duration `json:"for_ns"`
	Left time.Duration `json:"left_ns,omitempty"` // of it, when the provider was heard last; less than 0: they are followed for so long since
}

// keptDoubt returns what a later run should know of it; nil if no refusal speaks against what headers say.
func (p *plateau) keptDoubt() *keptDoubt {
	if p.doubtFor == 0 {
		return nil
	}
	return &keptDoubt{p.doubtFor, p.doubted - cmp.Or(p.lastHeard(), p.settled)}
}

// doubts goes on with a doubt that was kept so long ago. What is left of it counts from the first request that is asked
// for: see Next.
func (b *bulletin) doubts(k *keptDoubt, age time.Duration) {
	if k == nil {
		return
	}
	b.doubtFor = max(0, min(k.For, disbelievedMost))
	if b.doubted = max(k.Left, -comebackSure*disbelievedMost); k.Left > 0 { // the time between two runs follows nothing
		b.doubted = max(0, min(k.Left, disbelievedMost)-age)
	}
}

// promised reports whether headers allow the pace at which o was refused: they are followed, or would be if they were
// believed, and do not say that nothing is left.
func (p *plateau) promised(o *Outcome, now Moment) bool {
	if p.mode == following {
		return true
	}
	return exhaustedIn(o, nil) == nil && now < p.doubted && now-p.told <= freshest && p.news >= p.from
}

// disbelieve stops following headers that promised a pace which was refused: for the time of some requests at the pace
// that was learned instead, and for twice as long as the last time.
func (p *plateau) disbelieve(now Moment) {
	b := &p.bulletin
	b.doubtFor = min(disbelievedMost, max(disbelieved, disbelievedFor*interval(max(p.target, slowest)), 2*b.doubtFor))
	b.doubted, b.vowed = now+b.doubtFor, max(b.vowed, p.from)
	for _, g := range b.gauges {
		g.length, g.raised, g.shown = g.told, false, false
	}
}

// An exhausted is an announced limit. A refusal said that nothing of it was left, so the pace that was learned from the
// refusal depends on it. No answer needs to tell how long its window is.
type exhausted struct {
	Name  string  `json:"name,omitempty"`
	Limit float64 `json:"limit"` // as answers told it, as a refusal may tell another one by that name; 0: none did
	Pace  float64 `json:"pace"`  // that was learned of it then, a second
}

// exhaustedIn returns the limit of which the refusal o says that nothing is left; nil if it names none. If it is the same
// limit as was, exhaustedIn returns was.
func exhaustedIn(o *Outcome, was *exhausted) *exhausted {
	i := slices.IndexFunc(o.Windows, func(q response.Quota) bool { return q.Unit == "" && q.Remaining == 0 && q.Limit >= 1 })
	switch {
	case i < 0 || len(o.Windows[i].Name) > nameMost:
		return nil
	case was != nil && was.Name == o.Windows[i].Name:
		return was
	}
	return &exhausted{Name: o.Windows[i].Name}
}

// rescale raises what was learned by as much as the limit q grew, if that is what it follows from, and as many answers
// in a row say so: providers tell the limits of different addresses by one name. So it follows a limit that grows beyond
// all that was told, and leaves one that shrinks to refusals, and one that grows by little to the probes. What was
// counted is of the old limit then.
func (p *plateau) rescale(q *response.Quota, now Moment) {
	if p.of == nil || q.Name != p.of.Name || q.Limit < 1 || p.blocked || p.mode == following || p.mode == drain || p.target == 0 {
		return
	}
	if p.of.Limit == 0 {
		p.of = &exhausted{q.Name, q.Limit, p.target} // the one before may be kept
		return
	}
	by := q.Limit / p.of.Limit
	if by < farApart {
		p.grown = 0
		return
	}
	if p.grown++; p.grown < grownFor {
		return
	}
	pace := by * min(p.of.Pace, p.target)
	p.of, p.grown = &exhausted{q.Name, q.Limit, pace}, 0
	if pace <= p.target {
		return
	}
	p.known *= pace / p.target
	p.agreed, p.lower, p.every = 0, 0, probeLeast
	p.tooFast, p.lone = 0, false // who tells the limit is not taken for one that grants much more
	p.done.past = past{}
	p.done.begin(now)
	p.climb(pace)
}

// usedUp reports whether the refusal o says that a window is used up, and so
// nothing of the pace: we followed what was left of it, and others were quicker.
// If that happens in one window after the other, the announcement is wrong.
func (p *plateau) usedUp(o *Outcome, now Moment) bool {
	if p.mode != following || now < p.doubted {
		return false
	}
	for i := range o.Windows {
		q := &o.Windows[i]
		if q.Remaining != 0 || q.Reset <= 0 || q.Unit != "" {
			continue
		}
		if g := p.gauge(q, true, now); g != nil && g.told > shortWindow {
			if now > g.empty+g.told {
				g.emptied = 0
			}
			g.emptied, g.empty = g.emptied+1, now+q.Reset
			return g.emptied <= emptiedMost
		}
	}
	return false
}

// announcedPace returns the pace that the announced limits grant in the long run; +Inf if none is. With exact it leaves out a limit
// if the provider ever granted more of it than it says.
func (b *bulletin) announcedPace(exact bool) float64 {
	if g := b.strictest(exact); g != nil {
		return g.pace()
	}
	return math.Inf(1)
}

// strictest returns the limit that grants least, but for budgets; nil if none is announced. See announcedPace for exact.
func (b *bulletin) strictest(exact bool) (strictest *gauge) {
	for _, g := range b.gauges {
		if g.limit > 0 && !g.others && g.told < response.BudgetFrom && !(exact && g.exceeded) && (strictest == nil || g.pace() < strictest.pace()) {
			strictest = g
		}
	}
	return strictest
}

// takeBack goes back to what the limits say, where the provider seemed to grant more. It reports whether it did so with any: then
// the refusal tells nothing else. If another one comes soon, the law learns from that.
func (b *bulletin) takeBack(now Moment) (any bool) {
	if b.doubtFor > 0 {
		return false
	}
	for _, g := range b.gauges {
		if !g.shown && g.length < g.told {
			g.length, g.raised, any = g.told, false, true
			b.news = min(b.news, g.pace()) // the next answers may not tell
		}
	}
	if any {
		b.doubted, b.doubtFor = now, 2*disbelieved
	}
	return any
}

// granted returns what a later run should know of the strictest limit; nil if no more is granted than it says.
func (b *bulletin) granted() *keptGauge {
	g := b.strictest(false)
	if g == nil || g.length == g.told || len(g.name) > nameMost {
		return nil
	}
	return &keptGauge{g.name, g.limit, g.told, g.length}
}

// grants goes on with a limit that was kept.
func (b *bulletin) grants(k *keptGauge) {
	if k != nil && sane(k.Limit) && k.Told > 0 && k.Told < response.BudgetFrom && k.Length > 0 && k.Length < k.Told {
		b.gauges = append(b.gauges, &gauge{name: k.Name, limit: k.Limit, told: k.Told, length: k.Length, exceeded: true})
	}
}
