package cmd

import (
	"encoding/json"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
)

// A level says how bad a problem is; it is its first word.
type level string

// The levels. Only levelError means that something went wrong.
const (
	levelError   level = "error"
	levelPaused  level = "paused"  // a budget of ours was reached, on purpose
	levelWaiting level = "waiting" // it passes by itself
	levelWarning level = "warning"
)

// Who must act on a problem.
const (
	needsNothing  = "nothing"
	needsTime     = "time"
	needsOperator = "operator"
)

// A step is one thing to do: words, a command to copy, or both.
type step struct {
	Say     string // ends in a colon if a command follows
	Command string
}

// A problem is an error, a pause or a wait as a person meets it: what
// happened, where, what is safe, and what to do, in that order, always.
//
// Its texts may hold what a provider or a file said; rendering cleans them.
// They never hold tokens, cursors, record keys, bodies or queries of URLs.
type problem struct {
	Code     string // E0301; "" only for messages without one
	Level    level
	Headline string // lower case, no full stop
	At       string // connector/stream, or file:line:column
	Excerpt  string // the source around At, several lines
	By       string // who holds what we want
	Why      string
	Token    string // where the credential came from, and its fingerprint
	Note     string
	Saved    string
	Next     string // what happens without anybody's help
	Do       []step // at most three

	ExitCode  int
	Needs     string // nothing, time, operator
	Retryable bool   // the same command may work later
}

// labelled is one line of a problem's text with its label.
type labelled struct{ label, text string }

// render returns the problem as text of at most limit columns, with its last
// newline. Commands and excerpts are never broken.
func (p problem) render(limit int, c term.Caps) string {
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
	return c.Paint(p.Level.color(), string(p.Level)) + strings.TrimPrefix(text, string(p.Level))
}

func (l level) color() string {
	switch l {
	case levelError:
		return term.Red
	case levelWarning, levelWaiting:
		return term.Yellow
	}
	return ""
}

// MarshalJSON returns the problem as the one line that --json writes to
// stderr. Fields are only ever added; what is not known is null.
func (p problem) MarshalJSON() ([]byte, error) {
	commands := []string{}
	help := []string{}
	for _, s := range p.Do {
		if s.Command != "" {
			commands = append(commands, words.Clean(s.Command))
		}
		if s.Say != "" && s.Command == "" {
			help = append(help, words.Clean(s.Say))
		}
	}
	if p.Next != "" {
		help = append(help, words.Clean(p.Next))
	}
	return json.Marshal(struct {
		Code      *string  `json:"code"`
		Level     level    `json:"level"`
		Message   string   `json:"message"`
		Where     *string  `json:"where"`
		Why       *string  `json:"why"`
		Note      *string  `json:"note"`
		Token     *string  `json:"token"`
		Saved     *string  `json:"saved"`
		Help      []string `json:"help"`
		Commands  []string `json:"commands"`
		Retryable bool     `json:"retryable"`
		Needs     string   `json:"needs"`
		ExitCode  int      `json:"exit_code"`
		URL       *string  `json:"url"`
	}{
		textOrNull(p.Code), p.Level, words.Clean(p.Headline), textOrNull(p.At), textOrNull(p.Why), textOrNull(p.Note),
		textOrNull(p.Token), textOrNull(p.Saved), help, commands, p.Retryable, p.Needs, p.ExitCode, nil,
	})
}

// textOrNull returns the cleaned s for JSON, where what is not known is null.
func textOrNull(s string) *string {
	if s = words.Clean(s); s == "" {
		return nil
	}
	return &s
}
