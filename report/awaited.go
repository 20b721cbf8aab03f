package report

import (
	"time"

	"collect/collection"
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
		holdsAll(b):
		return nil
	}
	return &awaited{run.Metrics.ActiveRequests, now.Sub(saved)}
}

// holdsAll reports whether no request leaves because of a constraint, which may be nil. Where as many are in flight as
// may be, each answer lets one out.
func holdsAll(b *gate.Constraint) bool { return b != nil && b.Blocks && b.Name != gate.InFlightMax }

func (a *awaited) requests() string {
	return words.Counted(int64(a.count), "request on its way", "requests on their way")
}

// none says for how long there has been no answer.
func (a *awaited) none() string {
	return "none has been saved for " + words.Span(a.since.Truncate(time.Second))
}

// underWay returns the wait that the run at work told of last; nil if it is over, or too short to be worth a word. The
// wait for a retry is also told if it is short and nothing was saved for a while, and is not if slices were saved since it
// began: then it is of one request beside others.
func (s Status) underWay(now time.Time) *collection.WaitInfo {
	wait := s.Newest().Metrics.Wait
	if wait == nil || !s.Running(now) || !wait.Until.After(now) {
		return nil
	}
	saved, began, worth := s.SavedAt(), wait.Until.Add(-seconds(wait.Seconds)), wait.Until.Sub(now) > shortWait
	if wait.Cause == collection.WaitBackoff {
		worth = (worth || now.Sub(saved) > staleAfter) && saved.Sub(began) <= time.Second
	}
	if !worth {
		return nil
	}
	return wait
}

// waitWords says until when the connector waits, and why, where no constraint of the pace does: "until 12:09 UTC: acme
// failed, and is asked again"; "" if it does not wait. The wait for a turn at a slow pace is the pace.
func (s Status) waitWords(pace *gate.Status, now time.Time) string {
	wait, b := s.underWay(now), pace.Limit()
	switch {
	case s.silent(pace, now):
		return s.Stands(now).Next
	case wait == nil, holdsAll(b),
		wait.Cause == collection.WaitPacing && b != nil && b.PerSecond > 0 && seconds(1/b.PerSecond) > shortWait:
		return ""
	}
	return s.waits(wait.Cause, wait.Until, now).Next
}

// owedWait says until when what is owed is not asked for, though nothing else holds
// requests back; "" if there is no such wait.
func (s Status) owedWait(pace *gate.Status, now time.Time) string {
	b, st := pace.Limit(), s.Stands(now)
	if s.Running(now) || holdsAll(b) || st.State != Waiting || st.Until.IsZero() || st.Until != FirstWait(s.Owed, now) {
		return ""
	}
	return words.WithReason("what is owed is not asked for: "+st.Next, LastTrouble(s.Owed))
}

// silent reports whether the last run got no answer, or sent nothing, because of what is
// owed: then no pace limits anything.
func (s Status) silent(pace *gate.Status, now time.Time) bool {
	return s.owedWait(pace, now) != "" && (Unanswered(s.Newest()) || s.Newest().Tally.Requests == 0)
}

// LimitWords says what limits the pace with the account in one line; "" if nothing is known to.
func (s Status) LimitWords(now time.Time) string {
	if s.Account == nil {
		return ""
	}
	if a := s.awaits(&s.Account.Pace, now); a != nil {
		return "answers that do not come: " + a.none() + ", " + a.requests()
	}
	if wait := s.waitWords(&s.Account.Pace, now); wait != "" {
		return "a wait " + wait
	}
	return limit.AtWork(&s.Account.Pace, now)
}

// limit returns what limits the pace with the account; nil if nothing is known to, or something else than the pace keeps
// requests from leaving.
func (s Status) limit(now time.Time) *Constraint {
	if s.awaits(&s.Account.Pace, now) != nil || s.waitWords(&s.Account.Pace, now) != "" {
		return nil
	}
	return Limit(&s.Account.Pace)
}
