package fleet

import (
	"time"

	"collect/collection"
	"collect/engine"
)

// An EventKind names what happened to a worker.
type EventKind string

// The kinds of events.
const (
	WorkerStarted EventKind = "worker.started"
	WorkerDrains  EventKind = "worker.drains"
	WorkerEnded   EventKind = "worker.ended"
	BeatFailed    EventKind = "beat.failed"    // the first of several: the server does not answer
	BeatRecovered EventKind = "beat.recovered" // the first one after them
	TurnBegun     EventKind = "turn.begun"
	TurnEnded     EventKind = "turn.ended"
	TurnLeft      EventKind = "turn.left"  // to another worker: this one cannot do it
	TurnGivenOut  EventKind = "turn.again" // of a worker that died
	ScheduleFired EventKind = "schedule.fired"
)

// An Event is what happened to a worker.
type Event struct {
	Kind      EventKind
	Worker    string
	Connector string
	Run       collection.Run     // of a turn that ended
	Ran       *engine.Run        // the run of a turn that ended; nil if it did not begin
	Ended     *engine.Conclusion // what there is to say of it
	Next      time.Time          // when the next turn is due, by a schedule perhaps; zero: none is needed
	Err       error
}
