package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/report/problem"
)

// conclude says how the run ended: the last event, the problems that need
// somebody, and the summary.
func (s *session) conclude(ctx context.Context, ended engine.Ended) error {
	s.show.Close()
	c, err := s.run.Conclude(ctx, ended, s.options.quiet == 0)
	if err != nil {
		return err
	}
	c.Summary.State = words.Home(s.settings.State, s.env)
	if events := s.show.Events(); events != nil {
		for _, p := range c.Problems {
			s.say(p)
		}
		sum := c.Summary
		events.Finish(collection.Event{
			Time: sum.Ended, Kind: collection.RunFinished, Run: sum.Run, Connector: sum.Connector, Provider: sum.Provider,
		}, sum.Line())
		if err := events.Err(); err != nil {
			return &problem.OutputError{Err: err}
		}
		return nil
	}
	problems := c.Problems
	if s.options.quiet > 0 {
		if problems, err = s.heard(ctx, s.run, c, s.options.quiet, s.settings.Zone); err != nil {
			return err
		}
	}
	for _, p := range problems {
		if p.Level == problem.LevelPaused { // a pause is what the summary says first
			continue
		}
		fmt.Fprintln(s.err, renderProblem(p, s.width(), s.caps()))
	}
	if s.options.quiet > 0 {
		return nil
	}
	fmt.Fprint(s.err, renderSummary(c.Summary, s.width(), s.caps()))
	return s.stepSummary(githubSummary(c.Summary), c.Problems)
}

// heard returns the problems of a run that must be heard with -q, and says the
// line that must be.
func (a *app) heard(ctx context.Context, run *engine.Run, c engine.Conclusion, quiet int, zone *time.Location) ([]problem.Problem, error) {
	must, err := run.Hear(ctx, run.Record(), c, quiet > 1, zone)
	if err == nil && must.Line != "" {
		fmt.Fprintln(a.err, a.caps().Text(words.Clean(must.Line)))
	}
	return must.Problems, err
}

// stepSummary appends a summary to the page of a GitHub workflow step, and puts
// problems beside the lines of files.
func (a *app) stepSummary(text string, problems []problem.Problem) error {
	if !underGitHub(a.env) {
		return nil
	}
	fmt.Fprint(a.err, githubAnnotations(problems))
	path := a.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
