package live

import (
	"fmt"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
)

// How often the things that happen all the time are worth a line. The block
// counts them anyway.
const (
	slicesEvery    = 10 * time.Second
	throttlesEvery = 5 * time.Second
)

// A story tells what happened in lines for people. What happens often it
// gathers: saved slices, and throttles with the slower rate that follows each.
// It is not safe for concurrent use.
type story struct {
	name string // what its lines begin with; "" where only one run is shown

	slices  int64 // not yet told, of stream, since
	records int64
	stream  string
	since   time.Time

	throttles int64 // not yet told
	provider  string
	signal    collection.ThrottleInfo
	slower    collection.RateInfo // from before the first to after the last
	began     time.Time
	told      time.Time // when throttles were told last

	last inOrder
}

// inOrder makes the times of lines rise: what several requests met side by
// side is told in the order it is heard. A clock that was set back is believed.
type inOrder struct{ last time.Time }

func (o *inOrder) at(t time.Time) time.Time {
	if back := o.last.Sub(t); back > 0 && back < time.Minute {
		return o.last
	}
	o.last = t
	return t
}

// line returns a line that was met at t.
func (s *story) line(t time.Time, text string) string {
	if s.name != "" {
		text = s.name + ": " + text
	}
	return clockTime(s.last.at(t)) + "  " + text
}

// tell returns the lines for e, of what was gathered before it first.
func (s *story) tell(e collection.Event) []string {
	switch {
	case e.Slice != nil:
		return s.slice(e)
	case e.Throttle != nil:
		s.throttle(e)
		return nil
	case e.Rate != nil:
		s.rate(e)
		return nil
	}
	text := storyOf(e)
	if text == "" {
		return nil
	}
	return append(s.slowed(), s.line(e.Time, text))
}

// due returns the lines for what was gathered for long enough at now.
func (s *story) due(now time.Time) (lines []string) {
	if now.Sub(s.told) >= throttlesEvery {
		if lines = s.slowed(); lines != nil {
			s.told = now
		}
	}
	if s.slices > 0 && now.Sub(s.since) >= slicesEvery {
		lines = append(lines, s.saved(now)...)
	}
	return lines
}

// rest returns the lines for all that was gathered.
func (s *story) rest(now time.Time) []string { return append(s.slowed(), s.saved(now)...) }

func (s *story) slice(e collection.Event) (lines []string) {
	if s.stream != e.Stream {
		lines = s.saved(e.Time)
	}
	if s.slices == 0 {
		s.since, s.stream = e.Time, e.Stream
	}
	s.slices++
	s.records += int64(e.Slice.Records)
	return lines
}

func (s *story) saved(now time.Time) []string {
	if s.slices == 0 {
		return nil
	}
	line := s.line(now, fmt.Sprintf("saved %s of %s · %s", words.Counted(s.slices, "slice", "slices"),
		words.Clean(s.stream), words.Counted(s.records, "record", "records")))
	s.slices, s.records = 0, 0
	return []string{line}
}

func (s *story) throttle(e collection.Event) {
	s.begin(e)
	s.throttles++
	s.signal = *e.Throttle
	if e.Rate != nil {
		s.rate(e)
	}
}

func (s *story) rate(e collection.Event) {
	if e.Rate.Learned >= e.Rate.Previous {
		return
	}
	s.begin(e)
	if s.slower.Previous == 0 || s.slower.Route != e.Rate.Route {
		s.slower = *e.Rate
	}
	s.slower.Learned = e.Rate.Learned
}

func (s *story) begin(e collection.Event) {
	if s.throttles == 0 && s.slower.Previous == 0 {
		s.began, s.provider = e.Time, e.Provider
	}
}

