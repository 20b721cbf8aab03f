package declarative_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/windows"
)

// FuzzWindows: whatever a provider has in each window, and wherever one is halved, the
// windows that a walk finishes cover the time from its start to its end without a hole;
// the mark it leaves is behind none of them, was over by the provider's clock, and never
// goes back; and the walk ends.
func FuzzWindows(f *testing.F) {
	f.Add(uint16(7*24), uint16(1), uint16(24), uint8(10), uint8(0), uint16(0), []byte("\x0a\x0a\x01\x1f\x3f\x00\xff"))
	f.Add(uint16(24), uint16(24), uint16(0), uint8(1), uint8(1), uint16(900), []byte("\x21\x21\x21\x21"))
	f.Add(uint16(1), uint16(1), uint16(3), uint8(0), uint8(2), uint16(40), []byte("\x10\x10\x10"))
	f.Fuzz(func(t *testing.T, step, least, lookback uint16, most, format uint8, until uint16, history []byte) {
		if len(history) > 300 {
			return
		}
		s := &windows.Windows{Format: windows.Formats[int(format)%len(windows.Formats)], Cap: int(most)}
		unit := windows.Unit(s.Format)
		grain := max(unit, 90*time.Second).Truncate(unit)
		s.Least = unit + time.Duration(least)*grain
		s.Step = max(s.Least, time.Duration(step)*grain)
		s.Lookback = time.Duration(lookback) * time.Minute
		start := time.Date(2024, 1, 1, 5, 30, 7, 0, time.UTC)
		now := start.Add(50*s.Step + 11*time.Second)
		var bound time.Time
		if until > 0 {
			bound = start.Add(time.Duration(until) * s.Step / 16)
		}
		var from collection.Cursor
		for walk := range 3 {
			now = now.Add(time.Duration(walk) * 41 * time.Second)
			began, mark := now, from.Since
			reach, opened := time.Time{}, false
			for steps := 0; ; steps++ {
				if steps > 2000 {
					t.Fatalf("walk %d does not end: it is at %+v", walk, from)
				}
				w, err := s.Open(from, start, now)
				if err != nil {
					t.Fatal(err)
				}
				if !opened {
					reach, opened = w.From, true
					done, err := windows.Time(mark)
					if first := start.Truncate(unit); w.From.After(start) && (err != nil || w.From.After(done)) || w.From.Before(first) {
						t.Fatalf("walk %d begins at %s, behind the mark %q", walk, w.From, mark)
					}
				}
				if from.Token == "" && (w.From.After(reach) || !w.From.Before(w.To)) {
					t.Fatalf("walk %d is whole up to %s, and asks for %s to %s", walk, reach, w.From, w.To)
				}
				answered := byte(0)
				if len(history) > 0 {
					answered, history = history[0], history[1:]
				}
				p := windows.Page{Records: int(answered & 0x0f), Asked: now, Answered: now.Add(time.Duration(answered>>6) * time.Second), Until: bound}
				if answered&0x10 != 0 {
					p.Token = "next"
				}
				if answered&0x20 != 0 {
					p.Total = int64(most) + 1
				}
				now = now.Add(time.Duration(answered>>6) * 700 * time.Millisecond)
				next, again, _ := s.Advance(w, from, p)
				if again != nil {
					if w.To.After(reach) {
						reach = w.To
					}
					if at, err := s.Open(*again, start, now); err != nil || !at.From.Equal(w.From) || !at.To.Equal(w.To) || at.Had != 0 {
						t.Fatalf("%s to %s begins anew at %+v, %v", w.From, w.To, at, err)
					}
				}
				if next.Since != mark || next.Done {
					done, err := windows.Time(next.Since)
					if was, none := windows.Time(mark); err != nil || done.After(reach) || done.After(began) || none == nil && done.Before(was) {
						t.Fatalf("walk %d has finished up to %s, began at %s, and its mark is %q, was %q", walk, reach, began, next.Since, mark)
					}
				}
				from = next
				if next.Done {
					break
				}
			}
			end := began
			if !bound.IsZero() && bound.Before(end) {
				end = bound
			}
			if reach.Before(end) && reach.After(start) {
				t.Fatalf("walk %d ended at %s, want %s", walk, reach, end)
			}
			from.Done = false
		}
	})
}
