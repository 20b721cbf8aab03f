package report

import (
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/store"
)

// A workLeft is the part of the work that is known to be left.
type workLeft struct {
	Requests int64         // one for each parent; of some of these nothing may be wanted
	Lists    bool          // some parents have a list, which can have any number of pages
	In       time.Duration // negative: not known
}

// Left returns how long the rest takes at the pace that binds now, or nothing if
// that is not known: a list without a parent has no known length while it is
// walked, and where nothing leaves there is no pace.
//
// One request is counted for each parent that was not walked yet.
func (e Explanation) Left() *workLeft {
	if len(e.Runs) == 0 || !e.Known {
		return nil
	}
	var l workLeft
	lane := e.Runs[0].Lane
	for _, s := range e.Collected() {
		own := LaneOf(s, lane)
		switch {
		case e.over(s, own):
		case s.Parent == "":
			return nil
		default:
			parents := e.parentsOf(s.Stream, own)
			if parents == nil {
				return nil
			}
			l.Requests += max(0, parents.Living()-own.Done)
			l.Lists = l.Lists || s.Role != collection.Detail
		}
	}
	if l.Requests == 0 {
		return nil
	}
	if l.In = e.takes(l.Requests); l.In == 0 {
		return nil
	}
	return &l
}

func (e Explanation) takes(requests int64) time.Duration { return Takes(&e.Pace, requests, e.Now) }

// Takes returns how long requests take under the limits of the pace; 0 if none
// leaves, or nothing is paced, and a negative time if they need more than is left of
// a quota, and the provider does not say when it grants more.
func Takes(pace *gate.Status, requests int64, now time.Time) time.Duration {
	var longest time.Duration
	for _, k := range pace.Constraints {
		switch {
		case k.Route != "":
		case k.Blocks && k.Count == 0:
			return 0
		case k.PerSecond > 0:
			longest = max(longest, seconds(float64(requests)/k.PerSecond))
		case k.Window > 0 && k.Count > 0:
			over := float64(requests - int64(k.Count-k.Used))
			longest = max(longest, seconds(over*k.Window.Seconds()/float64(k.Count)))
		}
	}
	for i := range pace.Announced {
		q := &pace.Announced[i]
		if over := float64(requests) - q.Requests(q.Left(now)); q.InRequests() && q.Window > 0 && over > 0 {
			if q.IsBudget() && q.Ends.IsZero() {
				return -1
			}
			longest = max(longest, max(0, q.Ends.Sub(now))+seconds(over*q.Window.Seconds()/q.Requests(q.Limit)))
		}
	}
	return longest
}

// An Outlook is what the end of a run is foretold from.
type Outlook struct {
	Now   time.Time
	Pace  *gate.Status
	Work  int64     // requests that the work still takes; 0: not known
	Cap   int64     // requests that the run may still send; 0: it has no cap
	Until time.Time // when the time limit ends it; zero: it has none
}

// First returns what ends the run first, and in which time: collection.RequestCap, WallClock or Quota, or
// "" for the end of the work; 0 if no time is known for any of them.
func (o Outlook) First() (first collection.Reason, in time.Duration) {
	sooner := func(reason collection.Reason, d time.Duration) {
		if d > 0 && (in == 0 || d < in) {
			first, in = reason, d
		}
	}
	sooner("", Takes(o.Pace, o.Work, o.Now))
	if o.Cap > 0 {
		sooner(collection.RequestCap, Takes(o.Pace, o.Cap, o.Now))
	}
	if !o.Until.IsZero() {
		sooner(collection.WallClock, o.Until.Sub(o.Now))
	}
	if q, d := usedUpFirst(o.Pace, o.Work, o.Now); q != nil {
		sooner(collection.Quota, d)
	}
	return first, in
}

// usedUpFirst returns which budget of the provider is used up first at this pace, and in which time, if one is
// known to be before the work is done; nil if none is. No work means that it is not known how much there is.
func usedUpFirst(pace *gate.Status, work int64, now time.Time) (first *gate.Quota, soonest time.Duration) {
	for i := range pace.Announced {
		q := &pace.Announced[i]
		left := int64(q.Requests(q.Left(now)))
		if !q.IsBudget() || q.Over(now) || work > 0 && work <= left {
			continue
		}
		in := Takes(pace, left, now)
		if in < 0 || in == 0 && left > 0 || !q.Ends.IsZero() && in >= q.Ends.Sub(now) || first != nil && in >= soonest {
			continue
		}
		first, soonest = q, in
	}
	return first, soonest
}

// seconds returns n seconds, a hundred years at most.
func seconds(n float64) time.Duration {
	const most = 100 * 365 * 24 * 3600
	return time.Duration(min(n, most) * float64(time.Second))
}

func (s Status) stream(name string) *store.StreamState {
	for i := range s.Streams {
		if s.Streams[i].Name == name {
			return &s.Streams[i]
		}
	}
	return nil
}

// Words says how long it takes: in about 38 min.
func (l workLeft) Words() string {
	text := "for at most "
	if l.In > 0 {
		text = "at this pace in " + about(l.In) + ", for at most "
	}
	if l.Lists {
		return text + words.Counted(l.Requests, "parent", "parents") + " and a request or more each"
	}
	return text + words.Counted(l.Requests, "request", "requests")
}

// about says that d is no exact time.
func about(d time.Duration) string {
	if d >= 2*time.Hour {
		return words.Rough(d)
	}
	return "about " + words.Rough(d)
}
