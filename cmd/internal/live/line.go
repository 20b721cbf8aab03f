package live

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// A Style says how lines begin.
type Style string

// The styles of plain lines.
const (
	Stamped  Style = "stamped"  // a time in front
	Journald Style = "journald" // a priority in front (sd-daemon(3)); journald knows the time
)

// StyleOf returns the style for the place where out goes. systemd names in JOURNAL_STREAM
// the device and inode of the stream that it reads (systemd.exec(5)): a unit may write
// elsewhere.
func StyleOf(env func(string) string, out io.Writer) Style {
	if file, ok := out.(*os.File); ok && env("JOURNAL_STREAM") != "" && env("JOURNAL_STREAM") == identity(file) {
		return Journald
	}
	return Stamped
}

// Prioritized returns lines of text with a priority in front, for journald; as it is for
// others.
func (s Style) Prioritized(text string, isError bool) string {
	if s != Journald {
		return text
	}
	priority := priorityWarning
	if isError {
		priority = priorityError
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			fmt.Fprintf(&b, "<%d>%s", priority, line)
		}
	}
	return b.String()
}

// The priorities of syslog(3), as far as they are used.
const (
	priorityError   = 3
	priorityWarning = 4
	priorityNotice  = 5
	priorityInfo    = 6
)

// A lineWriter builds one plain line.
type lineWriter struct{ strings.Builder }

func newLine(t time.Time, style Style, priority int, connector, event string) *lineWriter {
	w := &lineWriter{}
	if style == Journald {
		fmt.Fprintf(w, "<%d>", priority)
	} else {
		w.WriteString(t.UTC().Format(time.RFC3339) + " ")
	}
	w.WriteString(asWord(connector) + " " + event)
	return w
}

// add writes a pair, unless its value is empty.
func (w *lineWriter) add(key, value string) *lineWriter {
	if value != "" {
		w.WriteString(" " + key + "=" + asWord(value))
	}
	return w
}

// asWord returns s as one word: quoted if it is not one already.
func asWord(s string) string {
	s = words.Clean(s)
	if s == "" || strings.ContainsAny(s, " \"'=\\") {
		return strconv.Quote(s)
	}
	return s
}

// Line returns the line that says where a run stands.
func (f Frame) Line(style Style) string {
	w := newLine(f.Now, style, priorityInfo, f.Connector, "progress")
	w.add("stream", f.Stream)
	if f.Total.Parents > 0 {
		w.add("partitions", fmt.Sprintf("%d/%d", f.Total.Done, f.Total.most()))
	}
	w.add("slices", fmt.Sprint(f.Slices)).add("records", fmt.Sprint(f.Records))
	route, learned := f.learned()
	paces := words.Rates(f.RateNow, learned, f.Ceiling)
	w.add("rate", paces[0])
	if learned > 0 {
		w.add("learned", paces[1])
	}
	if route != "" {
		w.add("route", route)
	}
	if f.Ceiling > 0 {
		w.add("ceiling", paces[2])
	}
	w.add("limited_by", f.Limit.Binding())
	w.add("requests", fmt.Sprint(f.Requests))
	if f.Cap > 0 {
		w.add("cap", fmt.Sprint(f.Cap))
	}
	if f.Waiting > 0 {
		w.add("waiting", wholeSeconds(f.Waiting)).add("cause", string(f.Cause))
	}
	if f.Ends.In > 0 {
		w.add("left", wholeSeconds(f.Ends.In))
		if f.Ends.Reason != "" {
			w.add("stops_first", string(f.Ends.Reason))
		}
	}
	return w.String()
}

