package gate

import (
	"slices"
	"time"

	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
	"collect/pacing/response"
)

// mostAnnounced bounds the limits that are remembered as they were announced last. A
// provider that makes up names is not listened to for ever.
const mostAnnounced = 16

// A Quota is a limit as the provider announced it last.
type Quota struct {
	Name      string        `json:"name,omitempty"`
	Unit      string        `json:"unit,omitempty"` // "" for requests
	Limit     float64       `json:"limit"`
	Remaining float64       `json:"remaining"`
	Window    time.Duration `json:"window_ns,omitempty"`    // the longest that was told, or that its end was ahead of an answer; 0: not known
	Known     bool          `json:"window_known,omitempty"` // it was named, or one began anew; else it may be longer
	Ends      time.Time     `json:"ends_at,omitzero"`       // zero: not said
	Told      time.Time     `json:"told_at"`
	Each      float64       `json:"-"` // how much less is left after each request of weight 1, if more than one and a status knows it; 0: else

	empty  law.Moment // when a granted answer told that nothing is left, the first of those since something was; 0: none did
	grants bool       // what left after that was granted, so that it binds nothing
}

// InRequests reports whether it is known for how many requests q is.
func (q *Quota) InRequests() bool { return (q.Unit == "" || q.Each > 0) && q.Limit >= 1 }

// IsBudget reports whether that is known, and the window of q is so long that a run cannot wait for its end.
func (q *Quota) IsBudget() bool { return q.InRequests() && q.Window >= response.BudgetFrom }

// Over reports whether all of q has been granted anew since it was told: one whose end was
// not said ends a window after that at the latest.
func (q *Quota) Over(now time.Time) bool {
	if q.Ends.IsZero() {
		return q.Window > 0 && !q.Told.Add(q.Window).After(now)
	}
	return !q.Ends.After(now)
}

// Left returns how much is left of q at now: all of it, once its window is over.
func (q *Quota) Left(now time.Time) float64 {
	if q.Over(now) {
		return q.Limit
	}
	return q.Remaining
}

// Requests returns for how many requests so much of q is.
func (q *Quota) Requests(amount float64) float64 { return amount / max(1, q.Each) }

// heard are the limits that a provider announced.
type heard struct{ all []Quota }

// quotas returns each as it was announced last.
func (h *heard) quotas() []Quota {
	if h == nil {
		return nil
	}
	return h.all
}

// index returns where h has the limit w; -1 if it has none.
func (h *heard) index(w *response.Quota) int {
	return slices.IndexFunc(h.quotas(), func(q Quota) bool { return q.Name == w.Name && q.Unit == w.Unit })
}

// grants reports whether the provider grants requests while its answers tell that nothing is left of
// one of windows. Such a budget is none.
func (h *heard) grants(windows []response.Quota) bool {
	return slices.ContainsFunc(windows, func(w response.Quota) bool {
		n := h.index(&w)
		return w.Remaining == 0 && n >= 0 && h.all[n].grants
	})
}

// lasts reports whether the provider told of a limit that it grants anew at a time, or later. It tells no limit for a block,
// and a person has to lift a limit of 0.
func (h *heard) lasts(until time.Time) bool {
	return slices.ContainsFunc(h.quotas(), func(q Quota) bool {
		ends := q.Ends
		if ends.IsZero() {
			ends = q.Told.Add(q.Window)
		}
		return q.Limit >= 1 && q.Unit != response.Percent && !ends.Before(until.Add(-time.Second)) // times are whole seconds, and a hold is a little longer
	})
}

// hear notes the limits that an answer announced. The reset beside a refusal says where
// in the window that came, and may be told beside no other answer. The request left at a moment.
func (h *heard) hear(o *Outcome, left, now law.Moment, at time.Time) {
	for i := range o.Windows {
		w := &o.Windows[i]
		if !(w.Limit > 0) || w.Remaining < 0 {
			continue
		}
		n := h.index(w)
		if n < 0 {
			if len(h.all) >= mostAnnounced {
				continue
			}
			n = len(h.all)
			h.all = append(h.all, Quota{Name: w.Name, Unit: w.Unit, Limit: w.Limit})
		}
		q := &h.all[n]
		if q.Limit != w.Limit {
			q.Window, q.Known = 0, false
		}
		q.Known = q.Known || w.Window > 0 || !q.Ends.IsZero() && at.After(q.Ends)
		switch {
		case w.Remaining > 0:
			q.empty, q.grants = 0, false
		case o.Signal != law.Succeeded && o.Signal != law.Answered:
		case q.empty == 0:
			q.empty = max(now, 1)
		default:
			q.grants = q.grants || left >= q.empty
		}
		q.Limit, q.Remaining, q.Told, q.Ends = w.Limit, w.Remaining, timeline.Saved(at), time.Time{}
		q.Window = max(q.Window, w.Window)
		if o.Signal != law.Throttled && !o.QuotaUsed {
			q.Window = max(q.Window, w.Reset)
		}
		if w.Reset >= 0 {
			q.Ends = q.Told.Add(w.Reset)
		}
	}
}
