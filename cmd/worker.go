package cmd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/collection"
	"collect/engine"
	"collect/engine/storage"
	"collect/fleet"
	"collect/internal/jsonout"
	"collect/internal/process"
	"collect/report/problem"
	"collect/store"
)

// workerOptions are the flags of worker.
type workerOptions struct {
	turn   time.Duration
	atMost int
	create bool
}

func (a *app) workerCommand() *cobra.Command {
	var o workerOptions
	c := &cobra.Command{
		Use:   "worker",
		Short: "Take turns of the connectors, beside workers on other machines",
		Long: `Worker collects what is enqueued or due by a schedule, in turns: a turn is a run
of one connector that ends after --turn, so that others have theirs. It runs until
it is stopped, beside any number of workers that have the same Postgres database
as --state. Each machine has the same collect.yaml and the same secrets; a turn of
a connector that a worker does not have is left to others.

SIGTERM, or Ctrl-C, ends it in order: the pages in flight are saved, other workers
go on with the rest, and the exit code is 0. A second signal stops at once; what
was not saved is fetched again. A worker that dies needs nobody: others take its
turns over.`,
		Args:        exactArgs(),
		Annotations: map[string]string{ownSignals: ""},
		RunE: func(c *cobra.Command, _ []string) error {
			return a.worker(c.Context(), o)
		},
	}
	flags := c.Flags()
	o.turn = fleet.Duration
	flags.Var((*config.DurationFlag)(&o.turn), "turn", "a turn ends after this `duration`; a request in flight is finished first")
	flags.IntVar(&o.atMost, "at-most", fleet.AtMost, "take `n` turns side by side at most")
	flags.BoolVar(&o.create, "create", false, "make the tables in the database that --state, COLLECT_STATE or a file names")
	return c
}

// maxTurns bounds the turns side by side of one worker.
const maxTurns = 64

// workerGarbage is how much garbage a worker lets grow before it is collected, in percent of what it
// uses: a page leaves more than that is, and a fifth of the time went to collecting it. memoryTarget bounds it.
const workerGarbage = 400

func (a *app) worker(ctx context.Context, o workerOptions) error {
	if o.atMost < 1 || o.atMost > maxTurns {
		return problem.Usage("--at-most: %d is not between 1 and %d", o.atMost, maxTurns)
	}
	if o.turn < time.Second {
		return problem.Usage("--turn: %v is less than a second", o.turn)
	}
	if a.env("GOGC") == "" {
		debug.SetGCPercent(workerGarbage)
	}
	settings, err := a.fleetSettings("collect worker")
	if err != nil {
		return err
	}
	sc := problem.Scene{State: settings.State}
	db, f, err := openFleet(ctx, settings, o.create)
	if err != nil {
		return a.exit(err, sc)
	}
	defer db.Close()
	defer f.Close()
	settings.Remembered = engine.Remembered(db)
	run := runOptions{mode: collection.Resume, lane: string(collection.Incremental), maxRequests: settings.MaxRequests, maxTime: settings.MaxTime}
	version, _, _ := build()
	t := &workerTeller{app: a, style: live.StyleOf(a.env, a.err), settings: settings, name: settings.State}
	w, err := fleet.NewWorker(f, fleet.Config{
		Registry: &settings.Registry, Each: a.runConfig(run, settings, db), Turn: o.turn, AtMost: o.atMost,
		Holder: process.This(), Version: version, Say: func(e fleet.Event) { t.tell(context.WithoutCancel(ctx), e) },
	})
	if err != nil {
		return err
	}
	a.interrupts.gentle(func(os.Signal) { w.Drain() }, nil)
	if err := w.Do(ctx); err != nil {
		return a.exit(err, sc)
	}
	return nil
}

// openFleet opens the database of a fleet, and the fleet beside it.
func openFleet(ctx context.Context, s config.Settings, create bool) (db store.Store, f *fleet.Fleet, err error) {
	if db, _, err = openForRun(ctx, s, create); err != nil {
		return nil, nil, err
	}
	if f, err = fleet.Open(ctx, s.State); err != nil {
		_ = db.Close() // nothing was done with it
		return nil, nil, err
	}
	return db, f, nil
}

// fleetSettings returns the configuration, if its state is one that machines can share.
func (a *app) fleetSettings(command string) (config.Settings, error) {
	settings, err := a.settings()
	if err != nil {
		return settings, err
	}
	if storage.IsFile(settings.State) {
		return settings, problem.Usage("%s: the state is a file, which belongs to one machine; workers share a Postgres database: --state postgres://USER@HOST/DATABASE", command)
	}
	return settings, nil
}

// A workerTeller tells what happens to a worker: lines for people, or JSON, and
// messages to those whom `notify:` names.
type workerTeller struct {
	*app
	style    live.Style
	settings config.Settings
	name     string // of the store, without what is secret

	mu sync.Mutex
}

// A workerLine is an event of a worker as JSON.
type workerLine struct {
	At        jsonout.Time    `json:"at"`
	Event     fleet.EventKind `json:"event"`
	Worker    string          `json:"worker"`
	Connector *string         `json:"connector"`
	Run       *string         `json:"run_id"`
	Outcome   *string         `json:"outcome"`
	Reason    *string         `json:"reason"`
	Records   int64           `json:"records"`
	Requests  int64           `json:"requests"`
	NextAt    jsonout.Time    `json:"next_at"` // when its next turn is due
	Error     *string         `json:"error"`
}

func (t *workerTeller) tell(ctx context.Context, e fleet.Event) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	why := ""
	if e.Err != nil {
		why = problem.Of(e.Err, problem.Scene{Connector: e.Connector, State: t.settings.State, Now: now}).Headline
	}
	if t.flags.json {
		jsonout.Line(t.out, workerLine{jsonout.Time(now), e.Kind, e.Worker, jsonout.Text(e.Connector), jsonout.Text(e.Run.ID),
			jsonout.Text(string(e.Run.Outcome)), jsonout.Text(string(e.Run.Reason)), e.Run.Tally.Records, e.Run.Tally.Requests, jsonout.Time(e.Next), jsonout.Text(why)})
	} else {
		fmt.Fprintln(t.err, t.line(now, e, why))
	}
	if e.Ran != nil && e.Ended != nil {
		h := t.audience(runOptions{command: "collect worker"})
		h.knows(t.settings)
		h.ran(e.Connector, e.Ran.Hear(*e.Ended))
		_ = h.end(ctx, exitWith(e.Run.ExitCode)) // it says itself what it could not tell
	}
}

// line returns the line of an event.
func (t *workerTeller) line(now time.Time, e fleet.Event, why string) string {
	grade, subject := live.Info, e.Connector
	if subject == "" {
		subject = "worker"
	}
	pairs := []string{"error", why}
	if e.Err != nil {
		grade = live.Warning
	}
	switch e.Kind {
	case fleet.WorkerStarted:
		pairs = append(pairs, "id", e.Worker, "state", t.name)
	case fleet.TurnEnded:
		next := "none"
		if !e.Next.IsZero() {
			next = "now"
			if e.Next.After(now) {
				next = e.Next.UTC().Format(time.RFC3339)
			}
		}
		if e.Run.ID != "" {
			pairs = append(pairs, "run", e.Run.ID, "outcome", string(e.Run.Outcome), "reason", string(e.Run.Reason),
				"records", strconv.FormatInt(e.Run.Tally.Records, 10), "requests", strconv.FormatInt(e.Run.Tally.Requests, 10), "next_turn", next)
		}
	}
	return live.Note(now, t.style, grade, subject, string(e.Kind), pairs...)
}
