package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collect/cmd/internal/live"
	"collect/report/problem"
	"collect/store"
)

// watchStatus draws the status until somebody quits, and prints it once more below
// the command: the screen that was watched is gone then.
func (a *app) watchStatus(ctx context.Context, o statusView) error {
	switch {
	case o.check:
		return problem.Usage("--check prints nothing, so there is nothing to --watch")
	case a.flags.json || !a.terminal || !a.shown:
		return problem.Usage("--watch draws on a terminal, and here is none; a program asks again with: collect status --json")
	}
	var w watched
	err := live.Watch(ctx, a.in, a.out, a.size(), func(ctx context.Context) (live.Picture, error) {
		err := a.lookQuietly(ctx, o.names, func(v looked) error {
			all, err := a.statuses(ctx, v)
			if err == nil {
				w.saw(a.nothingOr(v, a.statusText(o, all, v.now)), v.now)
			}
			return err
		})
		return w.picture(err)
	})
	switch e, ok := errors.AsType[*lookError](err); {
	case ok:
		return a.exit(e.error, e.scene)
	case err != nil:
		return err
	case w.away:
		_, err := fmt.Fprintf(a.out, "%s\n%s\n", w.text, w.note())
		return err
	}
	return a.printStatus(ctx, o)
}

// A watched status is kept while the server does not answer.
type watched struct {
	text string
	at   time.Time // of the last answer; zero: there was none yet
	away bool      // no answer came after it
}

// saw keeps what an answer showed.
func (w *watched) saw(text string, now time.Time) { *w = watched{text: text, at: now} }

// picture returns what to draw after a look that ended with err: the last answer, if the server
// answered before. Any other error is returned.
func (w *watched) picture(err error) (live.Picture, error) {
	switch {
	case err == nil:
		return live.Picture{Text: w.text}, nil
	case w.at.IsZero() || !errors.Is(err, store.ErrUnreachable):
		return live.Picture{}, err
	}
	w.away = true
	return live.Picture{Text: w.text, Note: w.note()}, nil
}

// note says since when there is no answer.
func (w *watched) note() string {
	return "the server has not answered since " + w.at.Format("15:04:05 MST")
}
