package picture_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/internal/picture"
	"collect/internal/texttest"
)

func day(month, day int) time.Time {
	return time.Date(2026, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

// spring is a calendar with every state, whose summer is complete.
func spring() picture.Calendar {
	return picture.NewCalendar(day(2, 27), day(11, 30), func(d time.Time) picture.Day {
		within := func(first, last time.Time) bool { return !d.Before(first) && !d.After(last) }
		switch {
		case within(day(3, 9), day(3, 14)):
			return picture.Owed
		case within(day(5, 14), day(5, 16)):
			return picture.Stuck
		case d.Equal(day(6, 6)), d.Equal(day(6, 7)):
			return picture.Empty
		case within(day(11, 22), day(11, 30)):
			return picture.NotReached
		}
		return picture.Complete
	})
}

func TestCalendarText(t *testing.T) {
	texttest.Same(t, "80 columns", spring().Text(80, true), `           1        10        20         31
2026-02                              ■■
2026-03    ■■■■■■■■▨▨▨▨▨▨■■■■■■■■■■■■■■■■■  6 owed
2026-04    ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
2026-05    ■■■■■■■■■■■■■×××■■■■■■■■■■■■■■■  3 stuck
2026-06    ■■■■■□□■■■■■■■■■■■■■■■■■■■■■■■   2 complete, no records
2026-07 to 2026-10: all complete
2026-11    ■■■■■■■■■■■■■■■■■■■■■·········   9 not reached

■ complete  □ complete, no records  ▨ owed  × stuck  · not reached
(blank: outside of what is collected)
`)
	texttest.Same(t, "50 columns, ASCII", spring().Text(50, false), `        1        10        20         31
26-02                             ##
26-03   ########??????#################
26-04   ##############################
26-05   #############xxx###############
26-06   #####00#######################
26-07 to 26-10: all complete
26-11   #####################.........

# complete  0 complete, no records  ? owed
x stuck  . not reached
(blank: outside of what is collected)
`)
	if got, want := spring().Sentence(), "277 days, 2026-02-27 to 2026-11-30: 257 complete; 2 complete, no records; 6 owed; 3 stuck; 9 not reached"; got != want {
		t.Errorf("Sentence() = %q, want %q", got, want)
	}
}

// spent is what a run took its time for.
var spent = picture.Stack{Title: "where the 83 min went", Parts: []picture.Part{
	{Name: "fetching and saving", Value: 41, Text: "41 min"}, {Name: "pacing", Value: 24, Text: "24 min"}, {Name: "never"},
	{Name: "acme asked us to wait", Value: 17.9, Text: "18 min"}, {Name: "breaker open", Value: 0.1, Text: "6 s"},
}}

func TestStackText(t *testing.T) {
	texttest.Same(t, "50 columns", spent.Text(50, true), `█████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒▒▒▒░
█ fetching and saving    41 min   49 %
▓ pacing                 24 min   28 %
▒ acme asked us to wait  18 min   21 %
░ breaker open              6 s   <1 %
`)
	if got := (picture.Stack{Title: "where nothing went"}).Text(50, true); got != "" {
		t.Errorf("of nothing: %q, want nothing", got)
	}
	// Each part is seen, however narrow the bar is.
	for columns := range 12 {
		bar, _, _ := strings.Cut(spent.Text(columns, false), "\n")
		if n := len(bar); n != max(4, columns) || strings.Count(bar, ":") == 0 {
			t.Errorf("in %d columns: %q", columns, bar)
		}
	}
}

// A blank in a spark is a time without requests, and only that.
func TestSparkIsBlankWithoutRequests(t *testing.T) {
	s := picture.Spark{Moments: []picture.Moment{{Requests: 1}, {}, {Requests: 1000}, {Throttled: true}, {Requests: 500}}}
	for _, test := range []struct {
		n           int
		utf8        bool
		bars, marks string
	}{
		{7, true, "▁ █ ▄  ", "···×·  "},
		{3, true, "█ ▄", "·×·"},
		{5, false, "_ @ =", "...x."},
	} {
		if got := s.Bars(test.n, test.utf8); got != test.bars {
			t.Errorf("Bars(%d, %t) = %q, want %q", test.n, test.utf8, got, test.bars)
		}
		if got := s.Marks(test.n, test.utf8); got != test.marks {
			t.Errorf("Marks(%d, %t) = %q, want %q", test.n, test.utf8, got, test.marks)
		}
	}
}

// drawn are pictures of every kind, empty ones and ones full of markup among them.
func drawn() map[string]interface {
	SVG(picture.Size) string
	Sentence() string
} {
	hostile := `<script>&"'` + "\x1b[2J\u202e"
	many := picture.Spark{Unit: "minute"}
	for i := range 500 {
		many.Moments = append(many.Moments, picture.Moment{Requests: int64(i % 7), Throttled: i%11 == 0})
	}
	return map[string]interface {
		SVG(picture.Size) string
		Sentence() string
	}{
		"calendar":     spring(),
		"no calendar":  picture.Calendar{},
		"stack":        spent,
		"no stack":     picture.Stack{},
		"strange part": picture.Stack{Title: hostile, Parts: []picture.Part{{Name: strings.Repeat(hostile, 9), Value: 1, Text: hostile}}},
		"spark":        many,
		"no spark":     picture.Spark{},
		"rate":         asked(),
		"no rate":      picture.Rate{},
		"burn-down":    owing(),
		"no burn-down": picture.Burndown{},
		"breaker":      doors(),
		"no breaker":   picture.Breaker{},
	}
}

// What an accessibility checker does not see inside of a picture: no style attribute,
// text that can be read at each size and is inside of the picture and never on
// hatching, and a sentence with the numbers.
func TestSVG(t *testing.T) {
	for name, p := range drawn() {
		for _, size := range []picture.Size{picture.Wide, picture.Narrow} {
			text := p.SVG(size)
			svg := parse(t, text)
			for _, problem := range svg.problems(float64(size)) {
				t.Errorf("%s in %d: %s\n%s", name, size, problem, text)
			}
			if svg.attr("role") != "img" || svg.attr("aria-label") == "" && p.Sentence() != "" {
				t.Errorf("%s in %d: role %q, label %q", name, size, svg.attr("role"), svg.attr("aria-label"))
			}
		}
	}
	parse(t, picture.Sprite)
	if strings.Contains(picture.Sprite, "display") {
		t.Error("the sprite is hidden, and its patterns with it")
	}
}

// Neighbours in one state are one rectangle: a row of a month has few of them.
func TestNeighboursAreMerged(t *testing.T) {
	march := 0
	for _, title := range parse(t, spring().SVG(picture.Wide)).titles() {
		if strings.HasPrefix(title, "2026-03") {
			march++
		}
	}
	if march != 3 {
		t.Errorf("March has %d rectangles, want 3", march)
	}
}

type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func parse(t *testing.T, text string) (e element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&e); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("something follows the picture (%v):\n%s", err, text)
	}
	return e
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) number(name string) float64 {
	n, _ := strconv.ParseFloat(e.attr(name), 64)
	return n
}