// slowed returns the line for throttles, or for a rate that fell without one.
func (s *story) slowed() []string {
	change := ""
	if s.slower.Learned < s.slower.Previous {
		change = words.RateChange(s.slower.Previous, s.slower.Learned)
		if s.slower.Route != "" {
			change = "of route " + words.Clean(s.slower.Route) + " " + change
		}
	}
	text := ""
	switch {
	case s.throttles > 0:
		text = "throttled by " + words.Clean(s.provider)
		if s.throttles > 1 {
			text += " " + words.Count(s.throttles) + " times"
		}
		text += ": " + words.Clean(s.signal.Signal)
		if after := s.signal.RetryAfter; after != nil {
			text += fmt.Sprintf(", Retry-After %s s", words.Decimal(*after))
		}
		if change != "" {
			text += ". Rate " + change
		}
	case change != "":
		text = fmt.Sprintf("rate %s (%s)", change, limit.Cause(s.slower.Reason))
	default:
		return nil
	}
	line := s.line(s.began, text)
	s.throttles, s.slower = 0, collection.RateInfo{}
	return []string{line}
}

// storyOf returns one event in words, or "" if it is not worth any.
func storyOf(e collection.Event) string {
	provider := words.Clean(e.Provider)
	if e.Account != "" {
		provider += " with " + words.Clean(e.Account)
	}
	switch {
	case e.Kind == collection.RunStarted:
		return "started run " + words.Clean(e.Run)
	case e.Breaker != nil:
		return fmt.Sprintf("breaker for %s: %s -> %s (%s)", provider, e.Breaker.Previous, e.Breaker.State, words.WithReason(words.Clean(e.Breaker.Reason), words.Clean(e.Breaker.Detail)))
	case e.Freeze != nil && e.Freeze.Frozen:
		return fmt.Sprintf("frozen: all calls to %s are stopped (%s)", provider, words.Clean(e.Freeze.Reason))
	case e.Freeze != nil:
		return fmt.Sprintf("released: calls to %s may leave again", provider)
	case e.Clamp != nil:
		return "the ceiling of " + provider + " is " + words.Clamp(e.Clamp)
	case e.Route != nil:
		return words.Route(e.Route)
	case e.Gap != nil && e.Kind == collection.GapOpened:
		who := string(e.Gap.Kind)
		if e.Gap.Reason.Settled() {
			who = "not owed"
		}
		return fmt.Sprintf("gap %s in %s: %s, %s", words.GapName(e.Gap.ID), words.Clean(e.Stream), problem.Brief(e.Gap.Reason), who)
	case e.Gap != nil:
		return fmt.Sprintf("gap %s in %s is filled", words.GapName(e.Gap.ID), words.Clean(e.Stream))
	case e.Budget != nil:
		return budgetWords(e.Budget)
	case e.Ceiling != nil:
		return provider + ": " + report.CeilingWords(e.Ceiling)
	case e.Kind == collection.LimitLearned:
		return provider + " announces " + words.Limit(e.Limit)
	case e.Kind == collection.WarningRaised && e.Code != "":
		return fmt.Sprintf("%s[%s] in %s: %s", e.Kind, e.Code, words.Clean(e.Stream), words.Clean(e.Message))
	case e.Kind == collection.WarningRaised, e.Kind == collection.ErrorRaised:
		return string(e.Kind) + ": " + words.Clean(e.Message)
	}
	return ""
}

func budgetWords(b *collection.BudgetInfo) string {
	switch b.Axis {
	case collection.RequestCap:
		return fmt.Sprintf("the request cap is reached (%s)", words.Count(int64(b.Limit)))
	case collection.WallClock:
		return fmt.Sprintf("the time limit is reached (%s)", words.Span(time.Duration(b.Limit*float64(time.Second))))
	case collection.RetryBudget:
		return fmt.Sprintf("all retries of the run are used (%s at once, and every 5 requests that succeed give one back): what fails now is left as a gap", words.Count(int64(b.Limit)))
	}
	return strings.ReplaceAll(string(b.Axis), "_", " ") + " is reached"
}

func clockTime(t time.Time) string { return t.Format("15:04:05") }
