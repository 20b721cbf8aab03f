package report

import (
	"time"

	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/limit"
)

// staleAfter is how long a run at work may save nothing before that is worth a word.
const staleAfter = 10 * time.Second

// An awaited is a number of requests that a run at work has on their way, while no answer has been saved for a time.
type awaited struct {
	count int
	since time.Duration
}

// awaits returns the answers that the run at work waits for; nil if answers were saved just now, or something
// else tells it to wait.
func (s Status) awaits(pace *gate.Status, now time.Time) *awaited {
	run := s.Newest()
	wait, b := run.Metrics.Wait, pace.Limit()
	saved := later(pace.SavedAt, s.SavedAt())
	switch _, held := s.held(now); {
	case !s.Running(now), pace.SavedAt.IsZero(), run.SeenAt().Sub(saved) <= staleAfter, run.Metrics.ActiveRequests == 0,
		wait != nil && wait.Until.After(now), !held.IsZero(),
		b != nil && b.Blocks && b.Name != gate.InFlightMax:
		return nil
	}
	return &awaited{run.Metrics.ActiveRequests, now.Sub(saved)}
}

func (a *awaited) requests() string {
	return words.Counted(int64(a.count), "request on its way", "requests on their way")
}

// none says for how long there has been no answer.
func (a *awaited) none() string {
	return "none has been saved for " + words.Span(a.since.Truncate(time.Second))
}

// LimitWords says what limits the pace with the account in one line; "" if nothing is known to.
func (s Status) LimitWords(now time.Time) string {
	if s.Account == nil {
		return ""
	}
	if a := s.awaits(&s.Account.Pace, now); a != nil {
		return "answers that do not come: " + a.none() + ", " + a.requests()
	}
	return limit.AtWork(&s.Account.Pace, now)
}
