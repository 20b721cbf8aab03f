package windows

import (
	"encoding/json"
	"time"

	"collect/collection"
)

// Alone returns the cursor of a walk of the rest of the window w, from the page at from
// to the end of the window.
func (s *Windows) Alone(w Window, from collection.Cursor) collection.Cursor {
	if !w.Lone {
		w.End, w.Last, w.Lone = w.To, w.To, true
	}
	alone := collection.Cursor{Since: from.Since, Version: from.Version, High: w.Text()}
	if !from.Done {
		alone.Token = from.Token
	}
	return alone
}

// Behind returns the cursor behind the window w, whose page at from cannot be had. ok is
// false if nothing is behind it yet: no answer has said when the walk began, and the window
// reaches up to now, by our clock. until is where the last window ends; zero: when the
// walk begins.
func (s *Windows) Behind(w Window, from collection.Cursor, now, until time.Time) (next collection.Cursor, ok bool) {
	next = collection.Cursor{Since: from.Since, Version: from.Version}
	bounded := !until.IsZero() && until.Before(now)
	switch {
	case !w.End.IsZero(): // w is not made wider, since its records are not known
		w.Had = s.Cap
		s.finish(w, &next)
		return next, true
	case bounded:
		now = until
	}
	if !w.To.Before(now) && !bounded {
		return next, false
	}
	next.Since = w.To.Format(time.RFC3339)
	if next.Done = !w.To.Before(now); next.Done {
		return next, true
	}
	w.From = w.To
	end := w.From.Add(s.Step)
	if end.After(now) {
		end = ceil(now, Unit(s.Format))
	}
	next.High = w.upTo(end).Text()
	return next, true
}

// Again returns the high-water mark at which the window that high stands in begins anew;
// "" if it stands in none.
func Again(high string) string {
	var w Window
	if json.Unmarshal([]byte(high), &w) != nil || w.To.IsZero() {
		return ""
	}
	return w.upTo(w.To).Text()
}
