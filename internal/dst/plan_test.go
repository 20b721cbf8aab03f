package dst_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"collect/collection"
)

// A kind is how the provider lets its items be listed.
type kind string

const (
	byToken   kind = "token"     // an opaque cursor
	byNumber  kind = "number"    // pages by number: fetched side by side
	byOffset  kind = "offset"    // the same in records
	after     kind = "after"     // what changed after a mark, oldest first
	from      kind = "from"      // what changed at a mark or after it, oldest first
	unordered kind = "unordered" // what changed after a mark, in no order of change
)

var kinds = []kind{byToken, byNumber, byOffset, after, from, unordered}

// sinceMark reports whether only changes are asked for.
func (k kind) sinceMark() bool { return k == after || k == from || k == unordered }

// counts reports whether pages are counted, so that a walk can name them ahead.
func (k kind) counts() bool { return k == byNumber || k == byOffset }

// A plan is what a seed stands for: what the provider offers, what goes wrong
// with the network, and what is done to one process after the other.
type plan struct {
	seed     uint64
	kind     kind
	items    int
	pageSize int
	details  string // "", once or changed
	notes    bool
	keyless  bool // some items have no key
	gone     bool // some details are gone
	drift    bool // some items lack what their details are asked by, until they are updated
	backfill bool // some runs walk the other lane
	sweep    bool // what a complete walk lacks is marked as deleted, and the provider deletes
	changes  float64
	faults   map[fault]float64 // by request, in order of faultOrder
	outage   [2]int            // arrivals, counted from 0, that all get a 503
	sessions []session
}

// A session is what happens to one process. A zero count means never.
type session struct {
	mode        collection.Mode
	lane        collection.Lane
	pause       time.Duration // before it starts
	clock       time.Duration // by how much the clock is set before it starts
	concurrency int
	cap         int64
	maxTime     time.Duration

	killWrite   int  // the write to the ledger at which the process is killed
	killAfter   bool // after the write took effect
	killRequest int  // the request in flight at which it is killed
	killAt      time.Duration
	interrupt   int // the request at which the run is asked to end
	cancel      int // the request at which it is told to

	unknown map[int]bool  // commits with an unknown outcome: whether they took effect
	doubt   bool          // those after another process took the lease have one
	fail    int           // the commit that fails without effect
	full    [2]int        // writes from and before which no space is left
	flush   time.Duration // how long a commit takes: slices gather behind a slow one
	second  int           // the request at which another process starts
	steal   bool          // the other process gets the lock, as if the file had been removed
	others  []session     // what happens to the other; none: nothing

	stop   int           // the request at which the process is stopped, as by SIGSTOP
	asleep time.Duration // and for how long
	step   int           // the request at which the clock is set
	stepBy time.Duration
}

// newPlan draws the plan of a seed. Which faults can happen at all is drawn
// first: histories with few kinds of fault get further than those with all of
// them (Groce and others, "Swarm Testing", 2012).
func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	p := plan{
		seed:     seed,
		kind:     kinds[r.IntN(len(kinds))],
		pageSize: 2 + r.IntN(3),
		keyless:  r.IntN(8) == 0,
		gone:     r.IntN(4) == 0,
		backfill: r.IntN(5) == 0,
		changes:  []float64{0, 0.02, 0.1}[r.IntN(3)],
		faults:   map[fault]float64{},
	}
	// Most histories are short: what goes wrong is there as often, and can be
	// read. In long ones troubles meet that are far apart.
	scale := 1
	switch n := r.IntN(20); {
	case n == 0:
		scale = 12
	case n <= 5:
		scale = 4
	}
	p.items = 2*scale + r.IntN(12*scale)
	switch r.IntN(4) {
	case 0:
		p.details = "once"
	case 1, 2:
		p.details = "changed"
	}
	p.notes = r.IntN(3) == 0
	p.drift = p.details == "changed" && !p.kind.sinceMark() && r.IntN(4) == 0
	for _, f := range faultOrder {
		if r.IntN(4) == 0 {
			p.faults[f] = []float64{0.02, 0.08, 0.25}[r.IntN(3)]
		}
	}
	if r.IntN(5) == 0 {
		begin := r.IntN(30)
		p.outage = [2]int{begin, begin + 5 + r.IntN(30)}
	}
	clocks := r.IntN(6) == 0
	for range 1 + r.IntN(5+scale) {
		s := newSession(r, p.backfill, scale)
		if clocks && r.IntN(2) == 0 {
			s.clock = steps[r.IntN(len(steps))]
		}
		p.sessions = append(p.sessions, s)
	}
	p.addRareTroubles(scale)
	p.addDeletions()
	p.addBadPages()
	return p
}

