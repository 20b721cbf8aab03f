package cmd

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"collect/cmd/internal/live"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// The environment that asks for a log.
const (
	logVariable       = "COLLECT_LOG"
	logFormatVariable = "COLLECT_LOG_FORMAT"
)

// logLevels are the values of COLLECT_LOG. Each has all that those before it have.
var logLevels = []string{"error", "warn", "info", "debug"}

// logger returns the only logger of this invocation: to stderr if COLLECT_LOG asks for it,
// and else to nowhere.
func (a *app) logger() (*slog.Logger, error) {
	level, format := a.env(logVariable), a.env(logFormatVariable)
	if format != "" && format != "text" && format != "json" {
		return nil, problem.Usage("env %s: %q is neither text nor json", logFormatVariable, words.Clean(format))
	}
	if level == "" {
		return slog.New(slog.DiscardHandler), nil
	}
	options := &slog.HandlerOptions{ReplaceAttr: logAttr(format, live.StyleOf(a.env, a.err))}
	var least slog.Level
	if !slices.Contains(logLevels, level) || least.UnmarshalText([]byte(level)) != nil {
		return nil, problem.Usage("env %s: %q is none of %s", logVariable, words.Clean(level), strings.Join(logLevels, ", "))
	}
	options.Level = least
	a.logged.goesTo(a.err)
	if format == "json" {
		return slog.New(slog.NewJSONHandler(&a.logged, options)).With("v", jsonout.Version), nil
	}
	return slog.New(slog.NewTextHandler(&a.logged, options)), nil
}

// logAttr writes times as all times are written. In a text log it leaves out a field
// whose value is not known, and the time, where the journal writes it.
func logAttr(format string, style live.Style) func([]string, slog.Attr) slog.Attr {
	return func(groups []string, attr slog.Attr) slog.Attr {
		switch {
		case len(groups) == 0 && attr.Key == slog.TimeKey && attr.Value.Kind() == slog.KindTime:
			if format != "json" && style == live.Journald {
				return slog.Attr{}
			}
			return slog.Any(slog.TimeKey, jsonout.Time(attr.Value.Time()))
		case format != "json" && attr.Value.Kind() == slog.KindAny && attr.Value.Any() == nil:
			return slog.Attr{}
		}
		return attr
	}
}

// A logOutput is where the lines of the log go: between what else is shown.
type logOutput struct {
	mu sync.Mutex
	to io.Writer
}

func (o *logOutput) goesTo(w io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = w
}

// Write writes a line.
func (o *logOutput) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(line)
}