func (e element) each(yield func(element)) {
	yield(e)
	for _, child := range e.Children {
		child.each(yield)
	}
}

func (e element) titles() (titles []string) {
	e.each(func(e element) {
		if e.XMLName.Local == "title" {
			titles = append(titles, e.Text)
		}
	})
	return titles
}

// problems returns what is wrong with a picture of a width.
func (e element) problems(width float64) (problems []string) {
	var found, hatched []element
	e.each(func(e element) {
		if e.attr("style") != "" || e.XMLName.Local == "script" {
			problems = append(problems, "a style or a script: "+e.XMLName.Local)
		}
		switch e.XMLName.Local {
		case "text":
			found = append(found, e)
		case "rect":
			if strings.HasPrefix(e.attr("fill"), "url(") {
				hatched = append(hatched, e)
			}
			if x := e.number("x"); x < 0 || x+e.number("width") > width+0.5 || e.number("width") <= 0 {
				problems = append(problems, fmt.Sprintf("a rectangle at %g that is %g wide", x, e.number("width")))
			}
		}
	})
	for _, text := range found {
		size, x := text.number("font-size"), text.number("x")
		wide := float64(len([]rune(text.Text))) * size * 0.55
		switch text.attr("text-anchor") {
		case "middle":
			x -= wide / 2
		case "end":
			x -= wide
		}
		if size < 10.5 || size > 16 {
			problems = append(problems, fmt.Sprintf("%q is %g px high", text.Text, size))
		}
		if x < -1 || x+wide > width+1 {
			problems = append(problems, fmt.Sprintf("%q goes from %g to %g", text.Text, x, x+wide))
		}
		for _, box := range hatched {
			if x < box.number("x")+box.number("width") && x+wide > box.number("x") && text.number("y") > box.number("y") && text.number("y")-size < box.number("y")+box.number("height") {
				problems = append(problems, fmt.Sprintf("%q is on hatching", text.Text))
			}
		}
	}
	return problems
}
