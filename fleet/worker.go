package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/report/problem"
	"collect/store"
	"collect/store/postgres"
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
	pollEvery = 10 * time.Second // asked for turns at least; the server says when there are
	fetchGap  = 5 * time.Millisecond
	lostAfter = 10 * time.Second // after it was given to a worker, and the beats do not have it, a turn is lost

	heldFor    = 5 * time.Second  // until a connector is tried again that another run has
	lackedFor  = 10 * time.Second // until a turn is offered again that this worker cannot do
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
	fleet  *Fleet
	id     string
	client *river.Client[postgres.Tx]
	beats  beats

	resolving sync.Mutex // resolving a name may run a command for a secret

	mu       sync.Mutex
	hand     map[int64]*engine.Run // by job; nil until it begins
	started  bool
	draining bool
	said     map[string]bool
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
	w := &Worker{Config: c, fleet: f, hand: map[int64]*engine.Run{}, said: map[string]bool{}}
	w.id = fmt.Sprintf("%s-%d-%s", c.Holder.Host, c.Holder.PID, rand.Text()[:6])
	workers := river.NewWorkers()
	river.AddWorker(workers, &turns{of: w})
	var err error
	w.client, err = river.NewClient(riverpgxv5.New(f.pool.Pool), &river.Config{
		ID: w.id, Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.AtMost}},
		JobTimeout: -1, RescueStuckJobsAfter: 24 * time.Hour, // a turn ends itself, and beats find those that cannot
		FetchCooldown: fetchGap, FetchPollInterval: pollEvery,
		RetryPolicy: soon{}, CompletedJobRetentionPeriod: time.Hour, CancelledJobRetentionPeriod: time.Hour,
		Logger: slog.New(slog.DiscardHandler), // what it meets, the beats meet, too
	})
	return w, err
}

// Name returns what the worker is called in the database.
func (w *Worker) Name() string { return w.id }

// Do takes turns until ctx ends, or [Worker.Drain] is called and all turns are over. It returns
// store.ErrNewer if a newer version changed the tables, and a [*problem.ClockError] if the clock
// of this machine is off.
func (w *Worker) Do(ctx context.Context) error {
	if err := w.beat(ctx); err != nil { // before it takes a turn
		return w.fleet.pool.Classify(err)
	}
	defer w.leave(context.WithoutCancel(ctx))
	if err := w.client.Start(ctx); err != nil {
		return w.fleet.pool.Classify(err)
	}
	w.mu.Lock()
	w.started = true
	early := w.draining
	w.mu.Unlock()
	w.Say(Event{Kind: WorkerStarted, Worker: w.id})
	if early {
		w.stop()
	}
	ended := w.goOn(ctx)
	if ended != nil {
		w.Drain()
	}
	<-w.client.Stopped()
	w.Say(Event{Kind: WorkerEnded, Worker: w.id})
	if ended != nil {
		return ended
	}
	return context.Cause(ctx)
}

// goOn beats until all turns are over. An error is one that the worker cannot go on after.
func (w *Worker) goOn(ctx context.Context) error {
	tick := time.NewTicker(w.Beat)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-w.client.Stopped():
			return nil
		case <-ctx.Done():
			return nil // River hears of it, too
		case <-tick.C:
		}
		err := w.beat(ctx)
		_, clock := errors.AsType[*problem.ClockError](err)
		switch {
		case err == nil:
			failed = false
		case clock || errors.Is(err, store.ErrNewer):
			return err
		case !failed && ctx.Err() == nil:
			failed = true
			w.Say(Event{Kind: BeatFailed, Worker: w.id, Err: w.fleet.pool.Classify(err)})
		}
	}
}

// Drain ends the turns with what is in flight, as a hand-off to others, and takes no more.
func (w *Worker) Drain() {
	w.mu.Lock()
	again, started := w.draining, w.started
	w.draining = true
	for _, run := range w.hand {
		if run != nil {
			run.HandOver()
		}
	}
	w.mu.Unlock()
	if !again {
		w.Say(Event{Kind: WorkerDrains, Worker: w.id})
		if started { // else it stops as soon as it is: River can stop nothing before
			w.stop()
		}
	}
}

// stop lets River take no more turns, and end once those at work are over.
func (w *Worker) stop() {
	go func() { _ = w.client.Stop(context.Background()) }()
}

// take notes that a turn is at work, and reports whether the worker is to end.
func (w *Worker) take(job int64, run *engine.Run) (draining bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hand[job] = run
	return w.draining
}

func (w *Worker) drop(job int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.hand, job)
}

// jobs returns the turns that the worker has in hand.
func (w *Worker) jobs() (all []int64, draining bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = []int64{}
	for job := range w.hand {
		all = append(all, job)
	}
	slices.Sort(all)
	return all, w.draining
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
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = w.fleet.pool.Exec(ctx, `DELETE FROM fleet_workers WHERE id = $1`, w.id) // else the beats of others do
	w.release()
}
