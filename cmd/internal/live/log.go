package live

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// A LogLine is a record of the log in JSON. Its message is the name of an event: of one
// that the run was told of, or run.finished, or run.refused where something kept it from
// beginning.
type LogLine struct {
	Time      jsonout.Time         `json:"time"`
	Level     slog.Level           `json:"level"`
	Event     collection.EventKind `json:"msg"`
	Version   int                  `json:"v"`
	Run       string               `json:"run_id,omitempty"`
	Connector string               `json:"connector,omitempty"`
	Trace     string               `json:"trace_id,omitempty"` // 32 hexadecimal digits
	Span      string               `json:"span_id,omitempty"`  // 16 hexadecimal digits
	facts
	End *report.EndLine `json:"end,omitempty"` // of run.finished
}

// refused is the event of a run that something kept from beginning.
const refused collection.EventKind = "run.refused"

// A Log writes what happens in runs to a logger: events with the facts that they have
// for programs, and the ids of their span.
type Log struct{ Logger *slog.Logger }

// Observe writes an event. It writes nothing for run.finished; see [Log.Finish].
func (l Log) Observe(e collection.Event, trace, span string) {
	if e.Kind == collection.RunFinished || !l.Logger.Enabled(context.Background(), levelOf(e)) {
		return
	}
	line := wholeLineOf(e)
	l.write(levelOf(e), LogLine{Time: line.Time, Event: line.Event, Run: line.Run, Connector: line.Connector, Trace: trace, Span: span, facts: line.facts})
}

// Finish writes how a run ended.
func (l Log) Finish(end report.End) {
	if !end.Began {
		l.Refuse(end.Summary.Connector, end.Problems[0])
		return
	}
	level := slog.LevelInfo
	if end.NeedsYou() {
		level = slog.LevelError
	} else if end.Summary.ExitCode != problem.ExitOK {
		level = slog.LevelWarn
	}
	line := end.Line()
	l.write(level, LogLine{
		Time: jsonout.Time(end.Summary.Ended), Event: collection.RunFinished, Run: end.Summary.Run, Connector: line.Connector,
		facts: facts{Provider: end.Summary.Provider}, End: &line,
	})
}

// Refuse writes what kept a connector, or the whole command if that is "", from
// beginning.
func (l Log) Refuse(connector string, p problem.Problem) {
	level := slog.LevelWarn
	if p.Needs == problem.NeedsOperator {
		level = slog.LevelError
	}
	l.write(level, LogLine{
		Time: jsonout.Time(time.Now()), Event: refused, Connector: words.Clean(connector),
		facts: facts{Code: collection.WarningCode(p.Code), Message: p.Headline},
	})
}

// write writes a line whose fields are those of its JSON.
func (l Log) write(level slog.Level, line LogLine) {
	if !l.Logger.Enabled(context.Background(), level) {
		return
	}
	record := slog.NewRecord(time.Time(line.Time), level, string(line.Event), 0)
	text, err := json.Marshal(line)
	if err != nil {
		return // a type of ours that no JSON has: the test of each event says so
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	fields := map[string]any{}
	if decoder.Decode(&fields) != nil {
		return
	}
	for _, own := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey, "v"} {
		delete(fields, own)
	}
	for _, first := range []string{"connector", "run_id", "trace_id", "span_id"} {
		if value, ok := fields[first]; ok {
			record.AddAttrs(slog.Any(first, value))
			delete(fields, first)
		}
	}
	record.AddAttrs(attrsOf(fields)...)
	_ = l.Logger.Handler().Handle(context.Background(), record) // a log that cannot be written stops no run
}

// attrsOf returns fields of JSON as attributes, objects as groups, by their names.
func attrsOf(fields map[string]any) (attrs []slog.Attr) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if object, ok := fields[key].(map[string]any); ok {
			attrs = append(attrs, slog.GroupAttrs(key, attrsOf(object)...))
		} else {
			attrs = append(attrs, slog.Any(key, fields[key]))
		}
	}
	return attrs
}

// levelOf says how much an event matters. What there may be of one for each request, or
// each detail, is for those who look for a fault.
func levelOf(e collection.Event) slog.Level {
	switch {
	case e.Kind == collection.ErrorRaised, e.Freeze != nil && e.Freeze.Frozen:
		return slog.LevelError
	case e.Kind == collection.WarningRaised, e.Breaker != nil, e.Gap != nil && e.Kind == collection.GapOpened && e.Gap.Kind == collection.Stuck && !e.Gap.Reason.Settled() && e.Gap.Shape != collection.DetailGap:
		return slog.LevelWarn
	case e.Slice != nil, e.Request != nil,
		e.Gap != nil && e.Gap.Shape == collection.DetailGap,
		e.Wait != nil && e.Wait.Seconds < config.PlainEvery.Seconds(),
		e.Rate != nil && e.Throttle == nil && e.Rate.Learned >= e.Rate.Previous:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
