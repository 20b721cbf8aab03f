package collection

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

// Told is what a page says of the list that it is a part of.
type Told struct {
	Total   int64  // how many records the provider says the list has; see By
	By      string // where it says so, for people: "the header X-WP-Total"; "" if it does not
	Pages   bool   // Total counts pages
	Left    int64  // how many more records the page has than the slice: those of which the connector makes none, less those that it makes beside others
	Within  bool   // the page is the one of the slice before, whose rows go on here
	Parts   bool   // the rows of the page go on in the slice behind this one
	First   bool   // the page was asked for without a token: it begins a pass
	Partial bool   // the page was asked for from a mark: the total may count what the mark leaves out
	Cut     string // why the list, which ends here, seems to lack records; "" if nothing says so
	Window  bool   // the list is one window of time of several
	Counted bool   // the pages are numbered, and records can move between them unseen
	Feed    bool   // the next walk asks for what changed since this one began; a record may come twice
	Open    bool   // nothing but the end of the connection told where the page ends: rows behind it may be missing
	Tie     bool   // the walk leaves records of one mark here, which took several pages
	Twice   bool   // an earlier page of the walk had these records and no others, in the same order
	Unsure  bool   // of the walk of a partition, in the pass that ends here, something is not known; see [Evidence.Doubt]
	End     End    // on the last page of a walk: how its end is known
	Expect  Expectation

	// Overlap is asked for where the page is to begin with the last record of
	// the page before it; Seam then names the record that it does begin with.
	Overlap bool
	Seam    string
	Last    string // names the last record, as Seam would
}

// Part returns what a part of a page tells. Pages that are counted are whole ones.
func (t Told) Part(within bool) Told {
	t.First, t.Within = t.First && !within, within
	if t.Pages {
		return t.WithoutTotal()
	}
	return t
}

// WithoutTotal returns t without the total that the page tells.
func (t Told) WithoutTotal() Told {
	t.Total, t.By, t.Pages = 0, "", false
	return t
}

// An Expectation is what a person knows of the length of a list. The zero
// Expectation says nothing.
type Expectation struct {
	Least   int64 `json:"least,omitempty"`    // records that a walk of the whole list has at least
	Drops   bool  `json:"drops,omitempty"`    // Drop is said, and holds for short lists, too
	Drop    int   `json:"drop,omitempty"`     // by how many percent a walk may have fewer records than the one before
	AnyDrop bool  `json:"any_drop,omitempty"` // by any
	Zero    Zero  `json:"zero,omitempty"`
}

// A Zero says what a walk without a record is, after one that had some.
type Zero string

// What it may be, beside a drop like another.
const (
	ZeroIsError Zero = "error" // the walk is not taken for whole
	ZeroIsFine  Zero = "off"
)

// An End says how the end of a walk is known.
type End string

// The ends of a walk.
const (
	EndMark  End = "end_mark"   // the provider says that there is no more
	EndTotal End = "total"      // the total was reached
	EndEmpty End = "empty_page" // the page behind the last one is empty
	EndShort End = "short_page" // the last page is shorter than a full one

	// EndNotThere: the provider says that it has no page behind the last one.
	EndNotThere End = "no_such_page"

	EndKnown End = "known"    // the rest was had by the walks before, or changed since this one began
	EndOne   End = "one_page" // the list is not cut into pages
)

