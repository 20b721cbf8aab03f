package cmd

import (
	"fmt"
	"slices"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report/problem"
)

// renderProblem returns p as text of at most limit columns, with its last
// newline. Commands and excerpts are never broken.
func renderProblem(p problem.Problem, limit int, c term.Caps) string {
	page := term.Page{Columns: max(40, min(limit, 80)), Label: 7}
	tag := string(p.Level)
	if p.Code != "" {
		tag += "[" + p.Code + "]"
	}
	page.Add(term.Wrap(tag+": ", words.Clean(p.Headline), page.Columns)...)
	fact := func(label, text string) { page.Fact(label, words.Clean(text)) }
	fact("at", p.At)
	for line := range strings.Lines(p.Excerpt) {
		page.Add(strings.Repeat(" ", 9) + words.CleanLine(line))
	}
	fact("by", p.By)
	fact("why", p.Why)
	fact("secret", p.Token)
	fact("note", p.Note)
	fact("saved", p.Saved)
	fact("next", p.Next)
	label := "do"
	for _, s := range p.Do {
		if s.Command == "" {
			fact(label, s.Say)
		} else {
			page.Add("  " + term.Pad(label, 7, false) + strings.TrimLeft(words.Clean(s.Say)+" ", " ") + words.Clean(s.Command))
		}
		label = ""
	}
	return c.Paint(levelColor(p.Level), string(p.Level)) + strings.TrimPrefix(page.Render(c), string(p.Level))
}

func levelColor(l problem.Level) string {
	switch l {
	case problem.LevelError:
		return term.Red
	case problem.LevelWarning, problem.LevelWaiting:
		return term.Yellow
	}
	return ""
}

// exitCodeHelp returns the exit codes for people, by number, each with the
// name systemd gives it.
func exitCodeHelp() string {
	byNumber := slices.Clone(problem.ExitCodes)
	slices.SortFunc(byNumber, func(a, b problem.ExitCode) int { return a.Code - b.Code })
	var b strings.Builder
	for _, c := range byNumber {
		lead := fmt.Sprintf("%5d  %-16s", c.Code, c.Systemd)
		for _, line := range term.Wrap(lead, fmt.Sprintf("%s (acts: %s; retry: %s)", c.When, c.Who, c.Retry), 80) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("\nOf several connectors that \"collect status --check\" looks at, the worst decides,\n" +
		"and of several problems of a run. More codes may be added: take an unknown one\nfor a failure.\n")
	return b.String()
}
