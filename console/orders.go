package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"collect/engine"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// An orderKind is an order with its words: those of its command.
type orderKind struct {
	Name    string // of the page
	Button  string
	Danger  bool
	Command string // that does the same
	of      func(*Server, url.Values) (order, bool)
}

// orderKinds are the orders, by the last part of their address.
var orderKinds = map[string]orderKind{
	"breaker-open":    {"Force the breaker open", "Force open", true, "breaker open", lasting(engine.BreakerOpen)},
	"breaker-close":   {"Force the breaker closed", "Force closed", true, "breaker close", lasting(engine.BreakerClose)},
	"breaker-release": {"Let the breaker decide again", "Release", false, "breaker release", account(engine.BreakerRelease)},
	"budget-set":      {"Lower a budget", "Lower the budget", true, "budget set", settingBudget},
	"budget-release":  {"Release a budget", "Release", false, "budget release", releasingBudget},
	"freeze-on":       {"Freeze the provider", "Freeze", true, "freeze on", lasting(engine.FreezeOn)},
	"freeze-release":  {"Release the freeze", "Release", true, "freeze release", account(engine.FreezeRelease)},
	"gaps-retry":      {"Retry gaps", "Retry", false, "gaps retry", ofGaps(false)},
	"gaps-waive":      {"Waive gaps", "Waive", true, "gaps waive", ofGaps(true)},
	"pause":           {"Pause the connector", "Pause", false, "pause", pausing(true)},
	"unpause":         {"Let the connector run again", "Unpause", false, "unpause", pausing(false)},
}

// An accountOrder is an order on the account that the newest run of a connector used.
type accountOrder struct {
	engine.AccountOrder
	server    *Server
	connector string
	lasts     *string // for how long, as it was chosen; nil: it has no end
}

// lasting is an order that holds until a person ends it, or for a time.
func lasting(o func(time.Duration) engine.AccountOrder) func(*Server, url.Values) (order, bool) {
	return func(s *Server, v url.Values) (order, bool) {
		chosen := v.Get("for")
		return accountOrder{o(lasts(chosen)), s, v.Get("connector"), &chosen}, v.Get("connector") != ""
	}
}

func account(o engine.AccountOrder) func(*Server, url.Values) (order, bool) {
	return func(s *Server, v url.Values) (order, bool) {
		return accountOrder{o, s, v.Get("connector"), nil}, v.Get("connector") != ""
	}
}

func (o accountOrder) review(ctx context.Context, l lookup) (r review, err error) {
	if err := l.known(ctx, o.connector); err != nil {
		return r, err
	}
	all, err := o.server.Meeting.Statuses(ctx, l.db, o.connector, l.now)
	if err != nil || len(all) != 1 {
		return r, err
	}
	a := all[0].Account
	if a == nil {
		r.Idle = "Nothing is known of an account of " + words.Clean(o.connector) + " yet: no run used one."
		return r, nil
	}
	provider := words.Clean(a.Provider)
	r.Means = fmt.Sprintf(o.Means, provider)
	if o.lasts != nil {
		r.Fields, r.Adds = []field{lastingField(*o.lasts)}, forFlag(*o.lasts)
	}
	if o.What == engine.Thaws {
		r.Type = provider
	}
	if failures := a.Failure.Why; failures != "" && o.What == engine.ClosesBreaker {
		r.Means = "It was opened by: " + words.Clean(failures) + ". " + r.Means
	}
	if o.Refuse != nil {
		if why := o.Refuse(a.Pace); why != "" {
			r.Idle = fmt.Sprintf(why, provider)
		}
	}
	p := a.Pace
	r.Stands = fmt.Sprint(all[0].Newest().Domain, p.Breaker, p.Forced, p.ForcedSince.UnixMicro(), p.ForcedUntil.UnixMicro(), p.Frozen, p.FrozenUntil.UnixMicro(), p.FreezeReason)
	return r, nil
}

