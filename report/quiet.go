package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
)

// Somebody who wants to hear of nothing but trouble is told when something breaks,
// once a day while it is broken, and once when it is over.

// sayAgainAfter is how long nothing is said of trouble that was told.
const sayAgainAfter = 24 * time.Hour

// A Turn says why somebody is told of a connector.
type Turn string

// The turns; "" is none, and nothing is told.
const (
	Broke     Turn = "broke"
	Still     Turn = "still" // broken, as it was a day ago
	Recovered Turn = "recovered"
)

// A Trouble is what one command has to say of one connector to somebody who wants to
// hear of nothing else.
type Trouble struct {
	Name  string // tells one trouble from another; "" if all is well
	Words string // says it in a few words, without a secret

	// Passing: neither well nor in trouble. It was asked to wait, was interrupted or
	// died, and what was wrong may still be.
	Passing bool
}

// Told is what somebody was told of a connector; the zero Told is nothing.
type Told struct {
	Trouble string    `json:"trouble"`
	Words   string    `json:"words"`
	Since   time.Time `json:"since"` // told for the first time
	At      time.Time `json:"at"`    // told for the last time
}

// Hear returns what somebody is to be told now who was told t, and what they will
// have been told after it.
//
// A clock that was set back does not make it silent: what was told in the future
// is told again.
func (t Told) Hear(of Trouble, now time.Time) (Turn, Told) {
	switch {
	case of.Passing:
		return "", t
	case of.Name == "" && t.Trouble == "":
		return "", t
	case of.Name == "":
		return Recovered, Told{}
	case of.Name != t.Trouble:
		return Broke, Told{Trouble: of.Name, Words: of.Words, Since: now, At: now}
	}
	day := func(at time.Time) int64 { return int64(at.Sub(t.Since) / sayAgainAfter) }
	if now.Before(t.At) {
		return Still, Told{Trouble: t.Trouble, Words: of.Words, Since: now, At: now}
	}
	if day(now) > day(t.At) {
		return Still, Told{Trouble: t.Trouble, Words: of.Words, Since: t.Since, At: now}
	}
	return "", t
}

// Over says of what was told that it is over, as of now and in its zone.
func (t Told) Over(what string, now time.Time) string {
	return fmt.Sprintf("recovered: %s; since %s: %s", what, words.At(t.Since.In(now.Location()), now), t.Words)
}

// TroubleWords says in a few words what was wrong with a run.
func TroubleWords(run collection.Run) string {
	if run.Reason != "" {
		return problem.Brief(run.Reason)
	}
	i := slices.IndexFunc(problem.ExitCodes, func(c problem.ExitCode) bool { return c.Code == run.ExitCode })
	if i < 0 {
		return fmt.Sprintf("exit code %d", run.ExitCode)
	}
	return cmp.Or(problem.ExitCodes[i].When, "it failed")
}
