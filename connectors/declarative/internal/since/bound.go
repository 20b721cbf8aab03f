package since

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// begin returns the bound of a walk whose first page has the marks m and was
// asked for at clock. top is a mark that the walks before saw: it was given out before
// this walk began, so that an update behind this walk has a later one, however low
// the marks of its first page are.
func (s *Since) begin(m Marks, clock time.Time, top string) bound {
	if _, known := s.moment(m.high); known && !clock.IsZero() {
		return bound{By: clock}
	}
	if s.Lookback == 0 {
		return bound{By: clock, First: m.second} // another update may have the same mark, and "since" may mean after
	}
	return bound{By: clock, First: latest(m.high, top)}
}

// until returns the highest mark that a walk may leave behind that is not
// known to be in order and saw high; "" if there is none. Where the provider's
// clock cannot be compared with the marks, the first page decides.
func (s *Since) until(b bound, high string) string {
	if _, known := s.moment(high); !known || b.By.IsZero() {
		if later(high, b.First) {
			high = b.First
		}
	}
	return s.notAfter(high, b.By)
}

// notAfter returns the mark, or clock in its place if the mark is later: a
// record that claims to be of next year must not hide all that changes until
// then. It returns the mark if the two cannot be compared.
func (s *Since) notAfter(mark string, clock time.Time) string {
	if t, known := s.moment(mark); known && !clock.IsZero() && t.After(clock) {
		return writtenLike(mark, clock)
	}
	return mark
}

// moment returns the time that a mark stands for. known is false if it may
// stand for something else: a number that the file does not call a time, or a
// time of day of we do not know where.
func (s *Since) moment(text string) (t time.Time, known bool) {
	switch m := newMark(text); m.kind {
	case timeMark:
		_, layout, _ := ParseTime(text)
		return m.time, strings.Contains(layout, "Z0")
	case numberMark:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || s.Format == "" {
			return t, false
		}
		if n > milliseconds {
			return time.UnixMilli(int64(n)), true
		}
		return time.Unix(int64(n), 0), true
	}
	return t, false
}

// writtenLike writes t as the mark sample is written, or as an earlier time if
// that has no place for all of it.
func writtenLike(sample string, t time.Time) string {
	if m := newMark(sample); m.kind == timeMark {
		_, layout, _ := ParseTime(sample)
		return formatLike(t.In(m.time.Location()), layout, sample)
	}
	if n, _ := strconv.ParseFloat(sample, 64); n > milliseconds {
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// ClockOf returns the latest second that was surely over by the clock of the
// provider when a request was sent, took ago; zero if the response has no
// date. The date has whole seconds and is of the end of the work (RFC 9110,
// section 6.6.1), so that both what it leaves out and the time that the
// request took are taken off.
func ClockOf(header http.Header, took time.Duration) time.Time {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return date.Add(-took - time.Second).UTC().Truncate(time.Second)
}

// LatestOf returns the first second that was surely not over by the clock of the
// provider when it answered; zero if the response has no date.
func LatestOf(header http.Header) time.Time {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return date.Add(time.Second)
}