func (o accountOrder) give(ctx context.Context, db store.Store, audit store.Audit) (string, error) {
	given, err := o.server.Meeting.Prepare(ctx, db, o.connector, o.connector, audit, o.Order)
	if err != nil {
		return "", err
	}
	if !given.Changes {
		return fmt.Sprintf(o.Idle, given.Provider) + "; nothing was changed", nil
	}
	note, err := o.server.Meeting.CarryOut(ctx, db, given)
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf(o.Done, given.Provider, o.connector, o.server.Flags)
	if given.Heard() {
		said = "asked; a run uses the account, obeys before its next request, and notes it within 5 s. " + said
	}
	if note != nil {
		said += ". Runs with another database learn of it when " + words.Clean(o.connector) + " runs next: " + words.Cause(note)
	}
	return said, nil
}

// A gapOrder is an order on gaps of a connector that are named.
type gapOrder struct {
	engine.GapOrder
	server *Server
}

func ofGaps(waive bool) func(*Server, url.Values) (order, bool) {
	return func(s *Server, v url.Values) (order, bool) {
		o := gapOrder{engine.GapOrder{Connector: v.Get("connector"), Waive: waive, Flags: s.Flags, Now: s.Now()}, s}
		for _, name := range v["gap"] {
			id, err := strconv.ParseInt(strings.TrimPrefix(name, "g_"), 10, 64)
			if err != nil {
				return nil, false
			}
			o.Gaps = append(o.Gaps, id)
		}
		return o, o.Connector != "" && len(o.Gaps) > 0
	}
}

func (o gapOrder) review(ctx context.Context, l lookup) (r review, err error) {
	if err := l.known(ctx, o.Connector); err != nil {
		return r, err
	}
	owed, err := l.db.Gaps(ctx, "")
	if err != nil {
		return r, err
	}
	chosen, idle, err := o.Choose(owed)
	if usage, ok := errors.AsType[*problem.UsageError](err); ok {
		r.Idle = usage.Message
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if len(chosen) == 0 {
		r.Idle = idle
	}
	r.Means = o.Means(chosen)
	for _, g := range chosen {
		r.Stands += fmt.Sprint(g.ID, g.State, g.Attempts, g.Reason, g.Waiver.At.UnixMicro(), ";")
	}
	return r, nil
}

func (o gapOrder) give(ctx context.Context, db store.Store, audit store.Audit) (string, error) {
	owed, err := db.Gaps(ctx, o.Connector)
	if err != nil {
		return "", err
	}
	chosen, _, err := o.Choose(owed)
	if err != nil {
		return "", err
	}
	changed, err := o.CarryOut(ctx, db, audit, chosen)
	if err != nil {
		return "", err
	}
	if len(changed) == 0 {
		return "a run, or another order, came before this one; nothing was changed", nil
	}
	return o.Done(changed), nil
}

// A pauseOrder keeps the runs of a connector from beginning, or lets them begin again.
type pauseOrder struct {
	connector string
	on        bool
	server    *Server
}

func pausing(on bool) func(*Server, url.Values) (order, bool) {
	return func(s *Server, v url.Values) (order, bool) {
		return pauseOrder{v.Get("connector"), on, s}, v.Get("connector") != ""
	}
}

func (o pauseOrder) review(ctx context.Context, l lookup) (r review, err error) {
	if err := l.known(ctx, o.connector); err != nil {
		return r, err
	}
	pause, err := l.db.Paused(ctx, o.connector)
	if pause.At.IsZero() != o.on {
		r.Idle = engine.PauseWords(words.Clean(o.connector), o.server.Flags, o.on, false)
	}
	r.Means = "Its runs begin again, by hand and by schedule."
	if o.on {
		r.Means = "No run of it begins until you let it run again; one that is started says so and exits 0. A run that is on stops within 5 s, once what is in flight is stored."
	}
	r.Stands = fmt.Sprint(o.connector, pause.At.UnixMicro())
	return r, err
}

func (o pauseOrder) give(ctx context.Context, db store.Store, audit store.Audit) (string, error) {
	changed, err := db.Pause(ctx, o.connector, o.on, audit)
	return engine.PauseWords(words.Clean(o.connector), o.server.Flags, o.on, changed), err
}
