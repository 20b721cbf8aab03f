package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// A budgetOrder lowers a budget of the account that the newest run of a connector used,
// or gives it back.
type budgetOrder struct {
	server    *Server
	connector string
	per       time.Duration
	to, lasts string // as typed
	release   bool
}

func settingBudget(s *Server, v url.Values) (order, bool) {
	per, err := engine.ParseWindow(v.Get("per"))
	return budgetOrder{s, v.Get("connector"), per, strings.TrimSpace(v.Get("to")), v.Get("for"), false}, err == nil && v.Get("connector") != ""
}

func releasingBudget(s *Server, v url.Values) (order, bool) {
	per, err := engine.ParseWindow(v.Get("per"))
	return budgetOrder{s, v.Get("connector"), per, "", "", true}, err == nil && v.Get("connector") != ""
}

// lasting are the times for which an order may hold, "" being until it is released.
var lastings = []option{{"", "until it is released"}, {"1h0m0s", "1 hour"}, {"4h0m0s", "4 hours"}, {"24h0m0s", "1 day"}, {"168h0m0s", "7 days"}}

// lastingField is the choice of one of them.
func lastingField(typed string) field {
	return field{Name: "for", Label: "For how long", Value: typed, Options: lastings}
}

// forFlag says a time of lasting as the commands take it: --for 1h.
func forFlag(typed string) string {
	if d := lasts(typed); d > 0 {
		return fmt.Sprintf("--for %dh", int(d.Hours()))
	}
	return ""
}

// lasts returns a time of lasting; 0 for one that is none of them.
func lasts(typed string) time.Duration {
	for _, o := range lastings {
		if o.Value == typed && typed != "" {
			d, _ := time.ParseDuration(typed)
			return d
		}
	}
	return 0
}

// order returns the order as it is to be given now.
func (o budgetOrder) order(ctx context.Context, db store.Reader, now time.Time) (engine.AccountOrder, error) {
	if o.release {
		return engine.ReleaseBudget(o.per), nil
	}
	edit, err := engine.ParseBudget(o.to + "/" + report.WindowWords(o.per))
	if err != nil {
		return engine.AccountOrder{}, err
	}
	edit.Lasts = lasts(o.lasts)
	return o.server.Meeting.SetBudget(ctx, db, o.connector, edit, now)
}

func (o budgetOrder) review(ctx context.Context, l lookup) (r review, err error) {
	if err := l.known(ctx, o.connector); err != nil {
		return r, err
	}
	all, err := o.server.Meeting.Budgets(ctx, l.db, o.connector, l.now)
	if err != nil {
		return r, err
	}
	for _, b := range all {
		if b.Window != o.per {
			continue
		}
		r.Unexplained = true
		if !o.release {
			unit := words.Span(o.per)
			r.Fields = []field{
				{Name: "to", Label: "Requests in " + unit, Value: o.to, Hint: "allowed: " + b.LeastWords() + " to " + b.DeclaredWords() + "; now: " + b.InForce()},
				lastingField(o.lasts),
			}
		}
		r.Adds = strings.Join(strings.Fields(o.to+"/"+report.WindowWords(o.per)+" "+forFlag(o.lasts)), " ")
		if o.release {
			r.Adds = report.WindowWords(o.per)
		}
		r.Stands = fmt.Sprint(b.Declared, b.Least)
		if b.Lowered != nil {
			r.Stands += fmt.Sprint(b.Lowered.Count, b.Lowered.At.UnixMicro())
		} else if o.release {
			r.Idle = fmt.Sprintf(engine.ReleaseBudget(o.per).Idle, b.Provider)
		}
		if o.to == "" && !o.release {
			return r, nil
		}
		made, err := o.order(ctx, l.db, l.now)
		if outside, ok := errors.AsType[*problem.OutsideError](err); ok {
			r.Fields[0].Wrong = outside.Bounds()
			return r, nil
		}
		if usage, ok := errors.AsType[*problem.UsageError](err); ok {
			r.Fields[0].Wrong = usage.Message
			return r, nil
		}
		r.Means = fmt.Sprintf(cmp.Or(made.Means, "%s"), b.Provider)
		return r, err
	}
	r.Idle = "There is no such budget of " + words.Clean(o.connector) + ": its files declare none."
	return r, nil
}

func (o budgetOrder) give(ctx context.Context, db store.Store, audit store.Audit) (string, error) {
	made, err := o.order(ctx, db, o.server.Now())
	if err != nil {
		return "", err
	}
	return accountOrder{made, o.server, o.connector, nil}.give(ctx, db, audit)
}
