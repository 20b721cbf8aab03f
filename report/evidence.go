package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/store"
)

// evidenceLine is the evidence of a walk as JSON: what its newest pass
// delivered, and what the provider said of the whole.
type evidenceLine struct {
	Pages    int64   `json:"pages"`
	Records  int64   `json:"records"`  // delivered
	Distinct int64   `json:"distinct"` // keys
	Again    int64   `json:"again"`    // records whose key came before in the pass
	Replaced int64   `json:"replaced"` // of these, records with other bytes
	Strayed  int64   `json:"strayed"`  // of those that came before, records with the same bytes, behind one of their page that had not, and those of whole pages that came again
	Lacks    int64   `json:"lacks"`    // stored records that did not come, and that a later walk may mark as deleted
	Total    *int64  `json:"total"`    // that the provider told last; null: none
	First    *int64  `json:"first_total"`
	By       *string `json:"total_told_by"`
	Fell     int64   `json:"total_fell"` // times
	Seams    int64   `json:"seams"`      // pages that were to begin with the last record of the page before
	Torn     int64   `json:"seams_torn"` // of these, pages that did not
	End      *string `json:"end"`        // end_mark, total, empty_page, short_page, no_such_page, one_page; null: not reached
	Doubt    *string `json:"doubt"`      // what cannot be known of the walk; null: nothing
}

func evidenceLineOf(e collection.Evidence) *evidenceLine {
	if e.Pages == 0 {
		return nil
	}
	line := &evidenceLine{
		Pages: e.Pages, Records: e.Records, Distinct: e.Distinct(), Again: e.Again, Replaced: e.Replaced, Strayed: e.Strayed, Lacks: e.Lacks,
		By: jsonout.Text(e.By), Fell: e.Fell, Seams: e.Seams, Torn: e.Torn, End: jsonout.Text(string(e.End)), Doubt: jsonout.Text(e.Doubt()),
	}
	if e.By != "" {
		line.Total, line.First = &e.Total, &e.First
	}
	return line
}

// EvidenceWords says what the newest pass of a stream rests on; "" if there is
// nothing to be said.
func EvidenceWords(stream store.StreamState, lane store.LaneState) string {
	e := lane.Evidence
	if e.Pages == 0 || !lane.Complete {
		return ""
	}
	if stream.Parent != "" { // a pass has no pages
		if doubt := e.Doubt(); doubt != "" {
			return fmt.Sprintf("%s, newest pass: complete as far as this can tell: %s", words.Clean(stream.Name), doubt)
		}
		return ""
	}
	walked := e.Walked()
	text := fmt.Sprintf("%s, newest walk: %s on %s", words.Clean(stream.Name), words.Counted(walked.Records, "record", "records"), words.Counted(walked.Pages, "page", "pages"))
	if e.Again > 0 {
		text += fmt.Sprintf(", %s of them twice", words.Count(e.Again))
	}
	if e.By != "" && !e.InPages {
		text += fmt.Sprintf("; %s says %s", words.Clean(e.By), words.Count(e.Total))
	}
	if e.Seams > 0 {
		text += fmt.Sprintf("; %s where the page before ended", words.Counted(e.Seams-e.Torn, "page began", "pages began"))
	}
	if doubt := e.Doubt(); doubt != "" {
		text += "; complete as far as this can tell: " + doubt
	}
	if why := unswept(e); why != "" {
		text += "; nothing was marked as deleted, since " + why
	}
	if e.Lacks > 0 {
		text += fmt.Sprintf("; %s did not come", words.Counted(e.Lacks, "record that is stored", "records that are stored"))
		if e.Believed() {
			text += ": what the next walk lacks as well is marked as deleted"
		}
	}
	return text
}

// unswept says why a walk that was to sweep, and came to its end, marked nothing; ""
// if it was free to. See [collection.Evidence.Sweep].
func unswept(e collection.Evidence) string {
	switch {
	case !e.Sweeps, e.End == "":
		return ""
	case e.Believed():
		return ""
	case e.Sweeping():
		return words.Clean(e.Suspicion()) + "; if the list has no more, say so with `expect: {drop: off}`"
	case e.Holes > 0:
		return words.Counted(e.Holes, "page was left out", "pages were left out")
	case e.Hidden > 0:
		return words.Counted(e.Hidden, "record went", "records went") + " into quarantine without a key, and may be stored already"
	case e.Open:
		return "an answer did not say where it ends"
	case e.Strayed > 0:
		return words.Counted(e.Strayed, "record", "records") + " came on two pages: the order of the list changes, or it has them twice"
	}
	return words.Counted(e.Again, "record", "records") + " came twice, so that others may have moved to a page that was read before"
}

// LeftToNext says which streams the newest run did not walk from their beginning, and
// since when their changes are left to the next run; "" if there are none.
func LeftToNext(streams []store.StreamState, now time.Time) string {
	var names []string
	var left []store.StreamState
	for _, stream := range streams {
		if unseen(stream, streams) {
			names, left = append(names, words.Clean(stream.Name)), append(left, stream)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("changes in %s since %s are left to the next run", strings.Join(names, ", "), words.At(AsOf(left, collection.Incremental), now))
}

// AsOf returns when the newest complete walk of each stream in a lane began, the earliest of them; zero if there is none.
func AsOf(streams []store.StreamState, lane collection.Lane) (asOf time.Time) {
	for _, stream := range streams {
		if l := LaneOf(stream, lane); dated(stream, l) && (asOf.IsZero() || l.Began.Before(asOf)) {
			asOf = l.Began
		}
	}
	return asOf
}

// dated reports whether a stream is complete as of when its walk in a lane began.
// Details that are collected once, or when their parent changed, are as new as
// their parents.
func dated(stream store.StreamState, lane store.LaneState) bool {
	return lane.Complete && !lane.Began.IsZero() && (stream.Parent == "" || stream.Refresh == collection.EachRun)
}

// unseen reports whether the walk of a stream began in an earlier run than the one
// that last committed a slice of streams: the stream is complete as of then. Only the
// incremental lane counts: a backfill looks for no changes.
func unseen(stream store.StreamState, streams []store.StreamState) bool {
	lane := LaneOf(stream, collection.Incremental)
	return dated(stream, lane) && slices.ContainsFunc(streams, func(s store.StreamState) bool { return LaneOf(s, collection.Incremental).Epoch > lane.BeganEpoch })
}

// Doubts says what cannot be known of the complete walks of a lane, and what may be newer than what they
// stored; "" if nothing is left open.
func Doubts(streams []store.StreamState, lane collection.Lane) string {
	var doubts []string
	for _, stream := range streams {
		if l := LaneOf(stream, lane); l.Complete && l.Evidence.Doubt() != "" {
			doubts = append(doubts, words.Clean(stream.Name)+" has "+l.Evidence.Doubt())
		}
		switch n := stream.Collided; {
		case n == 1:
			doubts = append(doubts, words.Clean(stream.Name)+" has 1 record in quarantine that may be newer than the one which is stored under its key")
		case n > 1:
			doubts = append(doubts, fmt.Sprintf("%s has %s records in quarantine that may be newer than those which are stored under their keys", words.Clean(stream.Name), words.Count(n)))
		}
	}
	return strings.Join(doubts, ", ")
}
