package collection

import "time"

// A Reason says why a piece was not collected. The set is closed: scripts and
// the store rely on it.
type Reason string

// The reasons; [reasons] says what follows from each.
const (
	RequestCap       Reason = "request_cap"
	WallClock        Reason = "wall_clock"
	Quota            Reason = "quota" // what the provider grants is used up, or the rest is for people
	RetryBudget      Reason = "retry_budget"
	Interrupted      Reason = "interrupted"
	CircuitOpen      Reason = "circuit_open"      // the wait for the breaker did not fit in the run
	RateLimited      Reason = "rate_limited"      // still throttled after every attempt
	UpstreamPressure Reason = "upstream_pressure" // 5xx, timeouts or no connection after every attempt
	RetryAfter       Reason = "retry_after"       // the provider asked for a longer wait than any run grants
	Auth             Reason = "auth"
	Frozen           Reason = "frozen"
	Suspended        Reason = "suspended"
	Forbidden        Reason = "forbidden"
	SchemaDrift      Reason = "schema_drift"
	BadPage          Reason = "bad_page"
	CursorExpired    Reason = "cursor_expired"
	TooLarge         Reason = "too_large"
	NotFound         Reason = "not_found"
	Gone             Reason = "gone"
	Differs          Reason = "differs"      // what is stored there is not what the provider has
	ListChanged      Reason = "list_changed" // records were deleted or moved while the list was read, in two passes
	Contested        Reason = "contested"    // two partitions have shown a record of one key: it moved, or the key is shared
)

// AtContested is the cursor of the gap of a place that has contested records. No walk
// stands there.
var AtContested = Cursor{Meaning: string(Contested)}

// A Kind says who acts on a gap.
type Kind string

// The kinds of gap.
const (
	Planned  Kind = "planned"  // no person: the next run continues
	Pressure Kind = "provider" // time: the source is under pressure, tried again later
	Stuck    Kind = "stuck"    // a person
)

// A rule is what follows from a reason.
type rule struct {
	reason    Reason
	kind      Kind
	endsRun   bool
	permanent bool
	account   bool
	freezes   bool
	settled   bool
	ofPage    bool
	withheld  bool
}

// reasons holds the rule of each reason there is.
var reasons = []rule{
	{reason: RequestCap, kind: Planned, endsRun: true},
	{reason: WallClock, kind: Planned, endsRun: true},
	{reason: Quota, kind: Planned, endsRun: true},
	{reason: RetryBudget, kind: Pressure},
	{reason: Interrupted, kind: Planned, endsRun: true},
	{reason: CircuitOpen, kind: Planned, endsRun: true},
	{reason: RateLimited, kind: Pressure},
	{reason: UpstreamPressure, kind: Pressure},
	{reason: RetryAfter, kind: Pressure, endsRun: true},
	{reason: Auth, kind: Stuck, endsRun: true, account: true},
	{reason: Frozen, kind: Stuck, endsRun: true, account: true, freezes: true},
	{reason: Suspended, kind: Stuck, endsRun: true, account: true, freezes: true},
	{reason: Forbidden, kind: Stuck, permanent: true, withheld: true},
	{reason: SchemaDrift, kind: Stuck, ofPage: true},
	{reason: BadPage, kind: Stuck, ofPage: true},
	{reason: CursorExpired, kind: Stuck},
	{reason: TooLarge, kind: Stuck, permanent: true, ofPage: true},
	{reason: NotFound, kind: Stuck, permanent: true, withheld: true},
	{reason: Gone, kind: Stuck, permanent: true, settled: true, withheld: true},
	{reason: Differs, kind: Planned},
	{reason: ListChanged, kind: Planned},
	{reason: Contested, kind: Planned},
}

// Reasons returns every reason there is.
func Reasons() []Reason {
	all := make([]Reason, len(reasons))
	for i, r := range reasons {
		all[i] = r.reason
	}
	return all
}

// rule returns what follows from r. A reason that this version does not know is
// a person's to look at.
func (r Reason) rule() rule {
	for _, rule := range reasons {
		if rule.reason == r {
			return rule
		}
	}
	return rule{reason: r, kind: Stuck}
}

// Kind returns the kind of gaps with reason r. Only [Pressure] reasons arm
// the cooldown after source pressure.
func (r Reason) Kind() Kind { return r.rule().kind }

// EndsRun reports whether r stops all work with the provider. Every other
// reason costs one slice or partition, and the run goes on beside it.
func (r Reason) EndsRun() bool { return r.rule().endsRun }

