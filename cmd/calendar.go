package cmd

import (
	"context"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report"
)

// timelines returns which days of the streams are complete, of one connector or of all.
func (a *app) timelines(ctx context.Context, v looked) (all []report.Timeline, err error) {
	if v.db == nil {
		return nil, nil
	}
	names := []string{v.name}
	if v.name == "" {
		if names, err = v.db.Connectors(ctx); err != nil {
			return nil, err
		}
	}
	meeting := a.meeting(&v.settings)
	for _, name := range names {
		timelines, err := meeting.Timelines(ctx, v.db, name, v.now)
		if err != nil {
			return nil, err
		}
		all = append(all, timelines...)
	}
	return all, nil
}

// calendarText draws the days of each stream that has a time axis, and counts what is
// stored of each other.
func calendarText(all []report.Timeline, columns int, c term.Caps) string {
	if len(all) == 0 {
		return "nothing was collected yet\n"
	}
	var b strings.Builder
	var counted []string
	for _, t := range all {
		name := words.Clean(t.Connector) + "/" + words.Clean(t.Stream.Name) + laneName(t.Lane.Lane)
		if !t.Dated {
			counted = append(counted, name+": "+t.Counted())
			continue
		}
		calendar := t.Calendar()
		b.WriteString(strings.Join(term.Wrap("", name+": "+calendar.Sentence(), columns), "\n") + "\n\n" + calendar.Text(columns, c.UTF8) + "\n")
	}
	if len(counted) > 0 {
		b.WriteString(strings.Join(term.Wrap("", "No calendar of streams that are not walked in windows of time (`windows` in the connector file):", columns), "\n") + "\n")
	}
	for _, line := range counted {
		b.WriteString(strings.Join(term.Wrap("  ", c.Text(line), columns), "\n") + "\n")
	}
	return b.String()
}
