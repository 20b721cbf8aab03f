package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/texttest"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/limit"
)

func TestBlock(t *testing.T) {
	after := 75 * time.Second
	limited := Totals{RequestCap: 300, Retries: 183.4, RetryCap: 200}
	frame := worked(after, limited).Frame(noon.Add(after))
	unicode := term.Caps{UTF8: true}
	tests := []struct {
		name          string
		change        func(*Frame)
		columns, rows int
		caps          term.Caps
		want          string
	}{
		{"80 columns", nil, 80, 24, unicode, `
 tickets · collecting comments
 slices    ██████████████░░░░░░░░░░░░░░░░ 405 of 812 issues · 49.8%
 records   1,176,503 saved · 0 quarantined
 rate      ▃▃▄▄   ▆▇▇██▃▃▄▄               48/min
           ····×···········               learned 210/min · ceiling 240/min
 requests  51 of 300 · 1 throttle · retries left 183 of 200
 breaker   closed · gaps opened 0
 the request cap stops this run in 2 min, near 654 of 812 issues
 ctrl-c stops after the current page; everything saved so far stays saved`},
		{"a locale without UTF-8", nil, 80, 24, term.Caps{}, `
 tickets - collecting comments
 slices    ##############................ 405 of 812 issues - 49.8%
 records   1,176,503 saved - 0 quarantined
 rate      --==   *##@@--==               48/min
           ....x...........               learned 210/min - ceiling 240/min
 requests  51 of 300 - 1 throttle - retries left 183 of 200
 breaker   closed - gaps opened 0
 the request cap stops this run in 2 min, near 654 of 812 issues
 ctrl-c stops after the current page; everything saved so far stays saved`},
		{"50 columns", nil, 50, 24, unicode, `
 tickets · collecting comments
 slices    405 of 812 issues · 49.8%
 records   1,176,503 saved · 0 quarantined
 rate         ▆▇▇██▃▃▄▄ 48/min
           learned 210/min · ceiling 240/min
 requests  51 of 300 · 1 throttle
 breaker   closed · gaps opened 0
 the request cap stops this run in 2 min
 ctrl-c stops after the current page`},
		{"49 columns", nil, 49, 24, unicode, `
 tickets · collecting · 1,176,503 saved · 48/min`},
		{"19 rows", nil, 80, 19, unicode, `
 tickets · collecting · 1,176,503 saved · 48/min`},
		{"color adds to the word", nil, 80, 19, term.Caps{UTF8: true, Color: true}, `
 tickets · ` + "\x1b[32mcollecting\x1b[0m" + ` · 1,176,503 saved · 48/min`},
		{"nothing known", func(m *Frame) {
			*m = Frame{Connector: "tickets", Provider: "acme", Slices: 412, Records: 41_300, Changed: 41_200}
		}, 80, 24, unicode, `
 tickets · collecting
 slices    412 saved · total unknown, acme does not say
 records   41,200 saved · 0 quarantined
 rate                                     0/s
                                          learned: not known yet
 requests  0 · 0 throttles
 breaker   closed · gaps opened 0
 time left: not known yet
 ctrl-c stops after the current page; everything saved so far stays saved`},
		{"a total that still grows", func(m *Frame) { m.Total.Final = false; m.Ends = ends{} }, 80, 24, unicode, `
 tickets · collecting comments
 slices    405 of 812 issues known so far
 records   1,176,503 saved · 0 quarantined
 rate      ▃▃▄▄   ▆▇▇██▃▃▄▄               48/min
           ····×···········               learned 210/min · ceiling 240/min
 requests  51 of 300 · 1 throttle · retries left 183 of 200
 breaker   closed · gaps opened 0
 time left: not known yet
 ctrl-c stops after the current page; everything saved so far stays saved`},
		{"stopping", func(m *Frame) { m.Stopping = true; m.Ends = ends{In: 3 * time.Hour}; m.Opened, m.GapsShut = 3, 2 }, 80, 24, unicode, `
 tickets · stopping comments
 slices    ██████████████░░░░░░░░░░░░░░░░ 405 of 812 issues · 49.8%
 records   1,176,503 saved · 0 quarantined
 rate      ▃▃▄▄   ▆▇▇██▃▃▄▄               48/min
           ····×···········               learned 210/min · ceiling 240/min
 requests  51 of 300 · 1 throttle · retries left 183 of 200
 breaker   closed · gaps opened 3, filled 2
 time left: about 3 h
 stopping after the current page; ctrl-c again stops now, that page replays`},
	}
	for _, test := range tests {
		m := frame
		if test.change != nil {
			test.change(&m)
		}
		got := "\n" + strings.Join(m.Block(test.columns, test.rows, test.caps), "\n")
		texttest.Same(t, test.name, got, test.want)
	}
}

