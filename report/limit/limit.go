// Package limit says what limits a pace, in the same words wherever it is said.
package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/times"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/problem"
)

// Words are all there is to say of one thing that limits the pace: by explain,
// status, the summary, the block and docs/events.md.
type Words struct {
	Bound  gate.Bound
	Held   bool   // by an operator's order: then these are the words
	Name   string // after "limited by"
	Is     string // what it is
	Figure string // what its number means
	Who    string // who can change it
	Do     string // the line to write or the command to run; NAME stands for the connector
}

// table holds the words for each bound.
var table = []Words{
	{
		Bound: gate.FreezeOf, Name: "the freeze",
		Is:     "the provider refused the account, so it is frozen until one test request was answered",
		Figure: "until when; without a time only you end it", Who: "you",
		Do: "Settle it with the provider; then: collect freeze release NAME --reason WHY. " + problem.Rules403 + ".",
	}, {
		Bound: gate.FreezeOf, Held: true, Name: "the freeze",
		Is:     "frozen by an operator: all calls are stopped",
		Figure: "until when; without a time only you end it", Who: "you",
		Do: "collect freeze release NAME --reason WHY",
	}, {
		Bound: gate.BreakerOf, Name: "the open breaker",
		Is:     "most of the latest requests failed, so no request leaves until a probe was answered",
		Figure: "when the probe leaves", Who: "time",
		Do: "Time: the provider fails, and asking more often would not help it.",
	}, {
		Bound: gate.BreakerOf, Held: true, Name: "the open breaker",
		Is:     "an operator stopped all calls",
		Figure: "none: only you end it", Who: "you",
		Do: "collect breaker release NAME --reason WHY",
	}, {
		Bound: gate.HoldOf, Name: "a requested pause",
		Is:     "it said when it may be asked again; or, as `a used up quota`, that nothing is left of one, or, as `a pause after a refusal`, refused for a time that only its documentation names",
		Figure: "until when", Who: "time",
		Do: "Time. Asking earlier would only be refused, unless the provider has granted more since: then `collect freeze release NAME --reason WHY` lets one request ask.",
	}, {
		Bound: gate.ReserveOf, Name: "a used up quota",
		Is:     "nothing is left of the quota that the provider announces, or only the share that `quota: {reserve: N%}` leaves for people",
		Figure: "until when", Who: "time",
		Do: "Time; or, if the provider has granted more since, `collect freeze release NAME --reason WHY`, which lets one request ask; or a smaller reserve if one is declared under `provider:` in the connector file: `quota: {reserve: N%}`.",
	}, {
		Bound: gate.CeilingOf, Name: "your ceiling",
		Is:     "the most that you allow in a window of time",
		Figure: "requests in the window; until when, once they are used", Who: "you",
		Do: "A higher ceiling, if the provider allows more: only you can raise it. Try it on a model first: collect simulate --ceiling",
	}, {
		Bound: gate.CeilingOf, Held: true, Name: "a lowered budget",
		Is:     "an operator allows less than the files do",
		Figure: "requests in the window; until when, once they are used", Who: "you",
		Do: "collect budget release NAME WINDOW --reason WHY",
	}, {
		Bound: gate.ClampOf, Name: "a lowered ceiling",
		Is:     "too much was refused under the ceiling, so less than all of it is used",
		Figure: "the pace, and since when", Who: "time",
		Do: "Time: the ceiling is given back as soon as less is refused.",
	}, {
		Bound: gate.Undeclared, Name: "a missing ceiling",
		Is:     "no ceiling by the second or the minute is declared, so clean answers have to earn the pace",
		Figure: "the pace that is earned so far; it doubles after 200 clean answers, up to 32 a second, and further where the provider announced a limit or refused", Who: "you, or time",
		Do: "A ceiling that you declare, in the connector file: `ceiling: {per_second: N}`, or under `providers:` in collect.yaml: `ceiling_per_second: N`. Without one the bound doubles after 200 clean answers, and ends at 32 a second where the provider neither announced a limit nor refused.",
	}, {
		Bound: gate.Forbidden, Name: "an unexplained 403",
		Is:     "the provider answered a 403 that nothing explains at a faster pace, which can mean a ban",
		Figure: "the pace, since when, and when a quarter more is tried", Who: "you, or time",
		Do: "If it is settled with the provider: collect freeze release NAME --reason WHY. " + problem.Rules403 + ".",
	}, {
		Bound: gate.Announced, Name: "an announced limit",
		Is:     "answers say how much is left, or how fast to ask",
		Figure: "the pace, and when it was heard", Who: "the provider",
		Do: "Nothing on our side: the provider names this pace, or what is left is spread over the time until it grants more.",
	}, {
		Bound: gate.Learned, Name: "refusals",
		Is:     "the provider refused, or gave no usable answer, when it was asked faster",
		Figure: "the pace, and when an answer came last", Who: "the provider",
		Do: "Time: a little more is tried from time to time. A ceiling at the provider's limit, if you know it and have not declared it, spares a run the search and its refusals, and makes nothing faster once the limit is found. In the connector file, by the window that the provider counts in: `ceiling: {per_second: N}`, `per_minute` or `per_hour`.",
	}, {
		Bound: gate.Slow, Name: "late answers",
		Is:     "answers took much longer when the provider was asked faster",
		Figure: "the pace, and when an answer came last", Who: "the provider",
		Do: "Nothing on our side: the provider answers late when it is asked faster. A little more is tried from time to time; a higher ceiling would not be used.",
	}, {
		Bound: gate.Rising, Name: "the rising start",
		Is:     "no limit is known yet",
		Figure: "the pace so far", Who: "nobody",
		Do: "Nothing: the pace rises by itself as long as the provider does not complain.",
	}, {
		Bound: gate.Places, Name: "refusals in flight",
		Is:     "the provider refused when more requests were in flight, whatever the pace",
		Figure: "requests at once, and when an answer came last", Who: "the provider",
		Do: "Nothing on our side: the provider counts requests in flight. One more is tried from time to time.",
	}, {
		Bound: gate.InFlightMax, Name: "requests in flight",
		Is:     "no more requests may be on their way at once, and each takes its time",
		Figure: "requests at once, how long one takes, answered or not, and the pace that makes", Who: "you",
		Do: "More requests in flight, if the provider does not mind: --concurrency N, or under `provider:` in the connector file: `concurrency: {max: N}`.",
	}, {
		Bound: gate.Unused, Name: "the run itself",
		Is:     "requests leave as soon as the run asks for them: a list is read page after page",
		Figure: "the pace that the run makes use of, and how long a request takes", Who: "nobody",
		Do: "Nothing about the pace: the run asks for no more. Larger pages, if the provider has them, get more with each request.",
	},
}

