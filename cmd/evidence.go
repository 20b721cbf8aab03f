package cmd

import (
	"fmt"
	"strings"

	"collect/collection"
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
	Total    *int64  `json:"total"`    // that the provider told last; null: none
	First    *int64  `json:"first_total"`
	By       *string `json:"total_told_by"`
	Fell     int64   `json:"total_fell"` // times
	Seams    int64   `json:"seams"`      // pages that were to begin with the last record of the page before
	Torn     int64   `json:"seams_torn"` // of these, pages that did not
	End      *string `json:"end"`        // end_mark, total, empty_page, short_page, one_page; null: not reached
	Doubt    *string `json:"doubt"`      // what cannot be known of the walk; null: nothing
}

func evidenceLineOf(e collection.Evidence) *evidenceLine {
	if e.Pages == 0 {
		return nil
	}
	line := &evidenceLine{
		Pages: e.Pages, Records: e.Records, Distinct: e.Distinct(), Again: e.Again, Replaced: e.Replaced,
		By: textOrNull(e.By), Fell: e.Fell, Seams: e.Seams, Torn: e.Torn, End: textOrNull(string(e.End)), Doubt: textOrNull(e.Doubt()),
	}
	if e.By != "" {
		line.Total, line.First = &e.Total, &e.First
	}
	return line
}

// evidenceWords says what the newest pass of a stream rests on; "" if there is
// nothing to be said.
func evidenceWords(stream store.StreamState, lane store.LaneState) string {
	e := lane.Evidence
	if e.Pages == 0 || !lane.Complete {
		return ""
	}
	text := fmt.Sprintf("%s: %s on %s", clean(stream.Name), counted(e.Records, "record", "records"), counted(e.Pages, "page", "pages"))
	if e.Again > 0 {
		text += fmt.Sprintf(", %s of them twice", count(e.Again))
	}
	if e.By != "" && !e.InPages {
		text += fmt.Sprintf("; %s says %s", clean(e.By), count(e.Total))
	}
	if e.Seams > 0 {
		text += fmt.Sprintf("; %s where the page before ended", counted(e.Seams-e.Torn, "page began", "pages began"))
	}
	if doubt := e.Doubt(); doubt != "" {
		text += "; complete as far as this can tell: " + doubt
	}
	return text
}

// doubtsOf says what cannot be known of the complete walks of a lane; "" if
// nothing is left open.
func doubtsOf(streams []store.StreamState, lane collection.Lane) string {
	var doubts []string
	for _, stream := range streams {
		if l := laneOf(stream, lane); l.Complete && l.Evidence.Doubt() != "" {
			doubts = append(doubts, clean(stream.Name)+" has "+l.Evidence.Doubt())
		}
	}
	return strings.Join(doubts, ", ")
}
