package report

import (
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// gapJSON is a gap for --json. It holds no cursor: a checkpoint is told from
// another by its digest, in status.
type GapLine struct {
	ID        string              `json:"id"`
	Connector string              `json:"connector"`
	Stream    string              `json:"stream"`
	Partition *string             `json:"partition"`
	Lane      collection.Lane     `json:"lane"`
	Shape     collection.Shape    `json:"shape"`
	State     collection.GapState `json:"state"`
	Reason    collection.Reason   `json:"reason"`
	Kind      collection.Kind     `json:"kind"`
	Needs     string              `json:"needs"`
	Detail    *string             `json:"detail"`
	Attempts  int                 `json:"attempts"`
	NextAt    jsonout.Time        `json:"next_at"` // no run tries it before
	OpenedAt  jsonout.Time        `json:"opened_at"`
	TriedAt   jsonout.Time        `json:"tried_at"`
	Run       string              `json:"run_id"`
	WaivedAt  jsonout.Time        `json:"waived_at"` // null: it is not
	WaivedBy  *string             `json:"waived_by"`
	WaivedWhy *string             `json:"waived_reason"`
}

// GapLines returns the gaps for --json, oldest first; an empty list is [].
func GapLines(gaps []store.OwnedGap) []GapLine {
	lines := []GapLine{}
	for _, g := range gaps {
		needs := problem.NeedsOf(g.Kind())
		if g.Settled() || g.Revived() {
			needs = problem.NeedsNothing
		}
		lines = append(lines, GapLine{
			words.GapName(g.ID), g.Connector, g.Stream, jsonout.Text(g.Partition.String()), g.Lane, g.Shape, g.State,
			g.Reason, g.Reason.Kind(), needs, jsonout.Text(g.Detail), g.Attempts,
			jsonout.Time(g.NotBefore), jsonout.Time(g.OpenedAt), jsonout.Time(g.TriedAt), g.Run,
			jsonout.Time(g.Waiver.At), jsonout.Text(g.Waiver.Who), jsonout.Text(g.Waiver.Why),
		})
	}
	return lines
}
