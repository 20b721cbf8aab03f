package picture

import (
	"fmt"
	"strings"

	"collect/internal/words"
)

// A Spark shows how many requests left in each of equal times, the newest on the
// right. A blank is a time without requests: a low bar is a low rate, and no wait.
type Spark struct {
	Moments []Moment
	Unit    string // what one moment is: minute
}

// A Moment is one bar of a spark.
type Moment struct {
	Requests  int64
	Throttled bool // the provider refused then
}

// newest returns the last n moments.
func (s Spark) newest(n int) []Moment { return s.Moments[max(0, len(s.Moments)-n):] }

func most(moments []Moment) (n int64) {
	for _, m := range moments {
		n = max(n, m.Requests)
	}
	return n
}

// Sentence says the numbers.
func (s Spark) Sentence() string {
	var sum int64
	throttled := 0
	for _, m := range s.Moments {
		sum += m.Requests
		if m.Throttled {
			throttled++
		}
	}
	return fmt.Sprintf("%s in %s; at most %s in one; throttled in %s", words.Counted(sum, "request", "requests"),
		words.Counted(int64(len(s.Moments)), s.Unit, s.Unit+"s"), words.Count(most(s.Moments)), words.Count(int64(throttled)))
}

// Bars returns a line of bars, n columns wide. The highest one is the most that is shown.
func (s Spark) Bars(n int, utf8 bool) string {
	bars, moments := glyphs(utf8, "▁▂▃▄▅▆▇█", "_.-=+*#@"), s.newest(n)
	highest := most(moments)
	var b strings.Builder
	for _, m := range moments {
		if m.Requests == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[(m.Requests*int64(len(bars))-1)/highest])
	}
	return b.String() + strings.Repeat(" ", n-len(moments))
}

// Marks returns the line below the bars: a cross where the provider throttled.
func (s Spark) Marks(n int, utf8 bool) string {
	marks, moments := glyphs(utf8, "·×", ".x"), s.newest(n)
	var b strings.Builder
	for _, m := range moments {
		mark := marks[0]
		if m.Throttled {
			mark = marks[1]
		}
		b.WriteRune(mark)
	}
	return b.String() + strings.Repeat(" ", n-len(moments))
}

// Text draws bars and marks in at most columns.
func (s Spark) Text(columns int, utf8 bool) string {
	n := min(columns, len(s.Moments))
	return strings.TrimRight(s.Bars(n, utf8), " ") + "\n" + s.Marks(n, utf8) + "\n"
}

// SVG draws the bars, and a cross below each time that was throttled.
func (s Spark) SVG(size Size) string {
	const high, cross = 40.0, 8.0
	pic := &canvas{width: int(size), height: high + cross + 8}
	n := int(size) / 6
	moments := s.newest(n)
	highest := float64(max(1, most(moments)))
	for i, m := range moments {
		x := float64((n - len(moments) + i) * 6)
		if m.Requests > 0 {
			h := max(1.5, high*float64(m.Requests)/highest)
			pic.box(x, high-h, 5, h, `class="pic-full"`, words.Counted(m.Requests, "request", "requests"))
		}
		if m.Throttled {
			pic.draw(`<path class="pic-alarm-line" d="M%.1f %.1fl5 5m0 -5l-5 5"/>`, x, high+4)
		}
	}
	pic.draw(`<path class="pic-axis" d="M0 %.1fH%d"/>`, high+1, size)
	return pic.svg(s.Sentence())
}
