package declarative

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"net/http"
	"slices"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
	"collect/connectors/declarative/internal/windows"
)

// Slices yields the pages of a place, as [connectors.Connector] says.
func (c *connector) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		w, err := c.walk(client, at)
		if err != nil {
			yield(collection.Slice{}, err)
			return
		}
		ctx, from := collection.WithPlace(ctx, at), from // each range begins at from
		defer w.close()
		for {
			slice, err := w.slice(ctx, from)
			w.st.Means.Note(&slice)
			settle(w.st, &slice, w.began)
			if err == nil {
				err = w.asExpected(slice.Records)
			}
			if err != nil {
				yield(collection.Slice{}, w.inWindow(err))
				return
			}
			if !yield(slice, nil) || slice.Next.Done {
				return
			}
			if w.guard.stuck != nil {
				yield(collection.Slice{}, w.inWindow(w.guard.stuck))
				return
			}
			from = slice.Next
		}
	}
}

// asExpected refuses records that are not what the file expects of them.
func (w *walk) asExpected(records []collection.Record) error {
	for i := range records {
		if drift := w.st.Expect.Drift(records[i].Data); drift != "" {
			return w.discreet(&collection.Stop{Reason: collection.SchemaDrift, Detail: drift, Err: collection.ErrDeclared, Held: collection.Drifted(records)})
		}
	}
	return nil
}

// Ahead returns cursors by number or offset. It returns none for a stream with
// a high-water mark, whose cursors depend on the records before them, and where the
// size of a page can change: a cursor would stand for other records later.
func (c *connector) Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor {
	pg := c.counted(at, from)
	if pg == nil {
		return nil
	}
	var cursors []collection.Cursor
	for range n {
		token, err := pg.Ahead(from.Token)
		if err != nil {
			break
		}
		from.Token, from.Meaning = token, c.spec.Stream(at.Stream).Means.String()
		cursors = append(cursors, from)
	}
	return cursors
}

// Before returns the cursor a number or a page's offset less.
func (c *connector) Before(at collection.Place, from collection.Cursor) (before collection.Cursor, ok bool) {
	if pg := c.counted(at, from); pg != nil {
		before = from
		before.Token, ok = pg.Before(from.Token)
	}
	return before, ok
}

// counted returns the paging whose tokens at from we count; nil if we do not.
func (c *connector) counted(at collection.Place, from collection.Cursor) paging.Counted {
	st := c.spec.Stream(at.Stream)
	if st == nil || st.Since != nil || st.Windows != nil || st.Size != nil || from.Done {
		return nil
	}
	pg, _ := st.Page.(paging.Counted)
	return pg
}