// Evidence tells of the newest pass of a place: how many records were delivered, and
// what the provider said of the whole. It is stored in the transaction of
// each slice, so that a walk that is resumed knows what its pages told before.
//
// A pass is a sequence of pages that were asked for one after the other from
// one start. A walk that is anchored anew by its marks has several, and its
// evidence is that of the last one.
type Evidence struct {
	Pass     int64       `json:"pass"`               // the commit that began it
	Earlier  Walked      `json:"earlier,omitzero"`   // what the walk had delivered before the pass: from other marks, or in other windows
	Pages    int64       `json:"pages"`              // delivered
	Records  int64       `json:"records"`            // delivered, those in quarantine included
	Rejected int64       `json:"rejected,omitempty"` // of these, records in quarantine
	Again    int64       `json:"again,omitempty"`    // of these, records whose key the pass had delivered before
	Replaced int64       `json:"replaced,omitempty"` // of these, records with other bytes,
	Later    int64       `json:"later,omitempty"`    // and of these, records with a later mark than any on the pages before
	Latest   string      `json:"latest,omitempty"`   // the latest mark so far
	Strayed  int64       `json:"strayed,omitempty"`  // of Again, records with the same bytes, behind one of their page that had not come before, and those of whole pages that came before
	Moved    int64       `json:"moved,omitempty"`    // of all, records that took the place of one of another partition, which may still have it
	By       string      `json:"by,omitempty"`       // where the total is told
	First    int64       `json:"first,omitempty"`    // the total as told first
	Total    int64       `json:"total,omitempty"`    // the total as told last
	Fell     int64       `json:"fell,omitempty"`     // how often it became less
	InPages  bool        `json:"in_pages,omitempty"` // the total counts pages
	Partial  bool        `json:"partial,omitempty"`  // the last page was asked for from a mark
	Window   bool        `json:"window,omitempty"`   // the pass is one window of time of several
	Unsure   bool        `json:"unsure,omitempty"`   // of a partition, of a window before in the same walk, or of the walk before this one asked from its mark, it is not known
	Cut      string      `json:"cut,omitempty"`      // why it seems to lack records, though it came to its end
	Counted  bool        `json:"counted,omitempty"`  // the pages are numbered
	Feed     bool        `json:"feed,omitempty"`     // the next walk asks for what changed since this one began
	Open     bool        `json:"open,omitempty"`     // an answer did not say where it ends
	Tied     bool        `json:"tied,omitempty"`     // the last page left records of one mark behind
	Seams    int64       `json:"seams,omitempty"`    // pages that were to begin with the last record of the page before
	Torn     int64       `json:"torn,omitempty"`     // of these, pages that do not have it
	Holes    int64       `json:"holes,omitempty"`    // pages that were left as gaps
	End      End         `json:"end,omitempty"`
	Last     string      `json:"last,omitempty"`    // a hash of the key of the last record
	Before   int64       `json:"before,omitempty"`  // distinct records of the complete walk before
	Filled   int64       `json:"filled,omitempty"`  // complete walks in a row before that had records; -1: one was without
	Whole    int64       `json:"whole,omitempty"`   // the total as told when the walk asked for everything; 0: it did not, or was not told
	Stored   int64       `json:"stored,omitempty"`  // records that the stream has, where that is asked for; 0: not known
	Sweeps   bool        `json:"sweeps,omitempty"`  // the pass asked for everything, in a stream that sweeps; see Sweep
	Hidden   int64       `json:"hidden,omitempty"`  // records in quarantine that may be stored ones
	Prior    int64       `json:"prior,omitempty"`   // the commit that began the walk before, if that one was to be believed, too; see Believed
	Paged    bool        `json:"paged,omitempty"`   // the last walk that was to be believed had more than one page, or how many it had is not known
	Had      int64       `json:"had,omitempty"`     // distinct records of the last walk that was to be believed; 0: not known
	Suspect  WarningCode `json:"suspect,omitempty"` // a page left this warning, so that records may be missing
	Lacks    int64       `json:"lacks,omitempty"`   // records that the newest walk without a gap did not show, and that a later one may mark
	Lost     int64       `json:"lost,omitempty"`    // records that a sweep would mark, and a person has to accept, with those that its pass over the parents marked before
	Living   int64       `json:"living,omitempty"`  // of how many that the stream has
	Refuted  int64       `json:"refuted,omitempty"` // passes in a row that ended in a contradiction

	Expect Expectation `json:"expect,omitzero"` // as the last page was asked for with
}

// Walked is what a walk delivered.
type Walked struct {
	Pages   int64 `json:"pages"` // in the newest pass, those that were left as gaps included
	Records int64 `json:"records"`
}

// Walked returns what the walk that the pass belongs to has delivered so far.
func (e Evidence) Walked() Walked {
	return Walked{Pages: e.Earlier.Pages + e.Pages, Records: e.Earlier.Records + e.Records}
}

// Distinct returns the number of distinct records that the pass delivered.
func (e Evidence) Distinct() int64 { return e.Records - e.Again }

// A Redelivered counts the records of a slice that had come before in its pass: all, those with other bytes, of these
// those that are [Evidence.IsLater], and those with the same bytes that stand behind a record which had not come before.
type Redelivered struct{ Again, Replaced, Later, Strayed int64 }

