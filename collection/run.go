package collection

import "time"

// A Mode says what a run was asked to do.
type Mode string

// The modes of a run.
const (
	Forward Mode = "run"    // forward work first, then gaps
	Resume  Mode = "resume" // gaps first, then forward work
)

// An Outcome is the verdict on a run.
type Outcome string

// The outcomes of a run.
const (
	Running        Outcome = "running"
	Complete       Outcome = "complete"    // everything the provider offers is stored
	NothingNew     Outcome = "nothing_new" // complete, and no record was new or changed
	Deferred       Outcome = "deferred"    // a budget of ours ended it: a planned pause
	Waiting        Outcome = "waiting"     // provider gaps are left, or the provider asked to wait
	Blocked        Outcome = "blocked"     // stuck gaps are left, or the provider refuses us
	RunInterrupted Outcome = "interrupted"
	Failed         Outcome = "failed"
	Abandoned      Outcome = "abandoned" // its process died; the next run continues
)

// A Run is one execution of a connector.
type Run struct {
	ID        string
	Connector string
	Mode      Mode
	Lane      Lane
	Params    map[string]string // of the connector; a checkpoint means nothing under others
	Domain    string            // the pacing domain: provider and account
	Accounts  []RunAccount      // where several took turns: all of them, that of Domain first
	Source    string            // the connector file, as a full path; "" if it was not one
	Outcome   Outcome
	Reason    Reason // why it stopped before the end; "" if it did not
	Holder    Holder
	Epoch     int64
	StartedAt time.Time
	BeatAt    time.Time // when it last said that it is alive
	EndedAt   time.Time // zero while it runs
	ExitCode  int       // -1 until it is finished, and for good if its process died
	Tally     Tally
	Waited    map[WaitCause]time.Duration
	Metrics   Metrics
}

// A RunAccount is one of several accounts that a run sent requests by.
type RunAccount struct {
	Domain string `json:"domain"`
	From   string `json:"from"` // where its credential came from: "env ACME_TOKEN"
}

// Domains returns the pacing domains of all accounts of the run.
func (r *Run) Domains() []string {
	if len(r.Accounts) == 0 {
		return []string{r.Domain}
	}
	domains := make([]string, len(r.Accounts))
	for i, a := range r.Accounts {
		domains[i] = a.Domain
	}
	return domains
}

// SeenAt returns when the run gave its last sign of life.
func (r *Run) SeenAt() time.Time {
	if r.BeatAt.After(r.StartedAt) {
		return r.BeatAt
	}
	return r.StartedAt
}

// A Holder is the process that runs.
type Holder struct {
	Host string
	PID  int
}

// A Tally counts the work of a run, or of all runs.
type Tally struct {
	Requests  int64 // attempts, retries included
	Retries   int64
	Throttled int64 // throttle signals, not episodes
	Slices    int64
	Records   int64 // delivered
	Changed   int64 // new, or different from what was stored
	Rejected  int64 // put in quarantine
	Older     int64 // not stored, because a later version is
	Deleted   int64 // marked as deleted
	GapsOpen  int64 // opened
	GapsShut  int64 // recovered
}

// Stored returns how many of the records that were delivered are stored as they came.
func (t Tally) Stored() int64 { return t.Records - t.Rejected - t.Older }

// Add returns the sum of t and u.
func (t Tally) Add(u Tally) Tally {
	return Tally{
		Requests: t.Requests + u.Requests, Retries: t.Retries + u.Retries, Throttled: t.Throttled + u.Throttled, Slices: t.Slices + u.Slices,
		Records: t.Records + u.Records, Changed: t.Changed + u.Changed, Rejected: t.Rejected + u.Rejected, Older: t.Older + u.Older,
		Deleted: t.Deleted + u.Deleted, GapsOpen: t.GapsOpen + u.GapsOpen, GapsShut: t.GapsShut + u.GapsShut,
	}
}
