package declarative

import (
	"context"
	"fmt"
	"slices"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// ignored returns a warning, once in a walk, where a page shows that the provider
// does not ask what the mark asks: each run then reads everything again, and
// finds that nothing is new.
func (w *walk) ignored(win since.Window, m since.Marks, token string) *collection.Warning {
	s := w.st.Since
	if w.warned || !s.Ignored(win, m) {
		return nil
	}
	if token != "" && s.Param != "" && slices.ContainsFunc(w.st.Page.Ask(token), func(f paging.Field) bool { return f.Name == s.Param }) {
		return nil // asked for without the mark
	}
	w.warned = true
	by := "the query with ${since}"
	if s.Param != "" {
		by = "`" + s.Param + "`"
	}
	return &collection.Warning{Code: collection.MarkIgnored, Text: fmt.Sprintf(
		"records came whose `%s` is earlier than the run asked for: the provider may ignore %s, and then each run reads everything again", s.Field.Text, by)}
}

// unanswered warns of a walk that asked from before the newest record and was not
// even given that one.
func (w *walk) unanswered(win since.Window, p *paging.Page, next string) *collection.Warning {
	s := w.st.Since
	if !p.First || next != "" || len(p.Elements) > 0 || win.Since == "" || s.Newest || s.Lookback <= 0 {
		return nil
	}
	return &collection.Warning{Code: collection.MarkIgnored, Text: fmt.Sprintf("`%s` asked for changes from %s before the newest record on, and not even that record came: the provider may read the time in another time zone", s.Sent(), s.Lookback)}
}

// ask has pages asked for with the mark of win from now on.
func (w *walk) ask(win since.Window) {
	w.scope.Since = win.Asked
	w.scope.Type("since", win.Asked, w.st.Since != nil && w.st.Since.Numeric())
}

// confirm asks again from the mark whose page did not have the later of the marks m,
// and returns an error if it does not have them now, when they are surely there.
func (w *walk) confirm(ctx context.Context, win since.Window, m since.Marks) error {
	again, err := w.st.Since.Again(win)
	if err != nil {
		return err
	}
	w.ask(again)
	p, at, err := w.sizedPage(ctx, collection.Cursor{})
	if err != nil {
		return err
	}
	var s collection.Slice
	w.split(p, &s)
	token := ""
	if _, headers := w.st.Page.(paging.Bare); (headers || p.Body != nil) && !p.Single {
		if token, err = w.st.Page.Next(p, at.Token); err != nil {
			return w.discreet(err)
		}
	}
	return w.discreet(w.st.Since.Confirm(win, m, since.MarksOf(w.st.Since.Field, speaking(s.Records)), token != ""))
}
