package cmd

import (
	"fmt"
	"strings"
	"time"

	"collect/collection"
)

// slicesEvery is how often saved slices are worth a line: many are saved in a
// second, and the block counts them anyway.
const slicesEvery = 10 * time.Second

// A story tells what happened in lines for people. It is not safe for
// concurrent use.
type story struct {
	since   time.Time // of the slices not yet told
	stream  string
	slices  int64
	records int64
}

// tell returns the lines for e: none for what is not worth one, and more than
// one if slices before it were not told yet.
func (s *story) tell(e collection.Event) []string {
	if e.Slice != nil {
		return s.slice(e)
	}
	text := storyOf(e)
	if text == "" {
		return nil
	}
	var lines []string
	if rest := s.rest(e.Time); rest != "" {
		lines = append(lines, rest)
	}
	return append(lines, clockTime(e.Time)+"  "+text)
}

func (s *story) slice(e collection.Event) (lines []string) {
	if s.slices > 0 && (s.stream != e.Stream || e.Time.Sub(s.since) >= slicesEvery) {
		lines = append(lines, s.rest(e.Time))
	}
	if s.slices == 0 {
		s.since, s.stream = e.Time, e.Stream
	}
	s.slices++
	s.records += int64(e.Slice.Records)
	return lines
}

// rest returns the line for the slices that were not told, or "".
func (s *story) rest(now time.Time) string {
	if s.slices == 0 {
		return ""
	}
	line := fmt.Sprintf("%s  saved %s of %s · %s", clockTime(now), counted(s.slices, "slice", "slices"),
		clean(s.stream), counted(s.records, "record", "records"))
	s.slices, s.records = 0, 0
	return line
}

// storyOf returns one event in words, or "" if it is not worth any.
func storyOf(e collection.Event) string {
	provider := clean(e.Provider)
	switch {
	case e.Kind == collection.RunStarted:
		return "started run " + clean(e.Run)
	case e.Throttle != nil:
		text := fmt.Sprintf("throttled by %s: %s", provider, clean(e.Throttle.Signal))
		if after := e.Throttle.RetryAfter; after != nil {
			text += fmt.Sprintf(", Retry-After %s s", decimal(*after))
		}
		if e.Rate != nil {
			text += ". Rate " + rateChange(e.Rate)
		}
		return text
	case e.Rate != nil && e.Rate.Learned < e.Rate.Previous:
		return fmt.Sprintf("rate %s (%s)", rateChange(e.Rate), clean(e.Rate.Reason))
	case e.Breaker != nil:
		return fmt.Sprintf("breaker for %s: %s -> %s (%s)", provider, e.Breaker.Previous, e.Breaker.State, clean(e.Breaker.Reason))
	case e.Freeze != nil && e.Freeze.Frozen:
		return fmt.Sprintf("frozen: all calls to %s are stopped (%s)", provider, clean(e.Freeze.Reason))
	case e.Freeze != nil:
		return fmt.Sprintf("released: calls to %s may leave again", provider)
	case e.Gap != nil && e.Kind == collection.GapOpened:
		return fmt.Sprintf("gap %s in %s: %s, %s", gapName(e.Gap.ID), clean(e.Stream), reasonWords(e.Gap.Reason), e.Gap.Kind)
	case e.Gap != nil:
		return fmt.Sprintf("gap %s in %s is filled", gapName(e.Gap.ID), clean(e.Stream))
	case e.Budget != nil:
		return budgetWords(e.Budget)
	case e.Kind == collection.WarningRaised, e.Kind == collection.ErrorRaised:
		return string(e.Kind) + ": " + clean(e.Message)
	}
	return ""
}

func rateChange(r *collection.RateInfo) string { return rate(r.Previous) + " -> " + rate(r.Learned) }

func budgetWords(b *collection.BudgetInfo) string {
	switch b.Axis {
	case collection.RequestCap:
		return fmt.Sprintf("the request cap is reached (%s)", count(int64(b.Limit)))
	case collection.WallClock:
		return fmt.Sprintf("the time limit is reached (%s)", span(time.Duration(b.Limit*float64(time.Second))))
	case collection.RetryBudget:
		return fmt.Sprintf("all retries are used (%s)", count(int64(b.Limit)))
	}
	return strings.ReplaceAll(string(b.Axis), "_", " ") + " is reached"
}

// reasonWords says a reason the way a person would, in at most 24 columns: the
// tables have no more.
func reasonWords(r collection.Reason) string {
	switch r {
	case collection.RequestCap:
		return "run reached request cap"
	case collection.WallClock:
		return "run reached time limit"
	case collection.RetryBudget:
		return "run used all retries"
	case collection.Interrupted:
		return "run was interrupted"
	case collection.CircuitOpen:
		return "breaker was open"
	case collection.RateLimited:
		return "provider was throttling"
	case collection.UpstreamPressure:
		return "provider kept failing"
	case collection.RetryAfter:
		return "provider asked to wait"
	case collection.Auth:
		return "token was rejected"
	case collection.Frozen:
		return "frozen after a 403"
	case collection.Suspended:
		return "account is suspended"
	case collection.Forbidden:
		return "provider refuses it"
	case collection.SchemaDrift:
		return "records do not match"
	case collection.BadPage:
		return "page cannot be read"
	case collection.CursorExpired:
		return "cursor has expired"
	case collection.TooLarge:
		return "answer is too large"
	case collection.NotFound:
		return "not found"
	case collection.Gone:
		return "gone for good"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

func clockTime(t time.Time) string { return t.Format("15:04:05") }
