package share

import (
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// What a guest asks for.
const (
	hello    = "hello"    // takes part, with its ceilings
	enter    = "enter"    // waits for a turn
	withdraw = "withdraw" // no longer waits for the turn of that id
	settle   = "settle"   // tells what became of a pass
	adopt    = "adopt"    // tells of a request that left under another leader
	state    = "state"    // asks for what must be known later
	present  = "present"  // asks who takes part, and for the state
	obey     = "obey"     // gives the order of an operator
	status   = "status"   // asks how things stand
	beat     = "beat"     // asks whether anybody is there
)

// Why something cannot be asked.
var (
	errGone = errors.New("the process that led is gone") // there may be another one
	errLeft = errors.New("this process takes no more part")
)

// unused is the outcome of a pass that no request uses. Its slot is lost.
var unused = gate.Outcome{Signal: law.Silent, Hold: -1}

// A call is one line of JSON from a guest to the leader.
type call struct {
	ID          uint64               `json:"id"`
	Do          string               `json:"do"`
	Request     gate.Request         `json:"request,omitzero"`
	Stream      string               `json:"stream,omitempty"`
	Pass        uint64               `json:"pass,omitempty"`
	Outcome     *gate.Outcome        `json:"outcome,omitempty"`
	Last        bool                 `json:"last,omitempty"`
	State       []byte               `json:"state,omitempty"`
	Ceilings    []collection.Ceiling `json:"ceilings,omitempty"`
	Concurrency int                  `json:"concurrency,omitempty"`
	PID         int                  `json:"pid,omitempty"`
	Host        string               `json:"host,omitempty"`
	Events      []collection.Event   `json:"events,omitempty"`
}

// A reply is one line of JSON back. That of a wait is not the last to its call,
// and one with events, which tell of an operator's order, is to no call.
type reply struct {
	ID      uint64       `json:"id"`
	Wait    *waiting     `json:"wait,omitempty"`
	Pass    *passed      `json:"pass,omitempty"`
	Settled *settled     `json:"settled,omitempty"`
	State   []byte       `json:"state,omitempty"`
	Status  *gate.Status `json:"status,omitempty"`
	Stop    *stop        `json:"stop,omitempty"`
	Error   string       `json:"error,omitempty"`

	Present []collection.Holder `json:"present,omitempty"`
	Events  []collection.Event  `json:"events,omitempty"`
}

// err returns the error that r tells.
func (r reply) err() error {
	switch {
	case r.Stop != nil:
		return r.Stop.back()
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// failed is the reply of a call that ended with err.
func failed(id uint64, err error) reply {
	if s, ok := errors.AsType[*collection.Stop](err); ok {
		return reply{ID: id, Stop: stopOf(s)}
	}
	return reply{ID: id, Error: err.Error()}
}

// A waiting says what a turn waits for.
type waiting struct {
	Until time.Time            `json:"until,omitzero"`
	Cause collection.WaitCause `json:"cause,omitempty"`
}

// A passed is a pass as a guest knows it.
type passed struct {
	ID     uint64            `json:"id"`
	Save   bool              `json:"save,omitempty"`
	Closed bool              `json:"closed,omitempty"` // the breaker was
	Change *collection.Event `json:"change,omitempty"`
	At     time.Time         `json:"at,omitzero"` // when the turn came
}

// passLasts is how long a guest on another machine may use a pass after its turn came. One
// that comes later, since a process or a network stood still, is given back: others
// may have left in its place.
const passLasts = 500 * time.Millisecond

// late reports whether a pass comes too late.
func (p *passed) late(at *clock) bool {
	return at != nil && p != nil && !p.At.IsZero() && time.Since(p.At) > passLasts
}

// A settled is a desk.Settled; see there.
type settled struct {
	desk.Settled

	Frozen  *stop `json:"frozen,omitempty"`
	Refused *stop `json:"refused,omitempty"`
	Next    *stop `json:"next,omitempty"`
}

func settledOf(s desk.Settled) *settled {
	w := &settled{s, stopOf(s.Frozen), stopOf(s.Refused), stopOf(s.Next)}
	w.Settled.Frozen, w.Settled.Refused, w.Settled.Next = nil, nil, nil
	return w
}

func (w *settled) back() desk.Settled {
	s := w.Settled
	s.Frozen, s.Refused, s.Next = w.Frozen.back(), w.Refused.back(), w.Next.back()
	return s
}

// A stop is a *collection.Stop without the error that led to it.
type stop struct {
	Reason    collection.Reason `json:"reason"`
	NotBefore time.Time         `json:"not_before,omitzero"`
	Detail    string            `json:"detail,omitempty"`
	Status    int               `json:"status,omitempty"`
}

func stopOf(s *collection.Stop) *stop {
	if s == nil {
		return nil
	}
	return &stop{s.Reason, s.NotBefore, s.Detail, s.Status}
}

func (s *stop) back() *collection.Stop {
	if s == nil {
		return nil
	}
	return &collection.Stop{Reason: s.Reason, NotBefore: s.NotBefore, Detail: s.Detail, Status: s.Status}
}

// How long a leader may be silent. A process that lives answers in
// milliseconds; one that was stopped never does.
const (
	beatEvery  = 500 * time.Millisecond
	beatLonger = 3 * time.Second
	lookEvery  = 20 * time.Millisecond // for a leader that has begun to lead
)

// A line sends values of JSON, one after the other. It is safe for concurrent
// use.
type line struct {
	conn  net.Conn
	clock *clock // whose times are sent; nil: both ends have one
	mu    sync.Mutex
	out   *json.Encoder
}

func newLine(conn net.Conn, at *clock) *line {
	return &line{conn: conn, clock: at, out: json.NewEncoder(conn)}
}

// A message is a call or a reply.
type message interface{ out(*clock) any }

func (c call) out(at *clock) any {
	c.State = at.stateOut(c.State)
	return at.out(c)
}

func (r reply) out(at *clock) any {
	r.State = at.stateOut(r.State)
	return at.out(r)
}

func (c call) in(at *clock) call {
	c.State = at.stateIn(c.State)
	return at.in(c).(call)
}

func (r reply) in(at *clock) reply {
	r.State = at.stateIn(r.State)
	return at.in(r).(reply)
}

// send sends m. Who does not read for so long that it cannot be sent is gone.
func (l *line) send(m message) error {
	v := m.out(l.clock)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.conn.SetWriteDeadline(time.Now().Add(beatLonger)); err != nil {
		return err
	}
	return l.out.Encode(v)
}