// Count counts r, whose bytes are the same as before or not, and which stands behind one that had not come before, or
// does not. e is the evidence before the slice.
func (n *Redelivered) Count(r *Record, same, behind bool, e *Evidence) {
	switch {
	case !same && e.IsLater(r):
		n.Later++
		fallthrough
	case !same:
		n.Replaced++
	case behind:
		n.Strayed++
	}
	n.Again++
}

// IsLater reports whether r has a later mark than any record on the pages before.
func (e Evidence) IsLater(r *Record) bool { return e.Latest != "" && r.Mark.Value > e.Latest }

// With returns e after sl, which commit stored; of its records, again had come
// before in the pass. stored is how many
// records the stream has then, if sl.AsksStored. A slice that starts at the start
// of a walk, or of a new pass, begins anew.
func (e Evidence) With(sl *Slice, commit, stored int64, again Redelivered) Evidence {
	if sl.BeginsPass() {
		before, filled := e.Before, e.Filled
		if sl.From.Done {
			before = e.Distinct()
			switch {
			case before == 0:
				filled = -1
			case filled >= 0 && !e.Partial && !e.Window:
				filled++
			}
		}
		whole := e.Whole
		if sl.From.Done || !sl.Told.Partial {
			whole = 0
		}
		if sl.Told.Window {
			before = 0 // one window says nothing of another
		}
		prior, had, paged := e.Prior, e.Had, e.Paged || e.Pages > 1
		switch {
		case e.Pages == 0 && (sl.Partition == "" || !sl.From.Done):
			paged = true // also where the other lane walked it, or a walk before a reset
		case e.Pages == 0:
			had = fewerOf - 1 // see Kept
		case sl.From.Done && e.Believed():
			prior, had, paged = e.Pass, e.Distinct(), e.Pages > 1
		case sl.From.Done:
			prior = 0
		}
		// No walk from a mark asks again for what the one before may have passed by, and no window for another one's.
		unsure := (sl.Told.Partial || sl.Told.Window && !sl.From.Done) && (e.Unsure || e.Records > 0 && e.Doubt() != "")
		var earlier Walked
		if !sl.From.Done && (sl.Told.Partial || sl.Told.Window) {
			earlier = e.Walked()
			earlier.Pages = max(0, earlier.Pages-e.Holes)
		}
		e = Evidence{Pass: commit, Earlier: earlier, Before: before, Whole: whole, Refuted: e.Refuted, Window: sl.Told.Window, Unsure: unsure, Prior: prior, Filled: filled, Lacks: e.Lacks,
			Had: had, Paged: paged}
	}
	if e.Pass == 0 {
		e.Holes++ // the pages before this one are not known
	}
	if told := sl.Told; told.By != "" {
		switch {
		case e.By == "":
			e.First = told.Total
			if !told.Partial && !told.Pages {
				e.Whole = told.Total
			}
		case told.Total < e.Total:
			e.Fell++
		}
		e.By, e.Total, e.InPages = told.By, told.Total, told.Pages
	}
	if sl.Told.Overlap {
		e.Seams++
		if !sl.shows(e.Last) {
			e.Torn++
		}
	}
	if sl.Leaves != nil {
		e.Holes++
	}
	e.Counted = e.Counted || sl.Told.Counted // the last page leads nowhere, and does not show it
	e.Open = e.Open || sl.Told.Open
	e.Unsure = e.Unsure || sl.Told.Unsure
	for _, w := range sl.Warnings {
		if w.Code == MaybeOnePage || w.Code == RefusedBeside {
			e.Suspect = w.Code
		}
	}
	e.Feed = sl.Told.Feed
	e.Cut, e.Expect = sl.Told.Cut, sl.Told.Expect
	e.Partial, e.Tied, e.End = sl.Told.Partial, sl.Told.Tie, sl.Told.End
	if !sl.Told.Within {
		e.Pages++
	}
	e.Records += int64(len(sl.Records)+len(sl.Rejected)) + sl.Told.Left
	e.Stored = stored
	e.Rejected += int64(len(sl.Rejected))
	if len(sl.Rejected) > 0 {
		e.Whole = 0 // a record in quarantine is not stored
	}
	e.Again += again.Again
	e.Replaced += again.Replaced
	e.Later += again.Later
	switch {
	case e.Feed:
	case sl.Told.Twice && again.Again == int64(len(sl.Records)): // in the place of another page
		e.Strayed += again.Again
	default:
		e.Strayed += again.Strayed
	}
	for i := range sl.Records {
		e.Latest = max(e.Latest, sl.Records[i].Mark.Value)
	}
	if sl.Told.Last != "" {
		e.Last = hashOf(sl.Told.Last)
	}
	return e
}