// dies reports whether the process is killed, if it lives long enough.
func (s session) dies() bool { return s.killWrite > 0 || s.killRequest > 0 || s.killAt > 0 }

// addRareTroubles adds, to some histories, what takes more than one trouble at
// a time: a process that is stopped while another works, commits that are in
// doubt on both sides, a clock that is set while a process runs, or after one
// was killed.
func (p *plan) addRareTroubles(scale int) {
	r := rand.New(rand.NewPCG(p.seed, 0x57e9))
	if r.IntN(2) == 0 {
		return
	}
	for i := range p.sessions {
		s := &p.sessions[i]
		if s.second == 0 && r.IntN(3) == 0 {
			s.second, s.steal = 1+r.IntN(15*scale), r.IntN(2) == 0
		}
		if s.second > 0 {
			other := newSession(r, p.backfill, scale)
			other.second, other.cancel = 0, 0
			other.pause = []time.Duration{0, time.Second, 2 * time.Minute}[r.IntN(3)]
			s.others = []session{other}
		}
		if r.IntN(3) < 2 {
			s.stop = 1 + r.IntN(20*scale)
			if s.second > 0 {
				s.stop = s.second
			}
			s.asleep = []time.Duration{30 * time.Second, 10 * time.Minute, 3 * time.Hour, 3 * 24 * time.Hour}[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			s.step, s.stepBy = 1+r.IntN(8*scale), steps[r.IntN(len(steps))]
		}
		if i > 0 && p.sessions[i-1].dies() && r.IntN(2) == 0 {
			s.clock = steps[r.IntN(len(steps))]
		}
		s.doubt = s.steal && r.IntN(2) == 0
	}
}

// addDeletions makes the provider delete records, in some histories of lists that
// are walked as a whole and have nothing below them.
func (p *plan) addDeletions() {
	r := rand.New(rand.NewPCG(p.seed, 0xde1e))
	p.sweep = r.IntN(3) < 2 && !p.kind.sinceMark() && p.details == "" && !p.notes
	if p.sweep && p.changes == 0 {
		p.changes = 0.1
	}
}

// addBadPages adds, to some histories, pages that cannot be read for long; to most of those
// whose walks can go on behind one, and must not sweep then.
func (p *plan) addBadPages() {
	r := rand.New(rand.NewPCG(p.seed, 0xbad))
	if often := p.sweep && p.kind.counts(); r.IntN(6) == 0 || often && r.IntN(3) > 0 {
		p.faults[notJSON] = 0.25
	}
}

// newSession draws what happens to a process of a history that is scale times
// as long as the shortest ones.
func newSession(r *rand.Rand, backfill bool, scale int) session {
	s := session{
		mode: collection.Forward, lane: collection.Incremental, concurrency: 1,
		pause: []time.Duration{0, time.Second, 5 * time.Minute, time.Hour, 8 * time.Hour}[r.IntN(5)],
	}
	if r.IntN(3) == 0 {
		s.mode = collection.Resume
	}
	if backfill && r.IntN(2) == 0 {
		s.lane = collection.Backfill
	}
	if r.IntN(2) == 0 {
		s.concurrency = 2 + r.IntN(4)
	}
	switch r.IntN(8) {
	case 0, 1:
		s.killWrite, s.killAfter = 1+r.IntN(40*scale), r.IntN(2) == 0
	case 2:
		s.killRequest = 1 + r.IntN(30*scale)
	case 3:
		s.killAt = time.Duration(r.IntN(60_000*scale)) * time.Millisecond
	case 4:
		s.cap = int64(1 + r.IntN(25*scale))
	case 5:
		s.maxTime = time.Duration(1+r.IntN(60*scale)) * time.Second
	case 6:
		s.interrupt = 1 + r.IntN(20*scale)
	}
	if r.IntN(4) == 0 {
		s.flush = time.Duration(1+r.IntN(5)) * time.Second
	}
	switch r.IntN(10) {
	case 0, 1:
		s.unknown = map[int]bool{}
		for range 1 + r.IntN(4*scale) {
			s.unknown[1+r.IntN(20*scale)] = r.IntN(2) == 0
		}
	case 3:
		s.fail = 1 + r.IntN(20*scale)
	case 4:
		begin := 1 + r.IntN(30*scale)
		s.full = [2]int{begin, begin + 1 + r.IntN(20)}
	case 5:
		s.cancel = 1 + r.IntN(20*scale)
	case 2, 6:
		s.second = 1 + r.IntN(15*scale)
		s.steal = r.IntN(2) == 0
	}
	return s
}

// chance draws a number in [0, 1) that depends on the seed, on n and on what the
// pieces spell only, so that a request meets the same fault however the
// goroutines are scheduled.
func (p plan) chance(n int, pieces ...string) float64 { return p.drawn(sumOf(pieces...), n) }

func (p plan) drawn(s sum, n int) float64 {
	r := rand.NewPCG(uint64(s)^uint64(n), p.seed)
	return float64(r.Uint64()>>11) / (1 << 53)
}

// A sum stands for a text (FNV-1a), which is not put together for it: there are
// many in a history.
type sum uint64

// sumOf returns the sum of what pieces of text spell.
func sumOf(pieces ...string) sum { return sum(14695981039346656037).with(pieces...) }

// with returns the sum of the text of s and more behind it.
func (s sum) with(pieces ...string) sum {
	for _, piece := range pieces {
		for i := range len(piece) {
			s = (s ^ sum(piece[i])) * 1099511628211
		}
	}
	return s
}

// faultFor draws the fault of the nth request for what. HTML is there for a moment. What is not JSON is so
// for a row of requests, of a length that is drawn for each page: some pages are asked for again in vain,
// and so are left as gaps, and others are not.
func (p plan) faultFor(what string, n int) fault {
	for _, f := range faultOrder {
		rate, ok := p.faults[f]
		nth := n
		if f == notJSON && ok {
			row := 1 + int(longestRow*p.chance(0, "row ", what))
			nth = (n + row - 1) / row
		}
		if ok && p.chance(nth, string(f), " ", what) < rate {
			return f
		}
	}
	return ""
}

// longestRow is how many requests in a row for a page may not be answered by JSON. A run asks for it four
// times at most.
const longestRow = 12

// dated reports whether the answers of the provider say what time it is.
func (p plan) dated() bool { return p.seed%3 != 0 }

// connector returns the connector file of the plan.
func (p plan) connector() string {
	page := "{cursor: {from: next, param: cursor}}"
	switch p.kind {
	case byNumber:
		page = fmt.Sprintf("{number: {param: page, size_param: size, size: %d}}", p.pageSize)
	case byOffset:
		page = fmt.Sprintf("{offset: {param: offset, limit_param: limit, limit: %d}}", p.pageSize)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `
connector: sim
provider: {base_url: "http://sim.test"}
streams:
  items:
    get: /items
    records: data
    key: id
    page: %s
`, page)
	switch p.kind {
	case after, from:
		b.WriteString("    since: {field: updated_at, param: since, order: asc}\n")
	case unordered:
		b.WriteString("    since: {field: updated_at, param: since, lookback: 1s}\n")
	}
	if p.sweep {
		b.WriteString("    deletes: sweep\n")
	}
	if p.details != "" {
		each := "{id: items.id}"
		if p.details == "changed" {
			each = "{id: items.id, changed: items.updated_at}"
		}
		fmt.Fprintf(&b, `
  details:
    each: %s
    get: /items/${id}
    key: id
    role: detail
    on: [{status: [410], verdict: gone}]
`, each)
	}
	if p.notes {
		b.WriteString(`
  notes:
    each: {item: items.id}
    get: /items/${item}/notes
    records: data
    key: id
    page: {cursor: {from: next, param: cursor}}
`)
	}
	return b.String()
}

// String describes the plan for people who look for a fault.
func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d items by %d, details %q, notes %t, keyless %t, gone %t, drift %t, sweep %t, changes %g, outage %v, faults %v",
		p.kind, p.items, p.pageSize, p.details, p.notes, p.keyless, p.gone, p.drift, p.sweep, p.changes, p.outage, p.faults)
	for i, s := range p.sessions {
		fmt.Fprintf(&b, "\n  %d: %+v", i+1, s)
	}
	return b.String()
}