// plainLine returns the line for e, or "" for what changes nothing worth one.
func plainLine(e collection.Event, style Style) string {
	line := func(priority int, event string) *lineWriter {
		return newLine(e.Time, style, priority, e.Connector, event)
	}
	switch {
	case e.Kind == collection.RunStarted:
		return line(priorityInfo, "start").add("run", e.Run).add("lane", string(e.Lane)).String()
	case e.Throttle != nil:
		w := line(priorityNotice, "throttled").add("stream", e.Stream).add("signal", e.Throttle.Signal)
		if after := e.Throttle.RetryAfter; after != nil {
			w.add("retry_after", words.Decimal(*after)+"s")
		}
		if e.Rate != nil {
			if e.Rate.Route != "" {
				w.add("route", e.Rate.Route)
			}
			w.add("rate", strings.ReplaceAll(words.RateChange(e.Rate.Previous, e.Rate.Learned), " ", ""))
		}
		return w.String()
	case e.Rate != nil && e.Rate.Learned < e.Rate.Previous:
		w := line(priorityNotice, "slower")
		if e.Rate.Route != "" {
			w.add("route", e.Rate.Route)
		}
		return w.add("rate", strings.ReplaceAll(words.RateChange(e.Rate.Previous, e.Rate.Learned), " ", "")).add("reason", e.Rate.Reason).String()
	case e.Kind == collection.WaitStarted && e.Wait != nil && e.Wait.Seconds >= config.PlainEvery.Seconds():
		return line(priorityInfo, "waiting").add("cause", string(e.Wait.Cause)).add("seconds", words.Decimal(float64(int64(e.Wait.Seconds)))).
			add("next_at", e.Wait.Until.UTC().Format(time.RFC3339)).String()
	case e.Breaker != nil:
		w := line(priorityWarning, "breaker").add("state", e.Breaker.Previous+"->"+e.Breaker.State).add("reason", e.Breaker.Reason)
		if e.Breaker.Detail != "" {
			w.add("detail", e.Breaker.Detail)
		}
		return w.String()
	case e.Freeze != nil:
		state, priority := "released", priorityNotice
		if e.Freeze.Frozen {
			state, priority = "frozen", priorityError
		}
		return line(priority, state).add("provider", e.Provider).add("reason", e.Freeze.Reason).String()
	case e.Clamp != nil:
		return line(priorityNotice, "clamp").add("ceiling", words.ShareOf(e.Clamp.Previous)+"->"+words.ShareOf(e.Clamp.Ratio)).add("reason", e.Clamp.Reason).String()
	case e.Route != nil:
		return line(priorityNotice, "route").add("stream", e.Route.Stream).add("state", string(e.Route.State)).String()
	case e.Gap != nil:
		return plainGap(e, style)
	case e.Budget != nil:
		what := "paused"
		if !e.Budget.Axis.EndsRun() {
			what = "used_up"
		}
		l := line(priorityNotice, what).add("reason", string(e.Budget.Axis)).add("limit", words.Decimal(e.Budget.Limit))
		if e.Budget.Axis == collection.RetryBudget {
			l = l.add("message", budgetWords(e.Budget))
		}
		return l.String()
	case e.Ceiling != nil:
		return line(priorityNotice, "budget").add("ordered", report.CeilingWords(e.Ceiling)).String()
	case e.Kind == collection.WarningRaised:
		return line(priorityWarning, "warning").add("message", e.Message).String()
	case e.Kind == collection.ErrorRaised:
		return line(priorityError, "error").add("message", e.Message).String()
	}
	return ""
}

func plainGap(e collection.Event, style Style) string {
	event, priority := "gap_opened", priorityNotice
	switch {
	case e.Kind == collection.GapClosed:
		event, priority = "gap_filled", priorityInfo
	case e.Gap.Reason.Settled():
		priority = priorityInfo
	case e.Gap.Kind == collection.Stuck:
		priority = priorityWarning
	}
	w := newLine(e.Time, style, priority, e.Connector, event)
	w.add("gap", words.GapName(e.Gap.ID)).add("stream", e.Stream).add("reason", string(e.Gap.Reason))
	if e.Gap.Reason.Settled() {
		return w.add("needs", problem.NeedsNothing).String()
	}
	return w.add("kind", string(e.Gap.Kind)).String()
}

// wholeSeconds returns d as whole seconds: 38s.
func wholeSeconds(d time.Duration) string { return fmt.Sprintf("%.0fs", d.Seconds()) }