// Judged returns where the checkpoint moves after sl, whose evidence is in e: to its
// Next, or to its Else if the evidence speaks against Next.
func (e Evidence) Judged(sl *Slice) (Evidence, Cursor) {
	switch {
	case sl.Else == nil:
		return e, sl.Next
	case e.Contradiction() == "":
		e.Refuted = 0
		return e, sl.Next
	}
	e.Refuted++
	return e, *sl.Else
}

// Following returns e, which has sl already, for a stream that sweeps or not.
func (e Evidence) Following(sl *Slice, sweeps bool) Evidence {
	whole := sweeps && !sl.Told.Partial && !sl.Told.Window
	e.Sweeps = whole && (e.Sweeps || sl.BeginsPass())
	if !sweeps {
		e.Lacks, e.Had, e.Paged = 0, 0, false
	}
	for _, r := range sl.Rejected {
		if e.Sweeps && r.Reason != KeyCollision { // of two with one key, the other one is stored
			e.Hidden++
		}
	}
	return e
}

// Sweeping reports whether the pass came to its end and left nothing out, so that a sweep may follow.
func (e Evidence) Sweeping() bool {
	return e.Sweeps && e.End != "" && !e.Open && e.Pass != 0 && e.Holes == 0 && e.Hidden == 0 && (!e.Counted || e.Again == 0) && e.Strayed == 0
}

// Believed reports whether a deletion is believed if this walk lacks a record, alone or with another walk.
func (e Evidence) Believed() bool { return e.Sweeping() && e.Suspicion() == "" }

// Sweep returns the commit before which a record was seen last that the provider does not have any more, as this walk
// tells, which is [Evidence.Sweeping]; and judged, which is that commit if nothing in the walks before this one counts:
// by it a walk is found to lack too many, and what it lacks is marked that a person accepted.
//
// A record may move between pages unseen: another one takes its place on a numbered page, or an update moves it to the
// front of a list whose beginning was read. Nothing contradicts, so that two walks in a row must lack it. A provider
// that does not say once that there is another page makes one page of several, and one that is out of order makes an
// empty list of any.
// After the walk of a feed comes no other one of all, but one that shows what moved.
func (e Evidence) Sweep() (before, judged int64) {
	before, judged = e.Pass, e.Pass
	empty := e.Records == 0 && !e.counts() && e.Expect.Zero != ZeroIsFine
	switch {
	case e.Feed:
	case e.Pages > 1:
		before, judged = e.Prior, e.Prior
	case e.Paged, empty:
		before = e.Prior
	}
	if e.Suspicion() != "" {
		before = 0
	}
	return before, judged
}

// Suspicion says why a walk that came to its end may not have all records of the list; "" if nothing says so, or a
// person expects any number of records. What a page or the number of records tells is held against the last walk that
// was believed, so that a walk which repeats a suspect one is suspect, too. A page is not where it has no fewer records:
// many lists have a round number of them for good.
func (e Evidence) Suspicion() string {
	bound := e.bound(e.Had) // has the numbers, where a page was told of as well
	switch n := e.Distinct(); {
	case e.Expect.AnyDrop:
		return ""
	case e.farFewer():
		return e.fewer()
	case bound == "" && e.Suspect != "" && n < e.Had:
		return fmt.Sprintf("a page left the warning %s, and an earlier walk had more records", e.Suspect)
	}
	return bound
}

// MaySweep reports whether a sweep may mark n records, besides those that were
// marked in the same pass, of a stream that has as many living: no more than half
// of them. A provider that leaves out most of a list is more often out of order.
func MaySweep(n, marked, living int64) bool { return 2*(marked+n) <= living+marked }

// shows reports whether the record of that hash is on the page. Records that were
// made in front of it move it back, and cost nothing.
func (s *Slice) shows(last string) bool {
	if s.Told.Seam != "" && hashOf(s.Told.Seam) == last {
		return true
	}
	return slices.ContainsFunc(s.Records, func(r Record) bool { return hashOf(r.Key) == last })
}

