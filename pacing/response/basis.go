package response

import (
	"time"
)

// A Basis is what a silence follows from: a provider that says that a quota is used up has
// not said when it may be asked again.
type Basis struct {
	By    string `json:"by,omitempty"`
	Quota string `json:"quota,omitempty"` // that is used up: its name, or the provider's code for it; "": not said
}

// What a silence follows from; "" is not known.
const (
	Asked      = "asked"      // Retry-After, or what stands for it in the body
	Announced  = "announced"  // a limit that is announced is used up, and when there is more is, too
	UsedUp     = "used_up"    // a quota is, and when there is more was not said
	Window     = "window"     // an announced limit is used up, and only the length of its window is known
	TooLittle  = "too_little" // less is left of an announced limit than one request takes, and when there is more is known
	Documented = "documented" // a refusal without a time; how long to wait is in the provider's documentation
)

// OfQuota reports whether it is a quota that is used up.
func (b Basis) OfQuota() bool { return b.Renewed() || b.By == UsedUp }

// Renewed reports whether it is a quota, and the provider told when that is granted anew.
func (b Basis) Renewed() bool { return b.By == Announced || b.By == Window || b.By == TooLittle }

// Name is what a pause for b is called; "" if what it is for is not known.
func (b Basis) Name() string {
	switch b.By {
	case Asked:
		return "a requested pause"
	case Announced, Window, TooLittle, UsedUp:
		return "a used up quota"
	case Documented:
		return "a pause after a refusal"
	}
	return ""
}

// Words says why nothing leaves; "" if that is not known. The name of a quota in them is the provider's.
func (b Basis) Words() string {
	quota := b.Of()
	switch b.By {
	case Asked:
		return "it said when it may be asked again"
	case Announced:
		return quota + " is used up, and it announces when there is more"
	case UsedUp:
		return "it says that " + quota + " is used up, and not when there is more: one request asks then"
	case Window:
		return quota + " is used up, and the rest of its window is waited for"
	case TooLittle:
		return "less is left of " + quota + " than one request takes, and it announces when there is more"
	case Documented:
		return "it refused for a while and did not say for how long; its documentation does"
	}
	return ""
}

// Of names the quota that is used up.
func (b Basis) Of() string {
	if b.Quota == "" {
		return "a quota"
	}
	return "the quota " + b.Quota
}

// later makes the silence of r as long as d, which follows from by, if it is shorter.
func (r *Reading) later(d time.Duration, by string) {
	if d > r.Hold {
		r.Hold, r.Basis.By = d, by
	}
}

// usedUp returns the name of the limit that is used up, the one of the longest window; "" if none
// is announced to be.
func usedUp(windows []Quota) string {
	name, longest := "", time.Duration(-1)
	for _, q := range windows {
		if q.Remaining != 0 || q.Unit == AtOnce || q.Unit == Percent {
			continue
		}
		if window := max(q.Window, q.Reset, budgetNamed(q.Name)); window > longest {
			name, longest = q.Name, window
		}
	}
	return name
}
