package law

import (
	"time"

	"collect/pacing/response"
)

// What the tests of the parts need to see.

type Pacer = pacer

var NewPacer = newPacer

func (p *pacer) At(now time.Time) time.Time {
	at, _ := p.Next(now)
	return at
}

func (p *pacer) Send(now time.Time) (uint64, bool) {
	d := p.OnSend(now, 1)
	return d.ID, d.bound
}

func (p *pacer) Result(id uint64, bound bool, s Signal, now time.Time) {
	p.OnResult(Ticket{ID: id, bound: bound, weight: 1}, Outcome{Signal: s, Hold: -1}, now)
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
	Hold       time.Duration // 0: not said
	Refused    bool          // the account
	Limit      float64       // announced, with Remaining and Reset
	Remaining  float64
	Reset, Per time.Duration
}

func NewLearner(start, ceiling float64) Learner        { return Learner{newPlateau(start, ceiling, 0.5)} }
func (l Learner) Rate() float64                        { return l.p.Rate() }
func (l Learner) Plateau() float64                     { return l.p.target }
func (l Learner) Next(now time.Time) (time.Time, bool) { return l.p.Next(now) }
func (l Learner) Due() time.Time                       { return l.p.when(max(l.p.tat, l.p.pause)) }
func (l Learner) Send(now time.Time) Sent              { return l.SendCost(now, 1) }
func (l Learner) SendCost(now time.Time, w float64) Sent {
	return Sent{l.p.OnSend(now, w)}
}

func (l Learner) Result(s Sent, r Result, now time.Time) {
	o := Outcome{Signal: r.Signal, Weak: r.Weak, Hold: -1}
	if r.Hold > 0 {
		o.Hold = r.Hold
	}
	if r.Refused {
		o.Refused = "forbidden"
	}
	if r.Limit > 0 {
		o.Windows = []response.Quota{{Name: "q", Limit: r.Limit, Remaining: r.Remaining, Reset: r.Reset, Window: r.Per}}
	}
	l.p.OnResult(s.t, o, now)
}

func (l Learner) Keep() Memory                    { return l.p.Keep() }
func (l Learner) Restore(m Memory, now time.Time) { l.p.Restore(m, now) }
