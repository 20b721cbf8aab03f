package airbyte

import (
	"regexp"
	"strings"

	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// How far a walk goes back where the manifest does not say: times of other clocks,
// and records that are shown late.
const (
	lookback      = "1h"
	lookbackDates = "1d"
	// stepWithout is the step of windows where the manifest has none, and asks for
	// one span from the start until now.
	stepWithout = "365d"
)

// incremental translates how only changes are asked for: by a mark, or by spans with
// a start and an end.
func (w *walk) incremental(c *node) {
	if c == nil {
		return
	}
	if !c.is("DatetimeBasedCursor") {
		w.note(c, "%s has no translation: each run of stream %s reads the whole list", c.word("type"), w.name)
		c.use()
		return
	}
	field, ok := w.text(c.get("cursor_field"), place{})
	start, ok2 := w.moment(c.get("start_datetime"))
	format, known := w.format(c)
	for _, name := range []string{"cursor_datetime_formats", "cursor_granularity", "partition_field_start", "partition_field_end", "is_compare_strictly", "global_substream_cursor", "clamping"} {
		c.get(name).use()
	}
	if c.word("is_client_side_incremental") == "true" {
		c.use()
		return // the provider filters nothing: each run reads the list, and stores what changed
	}
	if !ok || !ok2 || !known || field == "" {
		w.note(c, "incremental_sync of stream %s has no translation: each run reads the whole list", w.name)
		c.use()
		w.place.start, w.place.end = "", ""
		return
	}
	back := w.lookback(c, format)
	first, last := c.get("start_time_option"), c.get("end_time_option")
	step, _ := duration(c.word("step"))
	spans := last != nil || w.speaksOf("end_time")
	var block yamlfile.Map
	switch {
	case spans:
		if step == "" {
			step = stepWithout
		}
		if start == "" {
			w.leave(c, "its spans of time have no start")
			return
		}
		w.place.start, w.place.end = "window.from", "window.to"
		block.Set("from", start)
		w.until(c.get("end_datetime"), &block)
		block.Set("step", step)
		block.Set("lookback", back)
		if format != "" && format != "rfc3339" {
			block.Set("format", format)
		}
		w.body.Set("windows", block)
		w.option(first, "${window.from}")
		w.option(last, "${window.to}")
		return
	case c.word("is_data_feed") == "true" && first == nil:
		block = yamlfile.Map{{Key: "field", Value: field}, {Key: "order", Value: "desc"}}
	case first != nil || w.speaksOf("start_time"):
		block.Set("field", field)
		w.place.start = "since"
		if name := w.parameter(first); name != "" {
			block.Set("param", name)
		} else {
			w.option(first, "${since}")
		}
	default:
		w.note(c, "incremental_sync of stream %s asks for nothing: each run reads the whole list", w.name)
		return
	}
	c.get("end_datetime").use()
	if start != "" {
		block.Set("start", start)
	}
	block.Set("lookback", back)
	if format != "" {
		block.Set("format", format)
	}
	w.body.Set("since", block)
}

func (w *walk) lookback(c *node, format string) string {
	if back, ok := duration(c.word("lookback_window")); ok {
		return back
	}
	if at := c.get("lookback_window"); at != nil {
		w.note(at, "lookback_window: `%s` is no duration with one unit", short(at))
	}
	if format == "date" {
		return lookbackDates
	}
	return lookback
}

// speaksOf tells whether the request of the stream names a time of the span.
func (w *walk) speaksOf(name string) bool {
	return mentions(w.from.get("retriever", "requester"), regexp.MustCompile(`(stream_interval|stream_slice|stream_partition)[^}]*\b`+name+`\b`))
}

func mentions(n *node, pattern *regexp.Regexp) bool {
	if n == nil {
		return false
	}
	if pattern.MatchString(n.text) {
		return true
	}
	for _, m := range n.members {
		if mentions(m, pattern) {
			return true
		}
	}
	return false
}

var (
	fallbackCall = lazy.Regexp(`^(?:format_datetime|str_to_datetime|timestamp|duration)\(\s*(config[^,)]*(?:\)|\])?)`)
	isDate       = lazy.Regexp(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)
)

// moment translates a MinMaxDatetime, or a text: a date, or a param.
func (w *walk) moment(n *node) (string, bool) {
	if n == nil {
		return "", true
	}
	if n.kind == mapping {
		for _, name := range []string{"datetime_format", "min_datetime", "max_datetime"} {
			n.get(name).use()
		}
		n = n.get("datetime")
		if n == nil {
			return "", true
		}
	}
	if expr, ok := expression(n.text); ok {
		if m := fallbackCall().FindStringSubmatch(expr); m != nil {
			expr = m[1]
		}
		r, ok := refer(expr)
		if !ok || r.root != "config" || len(r.steps) == 0 {
			return "", false
		}
		p := w.configured(r, false)
		p.kind = "date"
		if !isDate().MatchString(p.fallback) {
			p.fallback = ""
			p.required = true
		}
		return "${params." + p.name + "}", true
	}
	text, ok := w.text(n, place{})
	return text, ok
}

// until translates the end of the last span, which is now unless it is a date or a
// param.
func (w *walk) until(n *node, block *yamlfile.Map) {
	if n == nil || strings.Contains(n.or("datetime").text, "now_utc") || strings.Contains(n.or("datetime").text, "today") {
		n.use()
		return
	}
	if end, ok := w.moment(n); ok && end != "" {
		block.Set("until", end)
		return
	}
	n.use()
	w.note(n, "end_datetime: the last window of stream %s ends now", w.name)
}

// format translates how times are sent; false if they cannot be sent so.
func (w *walk) format(c *node) (string, bool) {
	at := c.get("datetime_format")
	switch text := at.orEmpty(); {
	case text == "":
		return "", true
	case text == "%s", text == "%s_as_float":
		return "unix", true
	case text == "%ms":
		return "unix_ms", true
	case text == "%Y-%m-%d":
		return "date", true
	case strings.HasPrefix(text, "%Y-%m-%dT%H:%M:%S"), strings.HasPrefix(text, "%Y-%m-%dT%H:%M:%_"):
		return "rfc3339", true
	}
	w.note(at, "datetime_format: times cannot be sent as `%s`", short(at))
	return "", false
}