// slice fetches the page at from and makes it a slice. A page is accepted
// whole, with the cursor that follows it, or not at all: then it is owed.
func (w *walk) slice(ctx context.Context, from collection.Cursor) (collection.Slice, error) {
	s := collection.Slice{Place: w.at, From: from}
	if w.guard == nil {
		w.guard = newGuard(w.c.limits)
		w.guard.reset(w.resumed(from).Token)
	}
	behind, from, err := partOf(from)
	if err != nil {
		return s, err
	}
	var f since.Footing
	var window windows.Window
	if w.st.Windows == nil {
		f, err = since.FootingOf(from.High)
	} else if window, err = w.openWindow(from); err == nil {
		f.Shorts = window.Shorts
	}
	if err != nil {
		return s, err
	}
	var win since.Window
	if w.st.Since != nil {
		if win, err = w.st.Since.Open(from, f, w.st.Since.Start.Expand(w.scope)); err != nil {
			return s, err
		}
	}
	w.ask(win)
	at := w.resumed(from)
	var p *paging.Page
	if w.behind = behind; w.open != nil {
		p = w.open.Page
	} else if p, at, err = w.sizedPage(ctx, at); err != nil {
		return s, err
	}
	if w.began.IsZero() {
		w.began, w.begun = p.Clock, since.LatestOf(p.Header)
	}
	p.First = w.first(from.Token) && win.Anchor == "" // an anchor is from a page before
	inParts := w.open != nil
	if !inParts {
		w.cutOverlap(p, from.Token)
		w.split(p, &s)
		if warning := w.maybeCut(p); warning != nil {
			p.Warnings = append(p.Warnings, *warning)
		}
	} else if last, err := w.nextPart(p, from, &s); err != nil || !last {
		return s, err
	}
	if err := w.keyless(p, &s); err != nil {
		return s, w.discreet(err)
	}
	s.Warnings, p.Warnings = p.Warnings, nil
	known := w.shortsAt(f)
	mark := cmp.Or(win.Asked, win.Floor, w.scope.Resume)
	p.ShortIsLast = w.believes(p, at.Token, mark, known)
	token, err := w.next(p, at)
	if err != nil {
		return s, err
	}
	within := s.Told.Within
	s.Told = w.told(p, mark, from.Token, token)
	if win.Owed { // the page is of a list that begins at another mark than the pass
		s.Told = s.Told.WithoutTotal()
	}
	if inParts {
		s.Told = s.Told.Part(within)
	}
	s.Told.Left = w.delivered(p, &s)
	if w.st.Role == collection.List && (token == "" || w.st.Since != nil) {
		s.Else = f.Restart(w.st.Since, win, from, token == "")
	}
	known = w.noteShort(p, at.Token, token, known)
	if w.st.Windows != nil {
		window.Shorts = known
		w.leaveWindow(window, p, token, &s)
		return s, nil
	}
	if pg, ok := w.st.Page.(paging.Resuming); ok && token == "" {
		s.Next, err = w.resume(pg, p, at)
		return s, err
	}
	if w.st.Since == nil {
		f.Shorts = known
		s.Next = collection.Cursor{Token: token, Since: from.Since, High: f.Text(), Version: from.Version, Done: token == ""}
		return s, nil
	}
	marks := since.MarksOf(w.st.Since.Field, speaking(s.Records))
	if inParts {
		marks = w.marks
	}
	if warning := w.ignored(win, marks, from.Token); warning != nil {
		s.Warnings = append(s.Warnings, *warning)
	}
	win.Shorts = known
	if warning := w.unanswered(win, p, token); warning != nil {
		s.Warnings = append(s.Warnings, *warning)
	}
	if win.Doubted(marks) {
		if err := w.confirm(ctx, win, marks); err != nil {
			return s, err
		}
	}
	if w.mayEnd(p, from.Token, s.Told) {
		win.Over = since.Over{From: w.begun, To: since.LatestOf(p.Header)}
	}
	s.Next, err = w.st.Since.Advance(&win, from, marks, token, p.Clock)
	if s.Next.Done && token != "" {
		s.Told.End = collection.EndKnown
	}
	if s.Told.Tie = win.Left != ""; !s.Told.Tie && !s.Next.Done {
		s.Else = nil
	}
	if s.Next.Token == "" {
		w.guard.reset("")
	}
	return s, err
}

// next returns the token of the page after p, which is at from.
func (w *walk) next(p *paging.Page, from collection.Cursor) (token string, err error) {
	if _, headers := w.st.Page.(paging.Bare); (headers || p.Body != nil) && !p.Single {
		p.Reached = w.reached(p, from.Token)
		if token, err = w.st.Page.Next(p, from.Token); err != nil {
			return "", w.discreet(err)
		}
		if err := w.end(p, token); err != nil {
			return "", err
		}
		if _, ok := w.st.Page.(paging.Linked); ok && token != "" {
			if token, err = w.link(token, from.Token); err != nil {
				return "", err
			}
		}
	}
	if err := w.storable(token); err != nil {
		return "", err
	}
	next, err := w.guard.check(p, w.st, from.Token, token)
	return next, w.discreet(err)
}

// storable refuses a token that has the credential in it, or that would be sent in
// its place.
func (w *walk) storable(token string) error {
	credential := func(f paging.Field) bool {
		return w.c.secrets.in(f.Value) || slices.Contains(w.c.keysInQuery, f.Name)
	}
	if w.c.secrets.in(token) || slices.ContainsFunc(w.sent(token), credential) {
		return paging.BadPage("the cursor of the next page contains the credential, so it is not stored")
	}
	return nil
}

// end refuses a page that is the last one, by what the file says, and shows that
// it is not: by its Link to the next one, or by as many records as the query asks
// for.
func (w *walk) end(p *paging.Page, next string) error {
	links, byHeader := w.st.Page.(paging.ByHeader)
	silent := byHeader && !(p.First && links.Forward()) // a later page came by a link
	_, one := w.st.Page.(paging.OnePage)
	capped := w.st.Windows != nil && w.st.Windows.Full(len(p.Elements)) // it is halved, and the rest asked for
	if next != "" || silent || p.Reached || capped || w.st.Role == collection.Detail || len(p.Elements) == 0 && !one {
		return nil
	}
	if one && !paging.TellsAll(p, w.st.Total) {
		if name := w.asksFor(p.Had()); name != "" {
			return paging.BadPage("%d records came, exactly as many as `%s` asks for, but `page` says that the list is one page: say with `page` how to read the next one", p.Had(), name)
		}
	}
	if name := paging.SaysMore(p.Body, w.st.Records.Path); name != "" && !(byHeader && name == "more") {
		return paging.BadPage("`%s` is true, so there is another page, but `page` in the connector file does not find it: correct `page`", name)
	}
	if link, _ := paging.LinkTarget(p.Header.Values("Link"), "next"); link != "" {
		return paging.BadPage("the answer has a Link to the next page (rel=next), but `page` in the connector file does not find one: use page: {link_header: next}, or correct `page`")
	}
	return nil
}

