package cmd

import (
	"context"
	"fmt"
	"io"
	"os"

	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
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
		must, err := s.run.Hear(ctx, ended.Run, c, s.options.quiet > 1, s.settings.Zone)
		if err != nil {
			return err
		}
		if problems = must.Problems; must.Line != "" {
			fmt.Fprintln(s.err, s.caps().Text(words.Clean(must.Line)))
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
	return s.stepSummary(c.Summary, c.Problems)
}

// stepSummary appends the summary to the page of a GitHub workflow step, and
// puts its problems beside the lines of files.
func (s *session) stepSummary(sum report.Summary, problems []problem.Problem) error {
	if !underGitHub(s.env) {
		return nil
	}
	fmt.Fprint(s.err, githubAnnotations(problems))
	path := s.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, githubSummary(sum))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