func TestBlockSaysWhatItWaitsFor(t *testing.T) {
	throttle := collection.ThrottleInfo{Signal: "429", RetryAfter: new(60.0)}
	tests := []struct {
		m    Frame
		want string
	}{
		{Frame{Waiting: 38 * time.Second, Cause: collection.WaitRetryAfter, Throttle: throttle}, "waiting 38 s: acme asked us to (429, Retry-After 60)"},
		{Frame{Waiting: 37*time.Second + 1, Cause: collection.WaitRetryAfter}, "waiting 38 s: acme asked us to"},
		{Frame{Waiting: 4 * time.Minute, Cause: collection.WaitBreaker}, "waiting 4 min: the breaker is open, acme kept failing"},
		{Frame{Waiting: 2 * time.Second, Cause: collection.WaitPacing, Pace: 0.5, Learned: 0.7}, "waiting 2 s: pacing, 30/min"},
		{Frame{Waiting: 3 * time.Hour, Cause: collection.WaitWindow}, "waiting 3 h: the ceiling for acme is used up"},
		{Frame{Waiting: 5 * time.Second, Cause: collection.WaitBackoff}, "waiting 5 s: before a retry, because acme failed"},
		{Frame{Frozen: true, Waiting: time.Minute}, "frozen: acme answered 403, all calls are stopped"},
	}
	for _, test := range tests {
		test.m.Connector, test.m.Provider = "tickets", "acme"
		for _, rows := range []int{24, 10} {
			if got, want := test.m.Block(100, rows, term.Caps{UTF8: true})[0], " tickets · "+test.want; got != want {
				t.Errorf("%d rows: got %q, want %q", rows, got, want)
			}
		}
	}
}

// Whatever it shows, the block fits: a line that wraps would leave its tail on
// the screen at every frame.
func TestBlockFits(t *testing.T) {
	m := worked(75*time.Second, Totals{RequestCap: 1 << 40, Retries: 1 << 30, RetryCap: 1 << 40}).Frame(noon.Add(75 * time.Second))
	m.Connector = "ein-sehr-langer-Name-für-einen-Connector-\x1b[2J-表計算"
	m.Provider, m.Stream, m.Total.Parent = m.Connector, m.Connector, m.Connector
	m.Saved, m.Rejected, m.Opened, m.GapsShut = 1<<50, 1<<50, 1<<50, 1<<50
	blocks, single := 0, 0
	for columns := 1; columns <= 120; columns++ {
		for _, rows := range []int{5, 24} {
			for _, c := range []term.Caps{{}, {UTF8: true}, {UTF8: true, Color: true}} {
				for _, waiting := range []time.Duration{0, time.Hour} {
					m.Waiting, m.Cause = waiting, collection.WaitRetryAfter
					lines := m.Block(columns, rows, c)
					input := fmt.Sprintf("%d by %d, %+v, waiting %v", columns, rows, c, waiting)
					if len(lines) > 9 {
						t.Errorf("%s: %d lines, want at most 9", input, len(lines))
					}
					if len(lines) == 1 {
						single++
					} else {
						blocks++
					}
					for _, line := range lines {
						seen := words.Escapes().ReplaceAllString(line, "")
						if got := term.Width(seen); got >= columns && columns > 1 {
							t.Errorf("%s: line %q takes %d columns", input, line, got)
						}
						if strings.Contains(seen, "[2J") {
							t.Errorf("%s: line %q lets an escape through", input, line)
						}
						if !c.UTF8 && strings.Trim(seen, asciiLetters) != "" {
							t.Errorf("%s: line %q is not ASCII", input, line)
						}
					}
				}
			}
		}
	}
	if blocks == 0 || single == 0 {
		t.Errorf("%d blocks and %d single lines were drawn, want both", blocks, single)
	}
}

// asciiLetters are the printable characters of ASCII.
var asciiLetters = func() string {
	var b strings.Builder
	for c := byte(' '); c < 0x7f; c++ {
		b.WriteByte(c)
	}
	return b.String()
}()

// What limits the pace fits into the block, whatever it is.
func TestBlockNamesTheLimit(t *testing.T) {
	for _, bound := range gate.Bounds() {
		k := gate.Constraint{Name: bound, Binds: true}
		f := Frame{Connector: "acme", RateNow: 99.4, Limit: gate.Status{Constraints: []gate.Constraint{k}}}
		want := "limited by " + limit.For(&k, false).Name + "\n"
		if lines := strings.Join(f.Block(80, 24, term.Caps{}), "\n"); !strings.Contains(lines, want) {
			t.Errorf("%q is not in\n%s", want, lines)
		}
	}
}

// TestFrameOfARoute: of several routes, what was found is said of the one that limits.
func TestFrameOfARoute(t *testing.T) {
	f := Frame{Now: noon, Connector: "tickets", Pace: 8, Learned: 8, RateNow: 1.2, Limit: gate.Status{Routes: 2, Constraints: []gate.Constraint{
		{Name: gate.Undeclared, PerSecond: 8}, {Name: gate.Learned, Route: "two", PerSecond: 1.1, InForce: 2.2, Binds: true},
	}}}
	if got, want := f.Line(Stamped), "rate=1.2/s learned=1.1/s route=two limited_by=learned"; !strings.Contains(got, want) {
		t.Errorf("line %q, want %q in it", got, want)
	}
	if got, want := strings.Join(rateLines(f, true, term.Caps{}), "\n"), "learned 1.1/s by route two"; !strings.Contains(got, want) {
		t.Errorf("block %q, want %q in it", got, want)
	}
	f.Waiting, f.Cause = time.Second, collection.WaitPacing
	if got, want := waitWords(f), "pacing, 2.2/s"; got != want {
		t.Errorf("wait %q, want %q", got, want)
	}
}