// BeginsPass reports whether s is the first slice of a pass. Its From is that of
// the pass before if its walk begins anew. A pass over partitions is numbered by
// the version of the stream's own place.
func (s *Slice) BeginsPass() bool {
	if s.Partition == "" && s.Next.Version != "" {
		return s.From.Version != s.Next.Version
	}
	return s.Told.First || s.From.Token == "" && !s.Told.Within || s.From.Done
}

// Tracked reports whether the keys of the slice are told from those that its
// pass delivered before: a pass of one page has no page before.
func (s *Slice) Tracked() bool { return !s.BeginsPass() || s.Next.Token != "" || s.Told.Parts }

// AsksStored reports whether the evidence wants to know how many records the
// stream has: a page that ends a walk was asked for from a mark.
func (s *Slice) AsksStored() bool {
	return s.Partition == "" && s.Told.Partial && s.Told.End != ""
}

// Kept reports whether the evidence is worth storing for a place whose
// checkpoint is next: most partitions have one short page, with which the next walk
// is not compared, unless it may lack records.
func (e Evidence) Kept(at Place, next Cursor) bool {
	return at.Partition == "" || !next.Done || e.Pages > 1 || e.By != "" || e.Distinct() >= fewerOf || e.Lacks > 0 || (e.Sweeps || e.Paged) && (e.Suspect != "" || !e.Believed()) || e.Expect != (Expectation{}) && e.Records > 0
}

// Contradiction says what speaks against the pass having delivered all there
// is, so far; "" if nothing does. A pass with holes is owed already.
func (e Evidence) Contradiction() string {
	switch moved := e.moved(); {
	case e.Holes > 0:
		return ""
	case e.Tied && e.Again > e.Replaced:
		return fmt.Sprintf("%d of %d records with the same mark came twice, unchanged: the provider sends records with equal marks in a changing order, so that others may have been left out. Sort the list by an id (`query`), and give `since` order: none and a lookback",
			e.Again-e.Replaced, e.Records)
	case e.End == "":
		return "" // the total also counts records that are still to come
	case moved != "":
		return moved
	case e.End == EndKnown:
		return "" // the total counts the rest, too
	case e.Lost > 0:
		return fmt.Sprintf("%d of %d records did not come any more: more than half is not marked as deleted unless a person accepts it", e.Lost, e.Living)
	}
	return cmp.Or(e.Cut, e.short(), e.unexpected())
}

// unexpected says that a walk of the whole list has fewer records than a person who
// knows it expects.
func (e Evidence) unexpected() string {
	n := e.Distinct()
	switch {
	case e.Partial, e.Window:
		return ""
	case n == 0 && e.Before > 0 && e.Expect.Zero == ZeroIsError:
		return fmt.Sprintf("the list has no records, the walk before had %d, and `expect` says that this is an error", e.Before)
	case n < e.Expect.Least:
		return fmt.Sprintf("the list has %d of at least %d records that `expect` asks for", n, e.Expect.Least)
	}
	return ""
}

// counts reports whether the provider tells how many records there are.
func (e Evidence) counts() bool { return e.By != "" && !e.InPages }

// moved says that records moved between the pages while they were read.
func (e Evidence) moved() string {
	switch {
	case e.Torn > 0:
		return fmt.Sprintf("%d of %d pages did not begin where the page before them ended: records were deleted or moved while the list was read", e.Torn, e.Seams)
	case e.Fell > 0 && e.Counted && e.Total >= e.First:
		return fmt.Sprintf("%s fell while the list was read, though it says %d at the end and said %d at first: records may have moved to a page that was read before", e.By, e.Total, e.First)
	case e.Fell > 0 && e.Counted:
		return fmt.Sprintf("%s fell from %d to %d while the list was read, so that records may have moved to a page that was read before", e.By, e.First, e.Total)
	case e.Later > 0 && (e.counts() && e.Distinct() < e.Total || e.Counted && !e.counts()):
		return fmt.Sprintf("%d of %d records came twice, the second time with a later mark: updates moved them to the end while the list was read, and others to a page that was read before. If the provider sorts by that mark, give `since` order: asc", e.Later, e.Records)
	}
	return ""
}

