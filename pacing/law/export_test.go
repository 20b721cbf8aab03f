package law

import (
	"time"

	"collect/pacing/response"
)

// What the tests of the parts need to see.

// Epoch is when the tests begin, and lead how long before it they count from:
// moments are never negative.
var Epoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const lead = time.Hour

func since(t time.Time) Moment { return t.Sub(Epoch) + lead }

// when returns the time of m; the zero time if it is not after now.
func when(m Moment, now time.Time) time.Time {
	if m <= since(now) {
		return time.Time{}
	}
	return Epoch.Add(m - lead)
}

type Pacer = pacer

var NewPacer = newPacer

func (p *pacer) At(now time.Time) time.Time {
	at, _ := p.Next(since(now))
	return when(at, now)
}

func (p *pacer) Send(now time.Time) (uint64, bool) {
	d := p.OnSend(since(now), 1)
	return d.ID, d.bound
}

func (p *pacer) Result(id uint64, bound bool, s Signal, now time.Time) {
	p.OnResult(Ticket{ID: id, weight: 1, leave: leave{bound: bound}}, Outcome{Signal: s, Hold: -1}, since(now))
}

func (p *pacer) StepInTime()                 { p.inTime = true }
func (p *pacer) Interval() time.Duration     { return p.interval }
func (p *pacer) SetStep(first time.Duration) { p.step = 1/first.Seconds() - 1/p.start.Seconds() }
func (p *pacer) SetBurst(d time.Duration)    { p.burst = d }

// A Learner is the plateau law.
type Learner struct{ p *plateau }

// A Sent is an attempt of a Learner.
type Sent struct{ t Ticket }

// A Result is what a Learner is told.
type Result struct {
	Signal     Signal
	Weak       bool
	Overdue    bool
	Hold       time.Duration // 0: not said
	Refused    bool          // the account
	Name       string        // of what is announced
	Limit      float64       // announced, with Remaining and Reset
	Remaining  float64
	Reset, Per time.Duration
}

func NewLearner(start, ceiling float64) Learner { return Learner{newPlateau(start, ceiling, 0.5)} }
func (l Learner) Rate() float64                 { return l.p.Rate() }
func (l Learner) Plateau() float64              { return l.p.target }
func (l Learner) Bound() float64                { return l.p.bound() }
func (l Learner) Due() time.Time                { return Epoch.Add(max(l.p.tat, l.p.pause) - lead) }
func (l Learner) Send(now time.Time) Sent       { return l.SendCost(now, 1) }

func (l Learner) Next(now time.Time) (time.Time, bool) {
	at, open := l.p.Next(since(now))
	return when(at, now), open
}

func (l Learner) SendCost(now time.Time, w float64) Sent {
	return Sent{l.p.OnSend(since(now), w)}
}

func (l Learner) Result(s Sent, r Result, now time.Time) (silence time.Duration) {
	o := Outcome{Signal: r.Signal, Weak: r.Weak, Overdue: r.Overdue, Refused: r.Refused, Hold: -1}
	if r.Hold > 0 {
		o.Hold = r.Hold
	}
	if r.Limit > 0 {
		o.Windows = []response.Quota{{Name: r.Name, Limit: r.Limit, Remaining: r.Remaining, Reset: r.Reset, Window: r.Per}}
	}
	return l.p.OnResult(s.t, o, since(now))
}

func (l Learner) Known(s Sent, o Outcome) bool { return l.p.Known(s.t, o) }

func (l Learner) Keep() Memory                        { return l.p.Keep() }
func (l Learner) Restore(m Memory, age time.Duration) { l.p.Restore(m, age) }

// Doubted reports whether what is announced had promised what was refused.
func (k *keptPlateau) Doubted() bool { return k.Doubt != nil }
