package live

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/texttest"
	"collect/internal/words"
)

// A screen is a terminal of a few rows: it knows the control sequences that
// the live block uses, and nothing else.
type screen struct {
	mu      sync.Mutex
	t       *testing.T
	columns int
	lines   []string // all lines ever, the last ones visible
	row     int      // of the cursor, among lines
	cursor  bool
	frames  int
}

func newScreen(t *testing.T, columns int) *screen {
	return &screen{t: t, columns: columns, lines: []string{""}, cursor: true}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(p)
	for text != "" {
		if loc := words.Escapes().FindStringIndex(text); loc != nil && loc[0] == 0 {
			s.control(text[:loc[1]])
			text = text[loc[1]:]
			continue
		}
		switch text[0] {
		case '\r':
		case '\n':
			s.row++
			if s.row == len(s.lines) {
				s.lines = append(s.lines, "")
			}
		default:
			end := strings.IndexAny(text, "\r\n\x1b")
			if end < 0 {
				end = len(text)
			}
			for s.lines[s.row] += text[:end]; term.Width(s.lines[s.row]) > s.columns; {
				head := strings.TrimSuffix(term.Fit(s.lines[s.row], s.columns+1), "…")
				tail := strings.TrimPrefix(s.lines[s.row], head)
				s.lines[s.row] = head
				s.row++
				s.lines = append(s.lines[:s.row], append([]string{tail}, s.lines[s.row:]...)...)
			}
			text = text[end:]
			continue
		}
		text = text[1:]
	}
	return len(p), nil
}

func (s *screen) control(sequence string) {
	var up int
	switch {
	case sequence == eraseLine:
		s.lines[s.row] = ""
	case sequence == "\x1b[1B":
		if s.row++; s.row == len(s.lines) {
			s.t.Errorf("the cursor moved below the last line")
			s.row--
		}
	case sequence == cursorHide:
		s.cursor = false
	case sequence == cursorShow:
		s.cursor = true
	case sequence == syncBegin:
		s.frames++
	case sequence == syncEnd:
	default:
		if _, err := fmt.Sscanf(sequence, "\x1b[%dA", &up); err != nil {
			s.t.Errorf("unknown control sequence %q", sequence)
		}
		if s.row -= up; s.row < 0 {
			s.t.Errorf("the cursor moved %d rows above the screen", -s.row)
			s.row = 0
		}
	}
}

// text returns what was ever on the screen.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimRight(strings.Join(s.lines, "\n"), "\n")
}

// resize makes the terminal narrower: lines wrap, as terminals do it.
func (s *screen) resize(columns int) {
	s.mu.Lock()
	old := strings.Join(s.lines, "\n")
	s.columns, s.lines, s.row = columns, []string{""}, 0
	s.mu.Unlock()
	s.Write([]byte(old))
}

func (s *screen) size() (int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, 24
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scr := newScreen(t, 80)
		v := &View{}
		l := StartBlock(scr, scr.size, term.Caps{UTF8: true}, v)
		start := time.Now()
		event := func(kind collection.EventKind) collection.Event {
			return collection.Event{Time: time.Now().UTC(), Kind: kind, Run: "01JD8Z", Connector: "tickets", Provider: "acme", Stream: "issues"}
		}
		l.Observe(event(collection.RunStarted))
		time.Sleep(100 * time.Millisecond) // never at the same moment as a frame
		for range 12 {
			time.Sleep(time.Second)
			e := event(collection.SliceCommitted)
			e.Slice = &collection.SliceInfo{Records: 100}
			l.Observe(e)
		}
		e := throttled(time.Now().UTC())
		l.Observe(e)
		time.Sleep(time.Second)
		synctest.Wait()

		block := strings.Join(v.Frame(time.Now()).Block(80, 24, term.Caps{UTF8: true}), "\n")
		want := "00:00:00  started run 01JD8Z\n" +
			"00:00:11  saved 11 slices of issues · 1,100 records\n" +
			"00:00:12  throttled by acme: 429, Retry-After 6 s. Rate 4.0/s -> 3.5/s\n" + block
		texttest.Same(t, "while it runs", scr.text(), want)
		if scr.cursor {
			t.Error("the cursor is visible while the block is drawn")
		}
		if got, most := scr.frames, framesPerSecond*int(time.Since(start)/time.Second); got > most || got < most-1 {
			t.Errorf("%d frames were drawn, want %d", got, most)
		}

		scr.resize(60) // nothing of the wider block stays
		time.Sleep(time.Second)
		synctest.Wait()
		if got := strings.Count(scr.text(), "\n tickets · collecting"); got != 1 {
			t.Errorf("after the terminal became narrower, %d blocks are on it, want 1:\n%s", got, scr.text())
		}

		l.Say("the end")
		l.Close()
		l.Close()
		l.Say("after the end")
		if got := scr.text(); strings.Contains(got, "breaker") || !strings.HasSuffix(got, "\nthe end\n00:00:14  saved 1 slice of issues · 100 records\nafter the end") {
			t.Errorf("after Close the screen shows:\n%s", got)
		}
		if !scr.cursor {
			t.Error("the cursor is hidden after Close")
		}
	})
}

