package declarative

import (
	"time"

	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/windows"
)

// A Cut says how a list is cut into windows of time.
type Cut struct {
	Windows int64 // from where a walk goes on up to now; each takes a request or more
	Width   time.Duration
	Cap     int // records that an answer has at most: a window with as many is halved; 0: none is
}

// Cut returns how the list of a stream is cut that goes on at the mark since, or begins
// anew from it if its last walk is complete; "" is the start. ok is false for a list
// that is not cut, and where its start is no time.
func (s *Spec) Cut(stream string, params map[string]string, since string, complete bool, now time.Time) (c Cut, ok bool) {
	st := s.file.Stream(stream)
	if st == nil || st.Windows == nil {
		return c, false
	}
	w, scope := st.Windows, notation.Scope{Params: params}
	start, err := windows.Time(w.From.Expand(scope))
	if err != nil {
		return c, false
	}
	if until, err := windows.Time(w.Until.Expand(scope)); err == nil && until.Before(now) {
		now = until
	}
	c = Cut{Width: w.Step, Cap: w.Cap}
	c.Windows, err = w.Ahead(start, since, complete, now)
	return c, err == nil
}