// For returns the words for k, which an operator may hold.
func For(k *gate.Constraint, held bool) Words {
	row := Words{Bound: k.Name, Name: words.Clean(string(k.Name))}
	for _, r := range table {
		if r.Bound == k.Name && (r.Held == held || !r.Held) {
			row = r
		}
	}
	switch {
	case k.Name == gate.Learned && k.Blocks && k.Probes > 0: // no request succeeds, however slowly they leave
		row.Is = "the provider refuses, or gives no usable answer, at any pace"
	case k.Name == gate.Learned && k.Blocks:
		row.Is = "the provider refused, or gave no usable answer, and one request asks again then"
	}
	if name := k.Basis.Name(); k.Name == gate.HoldOf && name != "" {
		row.Name, row.Is = name, words.Clean(k.Basis.Words())
	}
	return row
}

// Cause says why the pace changed, in the words of what limits it, if that is why.
func Cause(reason string) string {
	return For(&gate.Constraint{Name: gate.Bound(reason)}, false).Name
}

// HeldBy reports whether an operator's order is what k comes from.
func HeldBy(s *gate.Status, k *gate.Constraint) bool {
	switch k.Name {
	case gate.BreakerOf:
		return s.Forced
	case gate.FreezeOf:
		return s.FreezeReason == gate.ByOperator
	case gate.CeilingOf:
		return k.Lowered != nil
	}
	return false
}

// Figure says the number of k with its unit: 3.5/s, until 12:09, 8 at once.
func Figure(k *gate.Constraint, now time.Time) string {
	switch {
	case k.Blocks && !k.Until.IsZero() && k.Name != gate.InFlightMax:
		if !k.Until.After(now) {
			return "a probe is next"
		}
		return "until " + words.At(k.Until, now)
	case k.Name == gate.BreakerOf && !k.Blocks:
		return "a probe is next"
	case k.Name == gate.FreezeOf || k.Name == gate.BreakerOf:
		return "until you release it"
	case k.Name == gate.CeilingOf:
		return words.Ceiling(collection.Ceiling{Count: k.Count, Per: k.Window})
	case k.Name == gate.Places || k.Name == gate.InFlightMax:
		return fmt.Sprintf("%d at once", k.Count)
	}
	return words.Rate(k.PerSecond)
}

