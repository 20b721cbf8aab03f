package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

	// Others are what they were told before, since when all was never well.
	Others []Told `json:"others,omitempty"`
}

// mostOthers is how many of them are remembered.
const mostOthers = 8

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
		var others []Told
		if t.Trouble != "" {
			others = append(slices.Clone(t.Others), t)
			others[len(t.Others)].Others = nil
		}
		i := slices.IndexFunc(others, func(o Told) bool { return o.Trouble == of.Name })
		if i < 0 {
			return Broke, Told{Trouble: of.Name, Words: of.Words, Since: now, At: now, Others: others[max(0, len(others)-mostOthers):]}
		}
		// It is there again, or was hidden by another.
		t = others[i]
		t.Others = slices.Delete(others, i, i+1)
	}
	day := func(at time.Time) int64 { return int64(at.Sub(t.Since) / sayAgainAfter) }
	if now.Before(t.At) {
		t.Since = now
	} else if day(now) <= day(t.At) {
		return "", t
	}
	t.Words, t.At = of.Words, now
	return Still, t
}

// Over says of what was told that it is over, as of now and in its zone.
func (t Told) Over(what string, now time.Time) string {
	said := []string{"recovered: " + what}
	for _, told := range append([]Told{t}, t.Others...) {
		said = append(said, fmt.Sprintf("since %s: %s", words.At(told.Since.In(now.Location()), now), told.Words))
	}
	return strings.Join(said, "; ")
}

// TroubleWords says in a few words what was wrong with a run.
func TroubleWords(run collection.Run) string {
	if run.Reason != "" {
		return problem.Brief(run.Reason)
	}
	if run.ExitCode == problem.ExitLater { // the other ways to this code have a reason, or no run
		return "pieces are owed that the provider could not give"
	}
	i := slices.IndexFunc(problem.ExitCodes, func(c problem.ExitCode) bool { return c.Code == run.ExitCode })
	if i < 0 {
		return fmt.Sprintf("exit code %d", run.ExitCode)
	}
	return cmp.Or(problem.ExitCodes[i].When, "it failed")
}
