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
	s.unfold()
	c, err := s.run.Conclude(ctx, ended)
	if err != nil {
		return err
	}
	c.Summary.State = words.Home(s.settings.State, s.env)
	s.audience.log.Finish(report.End{Summary: c.Summary, Problems: c.Problems, Began: true})
	s.audience.ran(s.given, s.run.Hear(c))
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
	if s.options.quiet > 0 {
		return nil
	}
	for _, p := range c.Problems {
		if p.Level == problem.LevelPaused { // a pause is what the summary says first
			continue
		}
		fmt.Fprintln(s.err, s.rendered(p))
	}
	fmt.Fprint(s.err, renderSummary(c.Summary, s.width(), s.caps()))
	return s.stepSummary(githubSummary(c.Summary), c.Problems)
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
