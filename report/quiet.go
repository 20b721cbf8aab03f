package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// Somebody who wants to hear of nothing but trouble is told the same once, then
// once a day, and that it is over. What was told before is known from the runs that
// the store has.

// sayAgainAfter is how long nothing is said of a problem that was told.
const sayAgainAfter = 24 * time.Hour

// trouble names what a run has to say to somebody who wants to hear of nothing
// else; "" if it went well. passing reports whether it says neither: it was
// asked to wait, was interrupted or died, and what was wrong may still be.
func trouble(run collection.Run) (name string, passing bool) {
	switch run.ExitCode {
	case problem.ExitOK, problem.ExitPaused, problem.ExitWarned:
		return "", run.Tally.Slices == 0 && run.Tally.Requests > 0 && run.Outcome == collection.Deferred
	case problem.ExitLater, problem.ExitInterrupt, problem.ExitTerminated, -1:
		return "", true
	}
	return fmt.Sprintf("%d %s", run.ExitCode, run.Reason), false
}

// Streak returns the runs before this one that had the same trouble, the newest
// first; for a run that went well, those of the trouble that is over.
func Streak(ctx context.Context, db store.Reader, run collection.Run) ([]collection.Run, error) {
	own, _ := trouble(run)
	for n := 100; ; n *= 10 {
		runs, err := db.Runs(ctx, run.Connector, n)
		if err != nil {
			return nil, err
		}
		runs = slices.DeleteFunc(runs, func(r collection.Run) bool { return r.ID == run.ID })
		same, whole := sameTrouble(own, runs)
		if whole || len(runs) < n-1 {
			return same, nil
		}
	}
}

// sameTrouble returns the newest runs that had trouble name; "" stands for what
// the newest of them had. whole reports whether their beginning is among runs.
func sameTrouble(name string, runs []collection.Run) (same []collection.Run, whole bool) {
	for _, run := range runs {
		had, passing := trouble(run)
		switch {
		case passing:
			continue
		case had == "" || name != "" && had != name:
			return same, true
		}
		name = had
		same = append(same, run)
	}
	return same, false
}

// SayAgain reports whether a problem is told that runs had before: on each day
// since it began for the first time.
func SayAgain(run collection.Run, before []collection.Run) bool {
	if len(before) == 0 {
		return true
	}
	began := before[len(before)-1].EndedAt
	day := func(t time.Time) int64 { return int64(t.Sub(began) / sayAgainAfter) }
	return day(run.EndedAt) > day(before[0].EndedAt)
}

// troubleWords says what was wrong with a run.
func troubleWords(run collection.Run) string {
	if run.Reason != "" {
		return problem.Brief(run.Reason)
	}
	i := slices.IndexFunc(problem.ExitCodes, func(c problem.ExitCode) bool { return c.Code == run.ExitCode })
	if i < 0 {
		return fmt.Sprintf("exit code %d", run.ExitCode)
	}
	return cmp.Or(problem.ExitCodes[i].When, "it failed")
}

// Recovered says that the trouble of the runs before is over. Times are told in the
// zone of where.
func Recovered(run collection.Run, before []collection.Run, where *time.Location) string {
	since := words.At(before[len(before)-1].EndedAt, run.EndedAt.In(where))
	return fmt.Sprintf("recovered: %s; since %s: %s", run.Connector, since, troubleWords(before[0]))
}
