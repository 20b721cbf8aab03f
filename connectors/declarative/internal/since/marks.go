package since

import (
	"slices"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// Marks sums up the marks of a page.
type Marks struct {
	low, high, second string // the lowest, the highest, and the highest below that; "" if there is none
	sorted            bool   // none is before the one in front of it
	falling           bool   // none is after the one in front of it
	marked            bool   // there are records, and each has a mark
	absent            bool   // there are records, and none has the field, not even as null
	records           []collection.Record
}

// And returns the marks of a page whose records are those of m, and then those of o.
func (m Marks) And(o Marks) Marks {
	if len(m.records) == 0 {
		return o
	}
	sum := Marks{
		sorted: m.sorted && o.sorted && !later(m.high, o.low), falling: m.falling && o.falling && !later(o.high, m.low),
		marked: m.marked && o.marked, absent: m.absent && o.absent, records: slices.Clone(m.records[:1]),
		low: m.low, high: latest(m.high, o.high), second: latest(m.second, o.second),
	}
	if m.low == "" || o.low != "" && later(m.low, o.low) {
		sum.low = o.low
	}
	return sum
}

// MarksOf sums up the marks of records, which are at field.
func MarksOf(field notation.Path, records []collection.Record) Marks {
	sum := Marks{sorted: true, falling: true, marked: len(records) > 0, absent: len(records) > 0, records: records}
	var low, high, second, last mark
	for _, r := range records {
		sum.absent = sum.absent && field.Absent(r.Data)
		text, ok := notation.TextOf(field.In(r.Data))
		sum.marked = sum.marked && ok && text != ""
		if !ok || text == "" || text == last.text {
			continue
		}
		m := newMark(text)
		switch {
		case last.text == "":
			low, high = m, m
		case m.compare(high) > 0:
			second, high = high, m
		case m.compare(high) < 0 && (second.text == "" || m.compare(second) > 0):
			second = m
		}
		if last.text != "" {
			sum.sorted = sum.sorted && last.compare(m) <= 0
			sum.falling = sum.falling && last.compare(m) >= 0
			if m.compare(low) < 0 {
				low = m
			}
		}
		last = m
	}
	sum.low, sum.high, sum.second = low.text, high.text, second.text
	return sum
}
