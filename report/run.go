package report

import (
	"context"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/process"
	"collect/store"
)

// Runs returns the newest runs of a connector, or of all with "". A run whose
// process died is abandoned, as the next run will find.
func Runs(ctx context.Context, db store.Reader, name string, n int) ([]collection.Run, error) {
	runs, err := db.Runs(ctx, name, n)
	return found(runs...), err
}

// RunOf returns a run by its id, as Runs has it, with what happened in it.
func RunOf(ctx context.Context, db store.Reader, id string) (r store.RunState, there bool, err error) {
	r, there, err = db.Run(ctx, id)
	r.Run = found(r.Run)[0]
	return r, there, err
}

func found(runs ...collection.Run) []collection.Run {
	for i := range runs {
		if process.Died(runs[i]) {
			runs[i].Outcome = collection.Abandoned
		}
	}
	return runs
}

// Said reports whether a run came to say its exit code: not if it goes on, and
// not if its process died.
func Said(run collection.Run) bool {
	return !run.EndedAt.IsZero() && run.Outcome != collection.Abandoned
}

// OutcomeWords says how a run ended: paused, nothing new.
func OutcomeWords(o collection.Outcome) string {
	switch o {
	case collection.NothingNew:
		return "nothing new"
	case collection.Deferred:
		return "paused"
	}
	return string(o)
}

// RunLine is a run for --json.
type RunLine struct {
	Run       string             `json:"run_id"`
	Connector string             `json:"connector"`
	Mode      collection.Mode    `json:"mode"`
	Lane      collection.Lane    `json:"lane"`
	Outcome   collection.Outcome `json:"outcome"`
	Reason    *string            `json:"stop_reason"`
	ExitCode  *int               `json:"exit_code"`
	Host      string             `json:"host"`
	PID       int                `json:"pid"`
	StartedAt jsonout.Time       `json:"started_at"`
	BeatAt    jsonout.Time       `json:"alive_at"`
	EndedAt   jsonout.Time       `json:"ended_at"`
	Waited    map[string]float64 `json:"waited"`
	Tally     TallyLine          `json:"tally"`
	Error     *ErrorLine         `json:"error"` // that ended it; null: none did
}

// RunLines returns the runs for --json; an empty list is [].
func RunLines(runs []collection.Run) []RunLine {
	lines := []RunLine{}
	for _, run := range runs {
		line := RunLine{
			run.ID, run.Connector, run.Mode, run.Lane, run.Outcome, jsonout.Text(string(run.Reason)), nil,
			run.Holder.Host, run.Holder.PID, jsonout.Time(run.StartedAt), jsonout.Time(run.BeatAt), jsonout.Time(run.EndedAt),
			WaitedLine(run.Waited), TallyLineOf(run.Tally), errorLine(run),
		}
		if Said(run) {
			line.ExitCode = &run.ExitCode
		}
		lines = append(lines, line)
	}
	return lines
}

// TallyLine is a tally in JSON.
type TallyLine struct {
	Runs        *int  `json:"runs,omitempty"`
	Slices      int64 `json:"slices"`
	Records     int64 `json:"records"`
	Changed     int64 `json:"records_changed"`
	Quarantined int64 `json:"records_quarantined"`
	Older       int64 `json:"records_older"`   // not stored, because a later version is
	Deleted     int64 `json:"records_deleted"` // marked as deleted
	Requests    int64 `json:"requests"`
	Retries     int64 `json:"retries"`
	Throttled   int64 `json:"throttled"`
	GapsOpened  int64 `json:"gaps_opened"`
	GapsFilled  int64 `json:"gaps_filled"`
}

func TallyLineOf(t collection.Tally) TallyLine {
	return TallyLine{nil, t.Slices, t.Records, t.Changed, t.Rejected, t.Older, t.Deleted, t.Requests, t.Retries, t.Throttled, t.GapsOpen, t.GapsShut}
}

// WaitedLine returns waits in JSON: seconds by cause.
func WaitedLine(waited map[collection.WaitCause]time.Duration) map[string]float64 {
	line := map[string]float64{}
	for _, cause := range WaitCauses {
		line[string(cause)+"_seconds"] = waited[cause].Seconds()
	}
	return line
}

// WaitCauses lists the causes of waits in the order they are told.
var WaitCauses = []collection.WaitCause{
	collection.WaitPacing, collection.WaitWindow, collection.WaitRetryAfter,
	collection.WaitBackoff, collection.WaitBreaker, collection.WaitReserve,
}
