package report

import (
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// An End is how one of several connectors ended that one command collected.
type End struct {
	Summary  Summary
	Problems []problem.Problem
	Began    bool // else one problem kept it from that, and the summary has its name and exit code
}

// Words says in a word or two how it ended.
func (e End) Words() string {
	switch s := e.Summary; {
	case !e.Began && problem.NeedsOfExit(s.ExitCode) == problem.NeedsNothing:
		return "not begun" // a signal came before its turn
	case !e.Began && e.NeedsYou():
		return "failed"
	case !e.Began:
		return "waiting" // for the run that has the connector
	case s.Outcome == collection.Blocked && !s.allRestSince().IsZero():
		return "owed"
	default:
		return OutcomeWords(s.Outcome)
	}
}

// NeedsYou reports whether a person must act.
func (e End) NeedsYou() bool { return problem.NeedsOfExit(e.Summary.ExitCode) == problem.NeedsOperator }

// Next says in a few words who goes on; "" if there is nothing to go on with.
func (e End) Next() string {
	s := e.Summary
	switch {
	case e.NeedsYou():
		return "you: see below"
	case !e.Began:
		return "a later run"
	case s.Outcome == collection.Complete, s.Outcome == collection.NothingNew:
		return ""
	}
	at := s.NextAt
	if s.Outcome == collection.Waiting {
		at = FirstWait(s.Owed, s.At())
	}
	if at.IsZero() {
		return "the next run"
	}
	return "a run after " + words.At(at, s.At())
}

// An EndLine is an end in JSON. What a run that did not begin cannot have is null.
type EndLine struct {
	Connector string              `json:"connector"`
	Run       *string             `json:"run_id"`
	Outcome   *collection.Outcome `json:"outcome"`
	ExitCode  int                 `json:"exit_code"`
	Needs     string              `json:"needs"`
	Code      *string             `json:"code"` // of the problem that kept it from beginning
	Records   *int64              `json:"records"`
	Requests  *int64              `json:"requests"`
	Owed      *int                `json:"gaps_owed"`
	NextAt    jsonout.Time        `json:"next_at"`
}

// EndsLine are the ends of all connectors of one command in JSON.
type EndsLine struct {
	ExitCode   int       `json:"exit_code"`
	Connectors []EndLine `json:"connectors"`
}

// EndsLineOf returns ends for --json, with the exit code of the command.
func EndsLineOf(ends []End, code int) EndsLine {
	line := EndsLine{code, []EndLine{}}
	for _, e := range ends {
		line.Connectors = append(line.Connectors, e.Line())
	}
	return line
}

// Line returns the end for programs.
func (e End) Line() EndLine {
	s := e.Summary
	line := EndLine{Connector: words.Clean(s.Connector), ExitCode: s.ExitCode, Needs: problem.NeedsOfExit(s.ExitCode), NextAt: jsonout.Time(time.Time{})}
	if e.Began {
		owed := OwedCount(s.Owed)
		line.Run, line.Outcome, line.Records, line.Requests, line.Owed = &s.Run, &s.Outcome, &s.This.Records, &s.This.Requests, &owed
		line.NextAt = jsonout.Time(s.NextAt)
	} else {
		line.Code = jsonout.Text(e.Problems[0].Code)
	}
	return line
}