// Permanent reports whether the provider said for good that there is nothing
// to fetch: such a gap is recorded, shown, and not tried again by itself.
func (r Reason) Permanent() bool { return r.rule().permanent }

// RefusesAccount reports whether r is a refusal of the credential or of the account,
// and not of a piece.
func (r Reason) RefusesAccount() bool { return r.rule().account }

// Freezes reports whether r stops all requests of the account until the freeze ends
// or a person releases it.
func (r Reason) Freezes() bool { return r.rule().freezes }

// Settled reports whether nothing is owed for r: the piece is gone, and was declared
// to be. It is shown, and no one acts.
func (r Reason) Settled() bool { return r.rule().settled }

// OfPage reports whether something came for r that could not be taken, so that what
// is behind it may be better.
func (r Reason) OfPage() bool { return r.rule().ofPage }

// Withheld reports whether the provider answered that the piece is not there, or not
// for this account.
func (r Reason) Withheld() bool { return r.rule().withheld }

// Permanent reports whether nothing is to be had there for good; see
// [Reason.Permanent]. A whole list that is not there is another matter: its
// address may be wrong, or its provider out of order.
func (g Gap) Permanent() bool {
	return g.Reason.Permanent() && (g.Reason != NotFound || g.Partition != "")
}

// A Shape says how much a gap owes.
type Shape string

// The shapes of a gap.
const (
	SliceGap  Shape = "SLICE_GAP"  // a slice, and what follows it if the checkpoint stands at it
	DetailGap Shape = "DETAIL_GAP" // one detail
)

// Shape returns the shape of the gaps at a partition of a stream with role r; "" is the stream's own place.
func (r Role) Shape(p Partition) Shape {
	if r == Detail && p != "" {
		return DetailGap
	}
	return SliceGap
}

// A GapState is where a gap is in its life:
//
//	open ──→ leased ──→ recovered    its records were committed, in the same transaction
//	↑ ↑         │   ├─→ superseded   a newer gap or a reset covers it
//	│ └─────────┘   └─→ dead         nothing will try it again by itself
//	└────────────────────┘           unless a person revives it
//
// A gap that a person waived is dead, too; its Waiver says so.
type GapState string

// The states of a gap.
const (
	GapOpen       GapState = "open"
	GapLeased     GapState = "leased"
	GapRecovered  GapState = "recovered"
	GapSuperseded GapState = "superseded"
	GapDead       GapState = "dead"
)

// A Gap is a piece that is owed. At most one gap is open at a cursor of a
// place: a newer stop there renews it.
type Gap struct {
	ID int64
	Place
	Cursor    Cursor // where to go on
	Version   string // the version of the parent, or the pass, that the walk was to cover
	Shape     Shape
	Reason    Reason
	Detail    string // one line for people: no secrets, URLs, cursors or bodies
	State     GapState
	Attempts  int       // times the piece was really tried and failed, since it was revived; planned stops do not count
	NotBefore time.Time // zero: at any time
	OpenedAt  time.Time
	TriedAt   time.Time // zero: never
	Run       string    // the run that opened it
	Behind    bool      // the walk of the place went on behind it
	Waiver    Waiver    // the zero Waiver: none

	Held *Held // what came of it goes to quarantine with the gap, and is not read back; nil: nothing
}

// A Waiver says that a person gave up a piece: it is not owed, and not tried.
type Waiver struct {
	Who, Why string
	At       time.Time
}

// Waived reports whether a person gave up the piece.
func (g Gap) Waived() bool { return !g.Waiver.At.IsZero() }

// Settled reports whether nothing is owed: the piece is gone, or a person gave it
// up. It is shown, and no one acts.
func (g Gap) Settled() bool { return g.Reason.Settled() || g.Waived() }

// Waivable reports whether a person may give up the piece: it is a partition, or
// the walk went on behind it. Where the walk of a whole list stands at a gap, all
// that follows would never be collected, and no gap would say so.
func (g Gap) Waivable() bool { return g.Partition != "" || g.Behind }

// Kind returns the kind of g: that of its reason, but stuck if it is dead, since
// then no run tries it and time does not help.
func (g Gap) Kind() Kind {
	if g.State == GapDead {
		return Stuck
	}
	return g.Reason.Kind()
}

// Revived reports whether a person had a dead gap tried again, and no run has
// tried it since: a try was made, and none counts. A reason that ends runs is
// none of a try.
func (g Gap) Revived() bool {
	return g.State != GapDead && g.Attempts == 0 && !g.TriedAt.IsZero() && !g.Reason.EndsRun()
}
