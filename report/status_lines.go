package report

import (
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/store"
)

// StatusLine is a connector in JSON. What is not known is null.
type StatusLine struct {
	Connector   string       `json:"connector"`
	State       Health       `json:"state"`
	Needs       string       `json:"needs"`
	ExitCode    int          `json:"exit_code"` // of --check
	Next        string       `json:"next"`
	WaitCause   *string      `json:"wait_cause"`
	NextAt      jsonout.Time `json:"next_at"` // of the wait: when it goes on
	Run         *string      `json:"run_id"`
	Outcome     *string      `json:"last_outcome"`
	Error       *ErrorLine   `json:"error"` // that ended the newest run; null: none did
	SavedAt     jsonout.Time `json:"saved_at"`
	Complete    int          `json:"streams_complete"`
	Owed        int          `json:"gaps_owed"`
	Gone        int          `json:"gone"`
	Waived      int          `json:"waived"`
	Quarantined int64        `json:"records_quarantined"`
	PausedAt    jsonout.Time `json:"paused_at"` // null: it is not
	PausedBy    *string      `json:"paused_by"`
	PausedWhy   *string      `json:"paused_reason"`
	Overall     TallyLine    `json:"overall"`
	Streams     []streamLine `json:"streams"`
	Provider    *accountLine `json:"provider"`
	Sharing     *SharingLine `json:"sharing,omitempty"` // the machines that share the pace now; none: no process leads, or that is not known

	Metrics *accountMetrics `json:"metrics"` // of the newest run, as of its last sign of life
	Fleet   *FleetLine      `json:"fleet"`   // null: there are no workers beside the database
}

// A FleetLine says what the workers of a fleet do with a connector.
type FleetLine struct {
	Worker    *string      `json:"worker"` // that has it in hand; null: none has
	Since     jsonout.Time `json:"since"`
	Expires   jsonout.Time `json:"lease_expires_at"`
	Due       jsonout.Time `json:"turn_due_at"` // of the turn that waits
	Scheduled jsonout.Time `json:"scheduled_at"`
}

type streamLine struct {
	Stream      string     `json:"stream"`
	Selected    bool       `json:"selected"`
	Parent      *string    `json:"parent"`
	Records     int64      `json:"records"`
	Deleted     int64      `json:"records_deleted"` // of records
	Quarantined int64      `json:"records_quarantined"`
	View        *string    `json:"view"`
	Lanes       []laneLine `json:"lanes"`
}

type laneLine struct {
	Lane       collection.Lane `json:"lane"`
	Complete   bool            `json:"complete"`
	Partitions int64           `json:"partitions"`
	Done       int64           `json:"partitions_done"`
	AsOf       jsonout.Time    `json:"complete_as_of"` // when its walk began
	Unseen     bool            `json:"unseen"`         // an earlier run began the walk; changes since then are left to the next run
	SavedAt    jsonout.Time    `json:"saved_at"`
	Owed       int             `json:"gaps_owed"`
	Digest     *string         `json:"checkpoint_digest"`
	Coverage   *Coverage       `json:"coverage"` // null: nothing of it was counted
	Evidence   *evidenceLine   `json:"evidence"` // null: the stream's own walk did not begin
}

type accountLine struct {
	Provider string       `json:"provider"`
	Learned  *float64     `json:"learned_per_second"`
	Ceiling  *float64     `json:"ceiling_per_second"`
	Breaker  *string      `json:"breaker"`
	Forced   bool         `json:"breaker_forced"`
	Failure  *string      `json:"breaker_opened_by"`
	Frozen   bool         `json:"frozen"`
	Until    jsonout.Time `json:"held_until"`

	Limit  *Constraint `json:"limit"`            // what limits the pace; null: nothing is known to
	Shared bool        `json:"from_shared_pace"` // newer than the database

	Accounts []TurnLine `json:"accounts,omitempty"` // where several take turns; what stands above is of all of them
}

// StatusLines returns the connectors for --json; an empty list is [].
func StatusLines(all []Status, now time.Time) []StatusLine {
	lines := []StatusLine{}
	for _, s := range all {
		overall := TallyLineOf(s.All)
		overall.Runs, overall.Quarantined = &s.Count, QuarantinedIn(s.Streams) // with those of pieces that are owed, which no run counts
		st := s.Stands(now)
		line := StatusLine{
			Connector: s.Name, State: st.State, Needs: st.Needs, ExitCode: st.Code, Next: st.Next,
			WaitCause: jsonout.Text(string(st.Cause)), NextAt: jsonout.Time(st.Until), SavedAt: jsonout.Time(s.SavedAt()), Complete: s.Complete(),
			Owed: OwedCount(s.Owed), Gone: GoneCount(s.Owed), Waived: len(Waived(s.Owed)), Quarantined: QuarantinedIn(s.Streams),
			PausedAt: jsonout.Time(s.Pause.At), PausedBy: jsonout.Text(s.Pause.Who), PausedWhy: jsonout.Text(s.Pause.Why),
			Overall: overall, Streams: []streamLine{}, Sharing: sharingLine(s.Sharing),
		}
		if len(s.Runs) > 0 {
			line.Metrics = accountMetricsOf(s.Runs[0])
			line.Run, line.Outcome = &s.Runs[0].ID, jsonout.Text(string(s.Runs[0].Outcome))
			line.Error = errorLine(s.Runs[0])
		}
		for _, stream := range s.Streams {
			line.Streams = append(line.Streams, s.streamLineOf(stream))
		}
		if a := s.Account; a != nil {
			line.Provider = &accountLine{a.Provider, jsonout.OrNull(a.Learned), jsonout.OrNull(a.Ceiling), jsonout.Text(a.Breaker), a.Forced, jsonout.Text(a.Failure.Why), a.Frozen, jsonout.Time(a.Until), s.limit(now), a.Shared, TurnLines(s.Accounts, now)}
		}
		lines = append(lines, line)
	}
	return lines
}

func (s Status) streamLineOf(of store.StreamState) streamLine {
	line := streamLine{of.Name, s.selects(of.Name), jsonout.Text(of.Parent), of.Records, of.Deleted, of.Quarantined, jsonout.Text(of.View), []laneLine{}}
	for _, l := range of.Lanes {
		asOf := time.Time{}
		if l.Complete {
			asOf = l.Began
		}
		line.Lanes = append(line.Lanes, laneLine{l.Lane, l.Complete, l.Partitions, l.Done, jsonout.Time(asOf), s.unseen(of, l), jsonout.Time(l.SavedAt), s.owedIn(of.Name, l.Lane), jsonout.Text(l.Digest), s.CoverageOf(of, l), evidenceLineOf(l.Evidence)})
	}
	return line
}
