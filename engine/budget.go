package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// leastShare is the lowest share of a ceiling that an operator may allow, where the
// clamp of the provider says nothing else: what the clamp itself goes down to.
const leastShare = 0.5

// A BudgetEdit is what an operator wants to allow of a budget.
type BudgetEdit struct {
	Per   time.Duration // the window of the budget
	To    float64       // requests in it
	Lasts time.Duration // 0: until it is released
}

var budgetUnits = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour, "day": 24 * time.Hour, "d": 24 * time.Hour}

// ParseBudget reads a budget as a person writes it: 3/s, 600/min, 20000/day, 100/15m.
// The error is a *problem.UsageError.
func ParseBudget(text string) (e BudgetEdit, err error) {
	count, unit, _ := strings.Cut(strings.TrimSpace(text), "/")
	if e.Per, err = ParseWindow(unit); err == nil {
		e.To, err = strconv.ParseFloat(strings.ReplaceAll(count, ",", ""), 64)
	}
	if err != nil || !(e.To > 0 && e.To <= math.MaxInt32) {
		return e, problem.Usage("%q is not a budget such as 3/s, 600/min, 500/h, 20000/day or 100/15m", text)
	}
	return e, nil
}

// ParseWindow reads the window of a budget: s, min, h, day, 15m. The error is a
// *problem.UsageError.
func ParseWindow(text string) (time.Duration, error) {
	if per, ok := budgetUnits[text]; ok {
		return per, nil
	}
	per, err := time.ParseDuration(text)
	if err != nil || per <= 0 {
		return 0, problem.Usage("%q is not the window of a budget, such as s, min, h, day or 15m", text)
	}
	return per, nil
}

// Budgets returns the budgets of the account that a connector uses: what its files
// allow, what operators make of that, and what is used, if that is known.
func (m Meeting) Budgets(ctx context.Context, db store.Reader, name string, now time.Time) ([]report.Budget, error) {
	m = m.Reading(db)
	_, spec, err := m.Registry.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := m.Statuses(ctx, db, name, now)
	if err != nil {
		return nil, err
	}
	provider := spec.Provider(m.Registry.Overrides(spec.ProviderName()))
	share := cmp.Or(provider.Clamp.Least, leastShare)
	var budgets []report.Budget
	for _, allowed := range m.allowed(ctx, name) {
		b := report.Budget{Name: string(gate.CeilingOf), Provider: words.Clean(spec.ProviderName()), Count: allowed.Count, Window: allowed.Per,
			Declared: float64(allowed.Count), Least: max(1, math.Ceil(share*float64(allowed.Count))), Origin: allowed.Origin}
		if isPace(allowed.Per) {
			b.Least = share * b.Declared
		}
		if i := slices.IndexFunc(budgets, func(o report.Budget) bool { return o.Window == b.Window }); i < 0 {
			budgets = append(budgets, b)
		} else if budgets[i].Declared > b.Declared {
			budgets[i] = b
		}
	}
	slices.SortFunc(budgets, func(a, b report.Budget) int { return cmp.Compare(a.Window, b.Window) })
	for i := range budgets {
		for _, known := range all[0].Account.Budgets() {
			if known.Name == budgets[i].Name && known.Window == budgets[i].Window {
				budgets[i].Use(known)
			}
		}
	}
	return budgets, nil
}

// isPace reports whether a ceiling with a window bounds the pace, so that it need not be a
// whole number of requests.
func isPace(window time.Duration) bool {
	return (&gate.Lowered{Per: window, Count: 1}).PerSecond() > 0
}

// budget returns the budget of a connector with a window; its error says which there are.
func (m Meeting) budget(ctx context.Context, db store.Reader, name string, per time.Duration, now time.Time) (report.Budget, error) {
	all, err := m.Budgets(ctx, db, name, now)
	if err != nil {
		return report.Budget{}, err
	}
	var are []string
	for _, b := range all {
		if b.Window == per {
			return b, nil
		}
		are = append(are, b.DeclaredWords())
	}
	if len(are) == 0 {
		return report.Budget{}, problem.Usage("no ceiling is declared for %s, so there is no budget to edit; first: `ceiling_per_second: N` or `requests_per_day: N` under `providers:` in collect.yaml", words.Clean(name))
	}
	return report.Budget{}, problem.Usage("no budget of %s is counted in %s; it has: %s", words.Clean(name), words.Span(per), strings.Join(are, ", "))
}

// SetBudget returns the order that makes e of the budgets of a connector. Its error is
// a *problem.OutsideError if the files allow less, or not so little.
func (m Meeting) SetBudget(ctx context.Context, db store.Reader, name string, e BudgetEdit, now time.Time) (AccountOrder, error) {
	was, err := m.budget(ctx, db, name, e.Per, now)
	if err != nil {
		return AccountOrder{}, err
	}
	broken := !isPace(e.Per) && e.To != math.Trunc(e.To)
	if broken || e.To < was.Least || e.To > was.Declared {
		return AccountOrder{}, &problem.OutsideError{What: was.Provider + ": " + was.With(e.To), Least: was.LeastWords(), Most: was.DeclaredWords(), Origin: was.Origin}
	}
	until := time.Time{}
	ends := "Until you release it"
	if e.Lasts > 0 {
		until = now.Add(e.Lasts)
		ends = "Until " + words.At(until, now)
	}
	to := was.With(e.To)
	return AccountOrder{
		What:    LowersBudget,
		Command: "budget set",
		Means:   fmt.Sprintf("%s, all calls to %%s by this account may use %s, and no longer %s.%s", ends, to, was.InForce(), m.usedUp(ctx, db, name, was, e.To, now)),
		Done:    fmt.Sprintf("lowered: %%[1]s may be asked %s. To end it: collect budget release %%[2]s %s%%[3]s --reason WHY", to, report.WindowWords(e.Per)),
		Idle:    "the budget of %s is " + to + " already, for as long",
		Order: Order{Apply: func(state []byte, now time.Time, note string) ([]byte, []collection.Event, error) {
			return gate.LowerCeiling(state, now, gate.Lowered{Per: e.Per, Count: e.To, Note: note, Until: until})
		}},
	}, nil
}

// usedUp says when a budget will be used up at the pace of now; "" if that is not before
// it begins anew, or is not known.
func (m Meeting) usedUp(ctx context.Context, db store.Reader, name string, b report.Budget, to float64, now time.Time) string {
	all, err := m.Statuses(ctx, db, name, now)
	if err != nil || !b.Measured || isPace(b.Window) || all[0].Account == nil || all[0].Account.Learned <= 0 {
		return ""
	}
	left := to - float64(b.Used)
	if left <= 0 {
		return " That is used up already: requests go on as those of the last " + words.Span(b.Window) + " drop out of the count."
	}
	in := time.Duration(left / all[0].Account.Learned * float64(time.Second))
	if in >= b.Window {
		return ""
	}
	return " At the pace that was learned, a run reaches it at " + words.At(now.Add(in), now) + "."
}

// ReleaseBudget returns the order that gives back all that the files allow of a budget.
func ReleaseBudget(per time.Duration) AccountOrder {
	return AccountOrder{
		What:    ReleasesBudget,
		Command: "budget release",
		Means:   "This lets requests to %s use all of the ceiling again that is declared.",
		Done:    "released: requests to %[1]s may use all of the ceiling again that is declared",
		Idle:    "no operator lowered this budget of %s",
		Order: Order{Apply: func(state []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
			return gate.LiftCeiling(state, now, per)
		}},
	}
}
