// Package problem says what went wrong: it turns an error into a [Problem], with
// a code, who acts, what is safe, what to do and the exit code.
//
// [Of] finds the row of an error in one table. The texts of a Problem are plain:
// a front gives them width and color.
package problem

import (
	"encoding/json"

	"collect/internal/jsonout"
	"collect/internal/words"
)

// A Level says how bad a problem is; it is its first word.
type Level string

// The levels. Only [LevelError] means that something went wrong.
const (
	LevelError   Level = "error"
	LevelPaused  Level = "paused"  // a budget of ours was reached, on purpose
	LevelWaiting Level = "waiting" // it passes by itself
	LevelWarning Level = "warning"
)

// Who must act on a problem.
const (
	NeedsNothing  = "nothing"
	NeedsTime     = "time"
	NeedsOperator = "operator"
)

// A Step is one thing to do: words, a command to copy, or both.
type Step struct {
	Say     string // ends in a colon if a command follows
	Command string
}

// A Problem is an error, a pause or a wait as a person meets it: what
// happened, where, what is safe, and what to do, in that order, always.
//
// Its texts may hold what a provider or a file said; rendering cleans them.
// They never hold tokens, cursors, record keys, bodies or queries of URLs.
type Problem struct {
	Code     string // E0301; "" only for messages without one
	Level    Level
	Headline string // lower case, no full stop
	At       string // connector/stream, or file:line:column
	Excerpt  string // the source around At, several lines
	By       string // who holds what we want
	Why      string
	Token    string // where the credential came from, and its fingerprint
	Note     string
	Saved    string
	Next     string // what happens without anybody's help
	Do       []Step // at most three

	ExitCode  int
	Needs     string // nothing, time, operator
	Retryable bool   // the same command may work later
}

// A Line is a problem as --json writes it to stderr. What is not known is null.
type Line struct {
	Code      *string  `json:"code"`
	Level     Level    `json:"level"`
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
}

// MarshalJSON returns the problem as the one line that --json writes to
// stderr. Fields are only ever added; what is not known is null.
func (p Problem) MarshalJSON() ([]byte, error) {
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
	return json.Marshal(Line{
		jsonout.Text(p.Code), p.Level, words.Clean(p.Headline), jsonout.Text(p.At), jsonout.Text(p.Why), jsonout.Text(p.Note),
		jsonout.Text(p.Token), jsonout.Text(p.Saved), help, commands, p.Retryable, p.Needs, p.ExitCode, nil,
	})
}
