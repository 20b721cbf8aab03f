package report

import (
	"strconv"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/pacing/gate"
)

// A Budget is a count that a provider's account may use in a window.
type Budget struct {
	Name     string // as gate names it
	Route    string
	Used     int
	Count    int // that is in force
	Window   time.Duration
	NextAt   time.Time // when more may leave; zero: now
	Measured bool      // Used is known

	// Of one that is declared in the files of a connector:

	Provider string
	Declared float64       // the most there may be
	Least    float64       // the least that an operator may allow
	Origin   string        // where it is declared
	Lowered  *gate.Lowered // by an operator; nil: all that is declared may be used
}

// Budgets returns what of the pace is counted in windows.
func (a *Account) Budgets() (all []Budget) {
	if a == nil {
		return nil
	}
	for _, k := range a.Pace.Constraints {
		if k.Count > 0 && k.Window > 0 {
			all = append(all, Budget{Name: string(k.Name), Route: words.Clean(k.Route), Used: k.Used, Count: k.Count, Window: k.Window, NextAt: k.Until, Measured: true, Lowered: k.Lowered})
		}
	}
	return all
}

// Use takes over what the pace knows of b.
func (b *Budget) Use(known Budget) {
	b.Used, b.Count, b.NextAt, b.Measured, b.Lowered = known.Used, known.Count, known.NextAt, true, known.Lowered
}

// Words says a budget: 5,860 of 20,000 a day.
func (b Budget) Words() string {
	return words.Count(int64(b.Used)) + " of " + b.InForce()
}

// InForce says what may be used now: 3 a second.
func (b Budget) InForce() string {
	if b.Lowered != nil && b.Lowered.Count < float64(b.Count) {
		return b.With(b.Lowered.Count)
	}
	return b.With(float64(b.Count))
}

// DeclaredWords says what the files allow, and LeastWords the least that an operator may.
func (b Budget) DeclaredWords() string { return b.With(b.Declared) }
func (b Budget) LeastWords() string    { return b.With(b.Least) }

// With says a count in the window of b: 3.5 a second.
func (b Budget) With(count float64) string {
	whole := collection.Ceiling{Count: int(count), Per: b.Window}
	if float64(whole.Count) == count {
		return words.Ceiling(whole)
	}
	whole.Count = 1
	return strconv.FormatFloat(count, 'f', -1, 64) + words.Ceiling(whole)[1:]
}

// LoweredWords says who holds a budget down, until when and why; "" if nobody does.
func (b Budget) LoweredWords(now time.Time) string {
	l := b.Lowered
	if l == nil {
		return ""
	}
	text := "lowered by an operator since " + words.At(l.At, now) + ", until "
	if l.Until.IsZero() {
		text += "it is released"
	} else {
		text += words.At(l.Until, now)
	}
	return words.WithReason(text, words.Clean(l.Note))
}

// WindowWords says a window as the orders about budgets read it.
func WindowWords(per time.Duration) string {
	switch per {
	case time.Second:
		return "s"
	case time.Minute:
		return "min"
	case time.Hour:
		return "h"
	case 24 * time.Hour:
		return "day"
	}
	return per.String()
}

// A BudgetLine is a budget in JSON.
type BudgetLine struct {
	Connector string       `json:"connector"`
	Provider  string       `json:"provider"`
	Window    float64      `json:"window_seconds"`
	Declared  float64      `json:"declared_count"` // by the files
	Least     float64      `json:"least_count"`    // that an operator may allow
	Origin    string       `json:"origin"`
	Count     float64      `json:"count"` // that is in force
	Used      *int         `json:"used"`  // null: that is not known
	NextAt    jsonout.Time `json:"next_at"`
	Lowered   *LoweredLine `json:"lowered"` // null: by nobody
}

// A LoweredLine says in JSON what an operator made of a budget.
type LoweredLine struct {
	Since  jsonout.Time `json:"since"`
	Until  jsonout.Time `json:"until"` // null: until it is released
	Reason *string      `json:"reason"`
}

// BudgetLines returns the budgets of a connector for JSON.
func BudgetLines(connector string, all []Budget) []BudgetLine {
	lines := []BudgetLine{}
	for _, b := range all {
		line := BudgetLine{Connector: words.Clean(connector), Provider: b.Provider, Window: b.Window.Seconds(), Declared: b.Declared, Least: b.Least,
			Origin: b.Origin, Count: float64(b.Count), NextAt: jsonout.Time(b.NextAt)}
		if b.Measured {
			line.Used = &b.Used
		}
		if l := b.Lowered; l != nil {
			line.Count = min(line.Count, l.Count)
			line.Lowered = &LoweredLine{jsonout.Time(l.At), jsonout.Time(l.Until), jsonout.Text(l.Note)}
		}
		lines = append(lines, line)
	}
	return lines
}

// CeilingWords says what operators make of a ceiling.
func CeilingWords(c *collection.CeilingInfo) string {
	b := Budget{Window: time.Duration(c.Window * float64(time.Second))}
	said := func(count *float64) string {
		if count == nil {
			return "all that is declared"
		}
		return b.With(*count)
	}
	text := "budget of " + words.Span(b.Window) + ": " + said(c.Previous) + " -> " + said(c.Count)
	if !c.Until.IsZero() {
		text += ", until " + c.Until.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}