// A panic must not leave a terminal without a cursor.
func TestLiveRestoresTheCursorAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scr := newScreen(t, 80)
		func() {
			defer func() { recover() }()
			l := StartBlock(scr, scr.size, term.Caps{}, &View{})
			defer l.Close()
			time.Sleep(time.Minute)
			panic("a bug")
		}()
		if scr.frames < 100 || !scr.cursor {
			t.Errorf("after %d frames and a panic, cursor visible = %v, want true", scr.frames, scr.cursor)
		}
	})
}

// A thousand gaps at once must neither flood the terminal nor disappear.
func TestLiveBoundsItsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scr := newScreen(t, 80)
		l := StartBlock(scr, scr.size, term.Caps{UTF8: true}, &View{})
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				l.Observe(collection.Event{Kind: collection.GapOpened, Stream: "issues", Gap: &collection.GapInfo{ID: int64(i), Reason: collection.NotFound, Kind: collection.Stuck}})
			})
		}
		wg.Wait()
		l.Close()
		lines := strings.Split(scr.text(), "\n")
		if got, want := len(lines), linesPerFrame+1; got != want {
			t.Errorf("%d lines for 1,000 gaps, want %d", got, want)
		}
		if got, want := lines[len(lines)-1], "          and 980 more lines"; got != want {
			t.Errorf("last line = %q, want %q", got, want)
		}
	})
}

func TestProgressMode(t *testing.T) {
	tests := []struct {
		want     string
		env      map[string]string
		terminal bool
		got      string
	}{
		{"", nil, true, "live"},
		{"auto", nil, false, "plain"},
		{"auto", map[string]string{"COLLECT_FORCE_TTY": "1"}, false, "live"},
		{"auto", map[string]string{"TERM": "dumb"}, true, "plain"},
		{"auto", map[string]string{"CI": "true"}, true, "plain"},
		{"auto", map[string]string{"ACCESSIBLE": "1"}, true, "plain"},
		{"auto", map[string]string{"ACCESSIBLE": "0"}, true, "live"},
		{"auto", map[string]string{"COLLECT_ACCESSIBLE": "yes"}, true, "plain"},
		{"live", nil, false, "plain"}, // a file full of control sequences helps nobody
		{"live", map[string]string{"CI": "true"}, true, "live"},
		{"plain", nil, true, "plain"},
		{"json", nil, true, "json"},
		{"none", nil, true, "none"},
		{"\x1b[2Jfancy", nil, true, ""},
	}
	for _, test := range tests {
		got, err := Mode(test.want, func(name string) string { return test.env[name] }, test.terminal)
		if got != test.got || (err != nil) != (test.got == "") {
			t.Errorf("Mode(%q, %v, %v) = %q, %v, want %q", test.want, test.env, test.terminal, got, err, test.got)
		}
	}
}
