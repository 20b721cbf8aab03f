// Package verify reads the lists of a provider again and holds them against what
// is stored.
//
// It walks with the runner, so that pages, pace, budgets and refusals are those of
// a run, over a ledger in memory that compares and stores nothing. It takes no
// lease: a run may go on beside it, and a verification whose process dies leaves
// nothing behind. A difference is looked up in the store once more when the walk
// is over, so that what a run stored meanwhile is none.
package verify

import (
	"context"
	"errors"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/engine"
	"collect/engine/registry"
	"collect/internal/jsonout"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
	"collect/report"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// A Config says what to verify. Zero fields mean what their comments say.
type Config struct {
	Target      registry.Target
	Store       store.Reader
	Streams     []string      // none: those of the target
	Sample      int           // partitions that are read of a stream with a parent; 0: all
	MaxRequests int64         // 0: as many as it takes
	MaxTime     time.Duration // 0: as long as it takes
	Meeting     string        // the folder where the runs of this user share their pace; "": this one paces itself alone
}

// A Result is a verification with what a repair of it needs.
type Result struct {
	report.Verification
	Stops []runner.Stopped // what kept streams from being read whole, the first of each reason

	repairs []collection.Gap
}

// A verification is one pass over the streams of a connector.
type verification struct {
	Config
	provider collection.Provider
	began    time.Time
	budget   *pacing.Budget
	desk     *share.Desk
	domain   string
	learned  []byte
	owed     []store.OwnedGap
	result   Result
}

// Do compares the streams, parents before their children. Its error is one that
// kept it from beginning, or of the store.
func Do(ctx context.Context, c Config) (Result, error) {
	if err := engine.Comparable(ctx, c.Store, c.Target); err != nil {
		return Result{}, err
	}
	v := &verification{Config: c, provider: c.Target.Connector.Provider(), began: time.Now()}
	v.budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: c.MaxRequests, MaxTime: c.MaxTime})
	v.result.Connector, v.result.Began = c.Target.Name, jsonout.Time(v.began)
	streams, err := v.streams()
	if err != nil {
		return Result{}, err
	}
	if err := v.join(ctx); err != nil {
		return Result{}, err
	}
	if v.desk != nil {
		defer v.desk.Close()
	}
	states, err := c.Store.Streams(ctx, c.Target.Name)
	if err != nil {
		return Result{}, err
	}
	if v.owed, err = c.Store.Gaps(ctx, c.Target.Name); err != nil {
		return Result{}, err
	}
	var ended *collection.Stop // what ends the verification of all streams
	for _, stream := range streams {
		told := report.VerificationStream{Stream: stream.Name, Follows: stream.Sweeps}
		i := slices.IndexFunc(states, func(s store.StreamState) bool { return s.Name == stream.Name })
		switch {
		case ended != nil:
			told.Reason, told.Why = ended.Reason, "not read: "+problem.Brief(ended.Reason)
		case i < 0 || len(states[i].Lanes) == 0:
			told.Why = "not collected yet"
		default:
			told.Follows = told.Follows || states[i].Deleted > 0 // tombstones may come of what changed only
			if ended, err = v.stream(ctx, states[i], &told); err != nil {
				return Result{}, err
			}
		}
		v.result.Streams = append(v.result.Streams, told)
	}
	v.result.Requests = v.budget.Tally().Requests
	v.result.Exit = v.result.Verdict()
	return v.result, nil
}

// streams returns those to verify, parents before their children.
func (v *verification) streams() ([]collection.Stream, error) {
	all, names := v.Target.Connector.Streams(), v.Streams
	if len(names) == 0 {
		names = v.Target.Streams
	}
	if len(names) == 0 {
		return all, nil
	}
	unknown := &connectors.UnknownStreamError{}
	for _, s := range all {
		unknown.Known = append(unknown.Known, s.Name)
	}
	for _, unknown.Stream = range names {
		if !slices.Contains(unknown.Known, unknown.Stream) {
			return nil, unknown
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s collection.Stream) bool { return !slices.Contains(names, s.Name) }), nil
}

// join takes part in the account with the runs that use it, under all that is
// known of it.
func (v *verification) join(ctx context.Context) error {
	salt, err := v.Store.Salt(ctx)
	if err != nil {
		return err
	}
	// Of several accounts, with the first that needs no person.
	each := v.Target.Each()
	for i, one := range each {
		p := one.Connector.Provider()
		domain := pacing.DomainOf(p, salt)
		learned, err := v.Store.Provider(ctx, domain)
		if err != nil {
			return err
		}
		pace, _ := gate.Inspect(learned, v.began) // what cannot be read is a cold start
		usable := !pace.Frozen && pace.RejectedAt.IsZero()
		if i == 0 || usable {
			v.Target, v.provider, v.domain, v.learned = one, p, domain, learned
		}
		if usable {
			break
		}
	}
	v.desk, err = engine.Join(ctx, engine.Place{Dir: v.Meeting, Store: v.Store}, v.provider, share.Config{Known: v.learned}, func(collection.Event) {})
	return err
}

// stream verifies one stream. It returns the stop that ends all work with the
// provider; nil if the next stream can be asked for.
func (v *verification) stream(ctx context.Context, state store.StreamState, told *report.VerificationStream) (*collection.Stop, error) {
	l, err := v.open(ctx, state)
	if err != nil {
		return nil, err
	}
	met, err := v.walk(ctx, l, state.Name)
	if err != nil || met != nil {
		return met, errors.Join(err, v.tell(ctx, l, told))
	}
	if resumer, ok := v.Target.Connector.(connectors.Resumer); ok && l.looksForChanges() && resumer.Resumes(state.Name) {
		if met, err = v.walk(ctx, l.fromToken(), state.Name); err != nil {
			return nil, err
		}
	}
	return met, v.tell(ctx, l, told)
}

// walk walks a stream over a ledger. It returns the stop that ends all work with the
// provider; nil if the next stream can be asked for.
func (v *verification) walk(ctx context.Context, l *ledger, stream string) (*collection.Stop, error) {
	c := runner.Config{
		Connector: v.Target.Connector, Ledger: l, Streams: []string{stream}, Budget: v.budget, Domain: v.domain, Learned: v.learned,
		Run:     collection.Run{ID: "verify", Connector: v.Target.Name, Mode: collection.Forward, Lane: l.at.Lane},
		Observe: l.observe,
	}
	if v.desk != nil {
		c.Desk = v.desk
	}
	work, err := runner.New(c)
	if err != nil {
		return nil, err
	}
	run, err := work.Do(ctx)
	if err != nil {
		return nil, err
	}
	v.learned = l.learned
	v.result.Stops = append(v.result.Stops, work.Stops()...)
	if run.Reason == "" {
		return nil, nil
	}
	for _, met := range work.Stops() {
		if met.Stop.Reason == run.Reason {
			return met.Stop, nil
		}
	}
	return &collection.Stop{Reason: run.Reason}, nil
}
