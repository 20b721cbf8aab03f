package law

import (
	"time"

	"collect/pacing/response"
)

// A Moment is a time as a law counts it: since a time that its caller chose,
// and never earlier than the moment before. Moments are compared and subtracted
// like the numbers they are.
type Moment = time.Duration

// A Ticket is the permission of an attempt that leaves. With four words in four
// fields it is passed in registers, which every request gains from.
type Ticket struct {
	ID     uint64 // from 1, rising
	at     Moment
	weight float64 // of its cost
	leave
}

// Cost returns what it counts as.
func (t *Ticket) Cost() float64 { return t.weight }

// A leave is how a request left.
type leave struct {
	inFlight int32 // requests in flight, with this one
	bound    bool  // the pace is what held it back
}

// heaviest bounds the cost of a request, so that no slot is longer than time
// can be counted: a million of them at the slowest pace is 19 years.
const heaviest = 1e6

// cost returns weight if it can be one, and 1 if not.
func cost(weight float64) float64 {
	if weight > 0 {
		return min(weight, heaviest)
	}
	return 1
}

// A Signal is what a finished attempt says about the pace.
type Signal uint8

const (
	Silent    Signal = iota // nothing: it was cancelled, or refused for a reason that is not the pace
	Succeeded               // the provider did what was asked
	Answered                // the provider refused this request, not the pace
	Throttled               // the provider asked for less
	Failed                  // no usable answer
)

// An Outcome is what became of an attempt, as far as the pace is concerned.
type Outcome struct {
	Signal  Signal
	Weak    bool             // nothing but a 503 says so, which may be by chance, or the provider has trouble of its own
	AtOnce  bool             // it was refused because too many requests were in flight
	Overdue bool             // it failed because somebody on the way gave up waiting for the answer, or closed the connection in its place
	Refused bool             // the account is, whatever the pace
	Hold    time.Duration    // the provider asked for it; negative: it did not
	Windows []response.Quota // limits that were announced
	Cost    float64          // of the request, in the points that such a limit counts; 0: not said
	MaxRate float64          // the pace that was; 0: it was not
}

// Start is the pace of a provider that nobody described, in requests per
// second, and Ceiling where its bound begins. Both are those PDP-Connect/pdpp arrived
// at with live providers. An owner who vouches for more than 50 a second vouches for a
// start at StartShare of it, up to that bound.
const (
	Start      = 1.0
	Ceiling    = 4.0
	StartShare = 1.0 / 50
)

// The constants that several parts share.
const (
	slowest       = 1.0 / 600   // requests per second; a limit below one in ten minutes is a quota
	enough        = 8           // successes from which a count is an estimate
	suspicionFade = 0.985       // of what is suspected, for each answer, so that it lasts for about 66
	probeLeast    = 64          // answers before more is tried,
	probeMost     = 4096        // at first and at most
	pauseCap      = time.Hour   // the longest pause before a probe of an episode, but for its jitter
	disbelieved   = time.Minute // what is announced, at least, after a refusal or if others use it too
)

func interval(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// PerSecond returns the rate of an interval.
func PerSecond(interval time.Duration) float64 { return float64(time.Second) / float64(interval) }