// cutOverlap takes what the page at token repeats of the page before out of its
// elements.
func (w *walk) cutOverlap(p *paging.Page, token string) {
	o, ok := w.st.Page.(paging.Overlapping)
	if !ok {
		return
	}
	if n := len(p.Elements); n > 0 {
		p.LastName = w.nameOf(p.Elements[n-1])
		p.Seam = w.nameOf(p.Elements[0])
		over := min(n, o.Overlap(token))
		p.Overlapped, p.Elements = p.Elements[:over], p.Elements[over:]
		if p.Deleted != nil {
			p.Deleted = p.Deleted[over:]
		}
	}
}

// split sorts the elements of p into records and what cannot be one.
//
// Where two on one page have the same key and other bytes, the one with the
// later mark is the record, or else the last one. The other may be an older version of it; but if the key is not unique
// to a record, it is another record, and must not be gone.
func (w *walk) split(p *paging.Page, s *collection.Slice) {
	s.Records = make([]collection.Record, 0, len(p.Elements))
	had := make(map[string]int, len(p.Elements))
	again := false
	feed := resumes(w.st) // where a record may have changed twice
	deleted := false      // what is made of the element is
	add := func(data, sent []byte, reject string) {
		key := ""
		switch {
		case reject != "":
		case data[0] != '{':
			reject = notAnObject
		case int64(len(data)) > w.c.limits.Record:
			reject = tooLarge
		case nestsDeeper(data, deepest):
			reject = tooDeep
		default:
			key, reject = w.st.KeyOf(data, w.vars)
		}
		if reject != "" {
			if reject == tooLarge || reject == notAnObject {
				data = collection.Shortened(data)
			}
			s.Rejected = append(s.Rejected, collection.Rejected{Data: data, Reason: reject})
			return
		}
		r := collection.Record{Key: key, Data: data, Deleted: deleted, Sent: sent}
		if w.st.Since != nil {
			r.Mark = w.st.Since.MarkOf(data)
		}
		if at, ok := had[key]; ok {
			same := bytes.Equal(s.Records[at].Data, data)
			if !same && s.Records[at].Mark.After(r.Mark) {
				s.Rejected = append(s.Rejected, collection.Rejected{Data: data, Reason: collection.KeyCollision})
				return
			}
			if !same && !feed {
				s.Rejected = append(s.Rejected, collection.Rejected{Data: s.Records[at].Data, Reason: collection.KeyCollision})
			}
			s.Records[at].Data, again = nil, true
		}
		had[key] = len(s.Records)
		s.Records = append(s.Records, r)
	}
	for i, data := range p.Elements {
		if data[0] == '{' {
			p.Last = data
		}
		deleted = p.Deleted != nil && p.Deleted[i]
		w.mapped(data, add)
	}
	if again {
		s.Records = slices.DeleteFunc(s.Records, func(r collection.Record) bool { return r.Data == nil })
	}
}

// speaking returns the records without those that only say that one was deleted,
// and not when.
func speaking(records []collection.Record) []collection.Record {
	silent := func(r collection.Record) bool { return r.Deleted && r.Mark == (collection.Mark{}) }
	if !slices.ContainsFunc(records, silent) {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), silent)
}

// keyless refuses the first page of a list that has nothing stored yet if none of
// its records has the key: then it is the file that names another one, and page
// after page would go into quarantine.
func (w *walk) keyless(p *paging.Page, s *collection.Slice) error {
	if w.st.Role == collection.Detail || !p.First || s.From.Since != "" || s.Told.Within || len(s.Records) > 0 || len(s.Rejected) == 0 {
		return nil
	}
	for _, part := range w.st.Key {
		if part.Binding != "" {
			continue
		}
		lacks := func(r collection.Rejected) bool { return r.Reason == compile.NoKey && part.Path.Absent(r.Data) }
		if !slices.ContainsFunc(s.Rejected, func(r collection.Rejected) bool { return !lacks(r) }) {
			return paging.BadPage("no record has `%s`, the key%s", part.Path.Text, paging.FieldNames(s.Rejected[0].Data))
		}
	}
	return nil
}
