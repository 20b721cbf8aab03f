package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// What cron hears. With -q a run says what needs a person, and in one line that
// it got nothing at all. With -qq it says the same problem once, then once a
// day, and that it is over. What was said before is known from the runs that
// the database has.

// sayAgainAfter is how long -qq is silent about a problem that it told.
const sayAgainAfter = 24 * time.Hour

// concludeQuietly says how a run ended, if somebody must hear of it.
func (s *session) concludeQuietly(ctx context.Context, run collection.Run, problems []problem.Problem, stops []runner.Stopped) error {
	var said []string
	calm := run.ExitCode == problem.ExitOK || run.ExitCode == problem.ExitPaused
	for _, p := range problems {
		if calm && p.Level != problem.LevelWarning || p.Level == problem.LevelPaused || p.Needs != problem.NeedsOperator {
			continue
		}
		said = append(said, renderProblem(p, s.width(), s.caps()))
	}
	if line := s.gotNothing(run, stops); line != "" && len(said) == 0 {
		said = append(said, s.caps().Text(words.Clean(line)))
	}
	if s.options.quiet > 1 {
		before, err := s.streak(ctx, run)
		switch {
		case err != nil:
			return err
		case len(said) == 0 && len(before) > 0 && calm:
			said = []string{fmt.Sprintf("recovered: %s; since %s: %s", words.Clean(run.Connector),
				words.At(before[len(before)-1].EndedAt, run.EndedAt.In(s.settings.Zone)), troubleWords(before[0]))}
		case len(said) > 0 && !sayAgain(run, before):
			said = nil
		}
	}
	for _, text := range said {
		fmt.Fprintln(s.err, text)
	}
	return nil
}

// knownBefore reports whether a gap was left to a person by a run before run,
// which said so.
func knownBefore(gap store.OwnedGap, run collection.Run) bool {
	return gap.State == collection.GapDead && gap.OpenedAt.Before(run.StartedAt)
}

// onePiece reports whether a gap is a single piece that its provider does not
// give: nothing else waits for it, and no run tries it again.
func onePiece(gap collection.Gap) bool { return gap.Permanent() && gap.Partition != "" }

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

// streak returns the runs before this one that had the same trouble, the newest
// first; for a run that went well, those of the trouble that is over.
func (s *session) streak(ctx context.Context, run collection.Run) ([]collection.Run, error) {
	own, _ := trouble(run)
	for n := 100; ; n *= 10 {
		runs, err := s.store.Runs(ctx, run.Connector, n)
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

// sayAgain reports whether a problem is told that runs had before: on each day
// since it began for the first time.
func sayAgain(run collection.Run, before []collection.Run) bool {
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
