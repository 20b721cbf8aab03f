package cmd

import (
	"fmt"
	"slices"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report/problem"
)

// labelled is one line of a problem's text with its label.
type labelled struct{ label, text string }

// renderProblem returns p as text of at most limit columns, with its last
// newline. Commands and excerpts are never broken.
func renderProblem(p problem.Problem, limit int, c term.Caps) string {
	limit = max(40, min(limit, 80))
	var lines []string
	tag := string(p.Level)
	if p.Code != "" {
		tag += "[" + p.Code + "]"
	}
	lines = append(lines, term.Wrap(tag+": ", words.Clean(p.Headline), limit)...)
	for _, l := range []labelled{{"at", p.At}, {"", p.Excerpt}, {"by", p.By}, {"why", p.Why},
		{"token", p.Token}, {"note", p.Note}, {"saved", p.Saved}, {"next", p.Next}} {
		switch {
		case l.text == "":
		case l.label == "":
			for line := range strings.Lines(l.text) {
				lines = append(lines, strings.TrimRight(strings.Repeat(" ", 9)+words.CleanLine(line), " "))
			}
		default:
			lines = append(lines, term.Wrap("  "+term.Pad(l.label, 7, false), words.Clean(l.text), limit)...)
		}
	}
	label := "do"
	for _, s := range p.Do {
		lead := "  " + term.Pad(label, 7, false)
		if s.Command == "" {
			lines = append(lines, term.Wrap(lead, words.Clean(s.Say), limit)...)
		} else {
			lines = append(lines, strings.TrimRight(lead+strings.TrimLeft(words.Clean(s.Say)+" ", " ")+words.Clean(s.Command), " "))
		}
		label = ""
	}
	for i, line := range lines {
		lines[i] = c.Text(line)
	}
	text := strings.Join(lines, "\n") + "\n"
	return c.Paint(levelColor(p.Level), string(p.Level)) + strings.TrimPrefix(text, string(p.Level))
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
