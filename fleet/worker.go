package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/report/problem"
)

// The defaults of a [Config].
const (
	Duration = 30 * time.Second // of a turn: long beside what it costs to begin one, and short beside what others wait for
	AtMost   = 2                // turns side by side
)

// Times of a worker.
const (
	beatEvery = 5 * time.Second
	gone      = 30 * time.Second // after its last beat a worker is dead: as long as a lease lasts
	lostAfter = 10 * time.Second // after it was given to a worker, and the beats do not have it, a turn is lost

	heldFor    = 5 * time.Second  // until a connector is tried again that another run has
	lackedFor  = 10 * time.Second // until a worker tries a turn again that it cannot do
	againAfter = time.Minute      // until a connector goes on that gives no time
	idleFor    = 5 * time.Second  // until a turn that sent nothing, and gives no time, is followed
)

// clockMargin is how far the clock of a machine may be off the server's. Silence that a
// provider asks for is kept by the clocks of the machines; Retry-After is in whole seconds
// (RFC 9110, section 10.2.3).
const clockMargin = time.Second

// A Config says what a worker works with.
type Config struct {
	Address  string // of the store
	Registry *registry.Registry
	Each     engine.Config // of every turn; Target, Begun and Observers are of each
	Turn     time.Duration // 0: [Duration]
	AtMost   int           // 0: [AtMost]
	Holder   collection.Holder
	Version  string // of collect

	Beat time.Duration // 0: 5 s

	// Say is told what happens, by several goroutines.
	Say func(Event)
}

// A Worker takes turns until it is told to stop.
type Worker struct {
	Config
	fleet *Fleet
	id    string
	beats beats

	mayTake chan struct{} // has a value when there may be a turn to take
	drains  chan struct{} // is closed when the worker drains

	resolving sync.Mutex // resolving a name may run a command for a secret

	mu       sync.Mutex
	hand     map[int64]*engine.Run // by turn; nil until it begins
	draining bool
	said     map[string]bool
	lacks    map[string]Lack // by connector that it left to others
}

// NewWorker makes a worker of a fleet, which stays the caller's.
func NewWorker(f *Fleet, c Config) (*Worker, error) {
	if c.Turn == 0 {
		c.Turn = Duration
	}
	if c.AtMost == 0 {
		c.AtMost = AtMost
	}
	if c.Beat == 0 {
		c.Beat = beatEvery
	}
	shared := *c.Registry
	shared.Shared = f.pool
	c.Registry = &shared
	w := &Worker{Config: c, fleet: f, mayTake: make(chan struct{}, 1), drains: make(chan struct{}), hand: map[int64]*engine.Run{}, said: map[string]bool{}, lacks: map[string]Lack{}}
	w.id = fmt.Sprintf("%s-%d-%s", c.Holder.Host, c.Holder.PID, rand.Text()[:6])
	return w, nil
}

// Name returns what the worker is called in the database.
func (w *Worker) Name() string { return w.id }

// Do takes turns until ctx ends, or [Worker.Drain] is called and all turns are over. It returns
// [problem.ErrUpgraded] if a newer version changed the tables, and a [*problem.ClockError] if the clock
// of this machine is off.
func (w *Worker) Do(ctx context.Context) error {
	if err := w.beat(ctx); err != nil { // before it takes a turn
		return w.fleet.pool.Classify(err)
	}
	defer w.leave(context.WithoutCancel(ctx))
	w.Say(Event{Kind: WorkerStarted, Worker: w.id})
	w.look()
	beating, over := context.WithCancel(ctx)
	defer over()
	var turns sync.WaitGroup
	turns.Go(func() {
		w.takeTurns(ctx)
		over()
	})
	ended := w.goOn(beating)
	if ended != nil {
		w.Drain()
	}
	turns.Wait()
	w.Say(Event{Kind: WorkerEnded, Worker: w.id})
	if ended != nil {
		return ended
	}
	return context.Cause(ctx)
}

// goOn beats until ctx ends: all turns are over. An error is one that the worker cannot go on after.
func (w *Worker) goOn(ctx context.Context) error {
	failed := false
	for next := time.Now().Add(w.Beat); ; {
		if w.hear(ctx, next) {
			w.look()
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		next = time.Now().Add(w.Beat)
		err := w.beat(context.WithoutCancel(ctx)) // a cancelled beat could put the worker on the list again after leave
		_, clock := errors.AsType[*problem.ClockError](err)
		switch {
		case err == nil:
			if failed {
				w.Say(Event{Kind: BeatRecovered, Worker: w.id})
			}
			failed = false
		case clock || errors.Is(err, problem.ErrUpgraded):
			return err
		case !failed && ctx.Err() == nil:
			failed = true
			w.Say(Event{Kind: BeatFailed, Worker: w.id, Err: w.fleet.pool.Classify(err)})
		}
	}
}

// hear waits until the server calls, which it reports, or until a beat is due: at a time, or
// at once if the session ended.
func (w *Worker) hear(ctx context.Context, until time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if w.beats.ask == nil { // the beat before failed
		<-ctx.Done()
		return false
	}
	err := w.beats.wait(ctx)
	if err != nil && ctx.Err() == nil {
		w.release()
	}
	return err == nil
}

// look lets the worker look for turns to take.
func (w *Worker) look() {
	select {
	case w.mayTake <- struct{}{}:
	default: // it is to look already
	}
}

// Drain ends the turns with what is in flight, as a hand-off to others, and takes no more.
func (w *Worker) Drain() {
	w.mu.Lock()
	again := w.draining
	w.draining = true
	for _, run := range w.hand {
		if run != nil {
			run.HandOver()
		}
	}
	w.mu.Unlock()
	if !again {
		w.Say(Event{Kind: WorkerDrains, Worker: w.id})
		close(w.drains)
	}
}

// free returns how many turns more the worker may have in hand.
func (w *Worker) free() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.AtMost - len(w.hand)
}

// take notes that a turn is at work, and reports whether the worker is to end.
func (w *Worker) take(id int64, run *engine.Run) (draining bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hand[id] = run
	return w.draining
}

func (w *Worker) drop(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.hand, id)
}

// turns returns the turns that the worker has in hand.
func (w *Worker) turns() (all []int64, draining bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = []int64{}
	for id := range w.hand {
		all = append(all, id)
	}
	slices.Sort(all)
	return all, w.draining
}

// lacking returns the connectors whose turns the worker leaves to others at a time.
func (w *Worker) lacking(now time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []string{}
	for connector, lack := range w.lacks {
		if now.Before(lack.Until) {
			all = append(all, connector)
		}
	}
	return all
}

// lacked returns what a beat says that the worker lacks. It is kept for two beats after it is to be tried
// again: that a worker tries is no news for who looks at the fleet, and a beat is what lets it try.
func (w *Worker) lacked(now time.Time) map[string]Lack {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.lacks, func(_ string, lack Lack) bool { return !now.Before(lack.Until.Add(2 * w.Beat)) })
	return maps.Clone(w.lacks)
}

// sayOnce says what is so of a connector until it is otherwise.
func (w *Worker) sayOnce(e Event) {
	key := e.Connector + "\n" + e.Err.Error()
	w.mu.Lock()
	again := w.said[key]
	w.said[key] = true
	w.mu.Unlock()
	if !again {
		w.Say(e)
	}
}

// leave takes the worker out of the list.
func (w *Worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a busy server takes more than one
	defer cancel()
	_, _ = w.fleet.pool.Exec(ctx, `DELETE FROM fleet_workers WHERE id = $1`, w.id) // else the beats of others do
	w.release()
}
