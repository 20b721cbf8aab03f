package runner

import (
	"context"
	"time"

	"collect/collection"
)

// signed returns e with what every event of this run carries.
func (r *Runner) signed(e collection.Event) collection.Event {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Run, e.Connector = r.Run.ID, r.Run.Connector
	if e.Provider == "" {
		provider := r.Connector.Provider()
		e.Provider = provider.ThirdParty()
	}
	return e
}

// observe tells who watches. Events that must survive are written by the
// ledger, in the transaction of what they tell.
func (r *Runner) observe(e collection.Event) {
	r.observeWait(e)
	if r.Observe != nil {
		r.Observe(r.signed(e))
	}
}

// observeWait notes the wait that is under way, for those who look at the run
// from outside.
func (r *Runner) observeWait(e collection.Event) {
	if e.Kind != collection.WaitStarted && e.Kind != collection.WaitEnded {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait = nil; e.Kind == collection.WaitStarted {
		r.wait = e.Wait
	}
}

func (r *Runner) waiting() *collection.WaitInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wait
}

// mostWarnings bounds the warnings of one kind in a stream: thousands of pages
// may all be as odd as the first. One without a code is told once.
const mostWarnings = 10

// warn tells of something that costs no record and that a person may want to
// know.
func (r *Runner) warn(at collection.Place, warning collection.Warning) {
	kind := warningKind{at.Stream, warning.Code}
	r.mu.Lock()
	r.warned[kind]++
	told := r.warned[kind]
	r.mu.Unlock()
	if told > mostWarnings || told > 1 && warning.Code == "" {
		return
	}
	r.observe(collection.Event{
		Kind: collection.WarningRaised, Stream: at.Stream, Partition: at.Partition, Lane: at.Lane,
		Code: warning.Code, Message: warning.Text,
	})
}

type warningKind struct {
	stream string
	code   collection.WarningCode
}

// saving returns what stores the state of a pacing domain.
func (r *Runner) saving(domain string) func(ctx context.Context, state []byte, events ...collection.Event) error {
	return func(ctx context.Context, state []byte, events ...collection.Event) error {
		for i := range events {
			events[i] = r.signed(events[i])
		}
		return r.Ledger.SaveProvider(context.WithoutCancel(ctx), domain, state, events...)
	}
}