// Changed reports whether what contradicts is that the list changed while it was read: a walk of a quieter hour may
// have all. Of records that are missing, a total says so that became another one: one that was deleted may have hidden
// another one. A total of pages that counts up may be the number of the page.
func (e Evidence) Changed() bool {
	switch {
	case e.Tied && e.Again > e.Replaced, e.Torn > 0 && e.Torn == e.Seams: // if no page begins where it should, the file is wrong
		return false
	case e.moved() != "":
		return true
	}
	had, _ := e.held()
	return e.Cut == "" && e.short() != "" && e.First-had <= 2*max(e.Total-e.First, e.First-e.Total) && !(e.InPages && e.Total > e.First)
}

// short says that fewer records came than the provider told.
//
// What is asked for from a mark may be told with the total of everything. It is
// held against what the place has stored, then, unless it is so small that it can
// only be the total of what was asked for.
func (e Evidence) short() string {
	switch {
	case e.Partial && 0 < e.Stored && e.Stored < e.Whole:
		return fmt.Sprintf("the provider said that it has %d records, and %d are stored; if its total counts something else, give the stream total: ignore", e.Whole, e.Stored)
	case e.By == "", e.Partial && e.Stored == 0:
		return ""
	case e.InPages && e.First == 1 && e.Pages > 1 && e.Total == e.Pages:
		return fmt.Sprintf("%s says 1 on the first page and %d on page %d: it may be the number of the page, and not of all pages", e.By, e.Total, e.Pages)
	}
	had, what := e.held()
	switch {
	case had >= e.First:
		return ""
	case e.Total < e.First:
		return fmt.Sprintf("%s fell from %d to %d while the list was read, and %d %s", e.By, e.First, e.Total, had, what)
	}
	return fmt.Sprintf("%s says %d, but only %d %s; if it counts something else, give the stream total: ignore", e.By, e.First, had, what)
}

// held returns what the total is held against, and what became of it.
func (e Evidence) held() (had int64, what string) {
	switch {
	case e.InPages && e.End == EndNotThere:
		return e.Pages - 1, "pages came"
	case e.InPages:
		return e.Pages, "pages came"
	case e.Partial && 2*e.First >= e.Stored:
		return e.Stored, "are stored"
	}
	return e.Distinct(), "came"
}

// Doubt says what cannot be known of a walk that is complete as far as can be
// told; "" if its end is sure.
func (e Evidence) Doubt() string {
	switch {
	case e.End != "" && e.Records == 0 && !e.Partial && !e.Window && e.By == "":
		return "no records at all"
	case e.Open && (e.By == "" || e.InPages):
		return "an answer that does not say where it ends"
	case e.Unsure:
		return NoTotal
	case !e.Counted || e.Pages <= 1 || e.Seams > 0 || e.counts():
		return ""
	}
	return NoTotal
}

// NoTotal is the [Evidence.Doubt] of a walk in which a record may have moved to a page that was read.
const NoTotal = "no total"

// Warnings returns what a person should look at after a complete walk.
func (e Evidence) Warnings() (warnings []Warning) {
	// A list that shrinks is told of once: the next walk is compared with this one.
	if e.farFewer() {
		warnings = append(warnings, Warning{FarFewer, e.fewer()})
	} else if text := e.bound(e.Before); text != "" {
		warnings = append(warnings, Warning{MaybeOnePage, text})
	}
	// Moves and updates during a walk explain a few.
	if e.Replaced >= 10 && 20*e.Replaced >= e.Records {
		warnings = append(warnings, Warning{Overwritten, fmt.Sprintf("%d of %d records replaced another record of the same walk: they were updated while it was under way, or `key` is not unique", e.Replaced, e.Records)})
	}
	// Records that were made in front of others move these to the start of the next page, and a total tells what is missing.
	if e.Strayed > 0 && !e.counts() {
		warnings = append(warnings, Warning{OrderChanges, fmt.Sprintf("%d of %d records came on two pages, and not where records that were added would have moved them: the list has them twice, or its order changes from one request to the next, so that others are left out. Sort it by an id (`query`)", e.Strayed, e.Records)})
	}
	// Nothing shows whether these moved, or share their keys with others that are gone now.
	if e.Moved > 0 {
		warnings = append(warnings, Warning{Overwritten, fmt.Sprintf("%d of %d records of this list took the place of records of other parents, which are asked for changes only: they moved here, or two parents share keys", e.Moved, e.Records)})
	}
	return warnings
}

// hashOf names a key in a few bytes (FNV-1a, 64 bits).
func hashOf(key string) string {
	h := fnv.New64a()
	h.Write([]byte(key))
	return strconv.FormatUint(h.Sum64(), 36)
}