// Detail says since when k is so, when more is tried, and what makes a pace
// of it; "" if there is nothing to add to its figure.
func Detail(k *gate.Constraint, now time.Time) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch k.Name {
	case gate.CeilingOf:
		if k.Window > time.Minute {
			add("%s used", words.Count(int64(k.Used)))
		}
	case gate.InFlightMax:
		if k.Latency > 0 {
			add("%s a request, so %s", latencyWords(k.Latency), words.Rate(k.PerSecond))
		}
	case gate.Unused:
		if k.Latency > 0 {
			add("%s a request", latencyWords(k.Latency))
		}
	case gate.Undeclared:
		add("earned so far")
	case gate.Learned, gate.Slow, gate.Places:
		switch {
		case k.Since.IsZero():
		case k.Blocks && k.Probes == 0:
			add("since %s", words.At(k.Since, now))
		case k.Blocks:
			add("no request succeeded since %s, and one at a time asks again", words.At(k.Since, now))
		default:
			add("last answer %s", words.Ago(k.Since, now))
		}
	case gate.Announced:
		if !k.Since.IsZero() {
			add("heard %s", words.Ago(k.Since, now))
		}
	case gate.ClampOf, gate.Forbidden, gate.FreezeOf, gate.BreakerOf:
		if !k.Since.IsZero() {
			add("since %s", words.At(k.Since, now))
		}
	}
	if k.Again.After(now) {
		add("a quarter more is tried in %s", words.Span(k.Again.Sub(now).Truncate(time.Second)))
	}
	return strings.Join(parts, ", ")
}

// Failures says how many of the latest requests brought nothing; "" if all did.
func Failures(s *gate.Status) string {
	if s.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the latest %s failed or got no answer", s.Failed, words.Counted(int64(s.Ended), "request", "requests"))
}

// Shared says how many processes share the pace; "" if one has it alone.
func Shared(s *gate.Status) string {
	if s.Processes < 2 {
		return ""
	}
	return fmt.Sprintf("%d processes share the pace, which is that of all together", s.Processes)
}

// latencyWords says how long a request takes: 40 ms, 1.2 s.
func latencyWords(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", max(1, d.Milliseconds()))
	}
	return words.Span(d.Truncate(100 * time.Millisecond))
}

// Text says what limits the pace in one line, in the same words everywhere:
// "late answers: 3.5/s, last answer 2 min ago".
func Text(s *gate.Status, now time.Time) string {
	k := s.Limit()
	if k == nil {
		return ""
	}
	return text(s, k, Figure(k, now), now)
}

// AtWork is Text with the pace in force, where it is known and another one than was found.
func AtWork(s *gate.Status, now time.Time) string {
	k := s.Limit()
	if k == nil || k.InForce == 0 || k.Blocks || words.Rate(k.InForce) == Figure(k, now) {
		return Text(s, now)
	}
	return text(s, k, words.Rate(k.InForce)+" ("+Figure(k, now)+" was found)", now)
}

func text(s *gate.Status, k *gate.Constraint, figure string, now time.Time) string {
	text := For(k, HeldBy(s, k)).Name
	if k.Route != "" {
		text += " (route " + words.Clean(k.Route) + ")"
	}
	text += ": " + figure
	if detail := Detail(k, now); detail != "" {
		text += ", " + detail
	}
	return text
}

// Same reports whether the same is said of a and of b: runs of one database
// share what they save, too, and a moment later.
func Same(a, b *gate.Status, now time.Time) bool {
	return times.Same(a.ForcedSince, b.ForcedSince) && a.ForcedNote == b.ForcedNote && slices.EqualFunc(a.Constraints, b.Constraints, func(k, l gate.Constraint) bool {
		return k.Name == l.Name && k.Route == l.Route && k.Binds == l.Binds && Figure(&k, now) == Figure(&l, now) && ordered(k.Lowered, l.Lowered)
	})
}

// ordered reports whether a ceiling is lowered by the same order, or by none.
func ordered(k, l *gate.Lowered) bool {
	return k == l || k != nil && l != nil && k.Note == l.Note && times.Same(k.At, l.At)
}

// Name is what limits the pace in as few words; "" if nothing is known to.
func Name(s *gate.Status) string {
	if k := s.Limit(); k != nil {
		return For(k, HeldBy(s, k)).Name
	}
	return ""
}
