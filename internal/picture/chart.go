package picture

import (
	"strings"
	"time"
)

// A chart is a picture over time, from its left edge to its right one.
type chart struct {
	*canvas
	from, to time.Time
	left     float64 // where the times begin
	top      float64
	high     float64 // of the field; its highest value is at the top
	most     float64
}

// newChart returns a chart with a field that begins at top.
func newChart(size Size, from, to time.Time, top, high float64) *chart {
	return &chart{canvas: &canvas{width: int(size)}, from: from, to: to, top: top, high: high}
}

// values makes room for names of values at the left, and names the highest one.
func (c *chart) values(most float64, name string) {
	c.left, c.most = 52, most
	c.text(c.left-6, c.top+4, smallText, "pic-soft", "end", name)
	c.text(c.left-6, c.top+c.high, smallText, "pic-soft", "end", "0")
}

// x and y are where a time and a value are.
func (c *chart) x(at time.Time) float64 {
	share := float64(at.Sub(c.from)) / float64(max(1, c.to.Sub(c.from)))
	return c.left + min(1, max(0, share))*(float64(c.width)-c.left-1)
}

func (c *chart) y(value float64) float64 {
	if c.most <= 0 {
		return c.top + c.high
	}
	return c.top + c.high*(1-min(1, value/c.most))
}

// axis draws the axis of time, and names its ends. It returns where the next line is.
func (c *chart) axis() float64 {
	bottom := c.top + c.high
	c.draw(`<path class="pic-axis" d="M%.1f %.1fH%d"/>`, c.left, bottom+0.5, c.width)
	c.text(c.left, bottom+15, smallText, "pic-soft", "start", momentWords(c.from, c.from, c.to))
	c.text(float64(c.width), bottom+15, smallText, "pic-soft", "end", momentWords(c.to, c.from, c.to))
	return bottom + 24
}

// cross draws a cross whose top is at y.
func (c *chart) cross(x, y float64) {
	c.draw(`<path class="pic-alarm-line" d="M%.1f %.1fl5 5m0 -5l-5 5"/>`, x-2.5, y)
}

// end closes the chart below its keys.
func (c *chart) end(y float64, keys []key, sentence string) string {
	c.height = int(c.legend(0, y, keys)) + 2
	return c.svg(sentence)
}

// momentWords says a time of a chart: of a day or two with the time of day, of minutes with
// the second, of more as a date.
func momentWords(at, from, to time.Time) string {
	switch span := to.Sub(from); {
	case span <= 10*time.Minute:
		return at.Format(time.DateTime)
	case span <= 48*time.Hour:
		return at.Format("2006-01-02 15:04")
	}
	return at.Format(time.DateOnly)
}

// spanWords says from when to when a chart is, with the zone.
func spanWords(from, to time.Time) string {
	text := momentWords(from, from, to) + " to " + momentWords(to, from, to)
	if to.Sub(from) <= 48*time.Hour {
		text += " " + to.Format("MST")
	}
	return text
}

// columns calls of with the times that each of n columns stands for.
func columns(from, to time.Time, n int, of func(column int, from, to time.Time)) {
	for i := range n {
		step := to.Sub(from) / time.Duration(n)
		of(i, from.Add(time.Duration(i)*step), from.Add(time.Duration(i+1)*step))
	}
}

// barLine returns a bar for each value, the highest of which is as high as a line. Nothing
// is a blank.
func barLine(values []float64, utf8 bool) string {
	bars, highest := glyphs(utf8, "▁▂▃▄▅▆▇█", "_.-=+*#@"), 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	var b strings.Builder
	for _, v := range values {
		if v <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[min(len(bars)-1, int(v/highest*float64(len(bars))))])
	}
	return strings.TrimRight(b.String(), " ")
}
