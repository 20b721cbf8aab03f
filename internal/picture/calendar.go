package picture

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"collect/internal/words"
)

// A Day is what is known of one day of a stream that is collected by time.
type Day int

// The states of a day. That nothing was there and that nobody asked are two things.
const (
	NoDay      Day = iota // outside of what is collected
	Complete              // stored
	Empty                 // asked for, and the provider had no records
	Owed                  // a gap: a run tries it again
	Stuck                 // a gap that needs a person
	NotReached            // ahead of the checkpoint
)

// dayLooks say how each state of a day is shown.
var dayLooks = [...]struct {
	word, full, plain string
	look              string
}{
	NoDay:      {"", " ", " ", ""},
	Complete:   {"complete", "■", "#", `class="pic-full"`},
	Empty:      {"complete, no records", "□", "0", `class="pic-open"`},
	Owed:       {"owed", "▨", "?", `class="pic-edge" fill="url(#pic-hatch)"`},
	Stuck:      {"stuck", "×", "x", `class="pic-alarm" fill="url(#pic-cross)"`},
	NotReached: {"not reached", "·", ".", `class="pic-edge" fill="url(#pic-dots)"`},
}

// A Calendar shows the days of a stream, a month in each row.
type Calendar struct {
	First, Last time.Time // in UTC; both are shown
	days        []Day     // from First
}

// NewCalendar asks of for the state of each day from first to last.
func NewCalendar(first, last time.Time, of func(day time.Time) Day) Calendar {
	c := Calendar{First: first.UTC().Truncate(24 * time.Hour), Last: last.UTC().Truncate(24 * time.Hour)}
	for day := c.First; !day.After(c.Last); day = day.AddDate(0, 0, 1) {
		c.days = append(c.days, of(day))
	}
	return c
}

// Count returns how many days are in a state.
func (c Calendar) Count(of Day) (n int) {
	for _, day := range c.days {
		if day == of {
			n++
		}
	}
	return n
}

// A Range is days in a row that are in one state.
type Range struct {
	State Day
	Count int
}

// Ranges yields the ranges of the calendar, each with its first day.
func (c Calendar) Ranges() iter.Seq2[time.Time, Range] {
	return func(yield func(time.Time, Range) bool) {
		for from := 0; from < len(c.days); {
			to := from + 1
			for to < len(c.days) && c.days[to] == c.days[from] {
				to++
			}
			if !yield(c.First.AddDate(0, 0, from), Range{c.days[from], to - from}) {
				return
			}
			from = to
		}
	}
}

// A month is a row of a calendar.
type month struct {
	first time.Time // its first day
	days  [31]Day
}

func (c Calendar) months() (months []month) {
	for i, state := range c.days {
		day := c.First.AddDate(0, 0, i)
		if len(months) == 0 || day.Day() == 1 {
			months = append(months, month{first: day.AddDate(0, 0, 1-day.Day())})
		}
		months[len(months)-1].days[day.Day()-1] = state
	}
	return months
}

// notes counts the days of a month that are more than complete, what is worst first:
// 3 stuck; 6 owed. What has no room is left out.
func (m month) notes(room int) (text string) {
	var n [len(dayLooks)]int
	for _, day := range m.days {
		n[day]++
	}
	for _, of := range []Day{Stuck, Owed, Empty, NotReached} {
		if n[of] == 0 {
			continue
		}
		note := fmt.Sprintf("%d %s", n[of], dayLooks[of].word)
		if text != "" {
			note = "; " + note
		}
		if len(text)+len(note) > room {
			break
		}
		text += note
	}
	return text
}

// whole reports whether all days of the calendar month are complete.
func (m month) whole() bool {
	for i, day := range m.days {
		if in := m.first.AddDate(0, 0, i).Month() == m.first.Month(); in && day != Complete {
			return false
		}
	}
	return true
}

// Sentence says the numbers: 92 days from 2026-03-01 to 2026-05-31: 80 complete, 6 owed.
func (c Calendar) Sentence() string {
	var parts []string
	for _, of := range []Day{Complete, Empty, Owed, Stuck, NotReached} {
		if n := c.Count(of); n > 0 {
			parts = append(parts, words.Count(int64(n))+" "+dayLooks[of].word)
		}
	}
	if len(parts) == 0 {
		return "no day is collected yet"
	}
	span := c.First.Format(time.DateOnly)
	if c.Last.After(c.First) {
		span += " to " + c.Last.Format(time.DateOnly)
	}
	return fmt.Sprintf("%s, %s: %s", words.Counted(int64(len(c.days)), "day", "days"), span, strings.Join(parts, "; "))
}

const (
	notedFrom = 60 // columns from which a row has its notes
	mostWhole = 2  // complete months in a row that are drawn day by day
)

// Text draws the calendar in at most columns, which are 39 at least, with what the
// marks mean.
func (c Calendar) Text(columns int, utf8 bool) string {
	label, lead := "2006-01", 11
	if columns < notedFrom {
		label, lead = "06-01", 8
	}
	lines := []string{strings.Repeat(" ", lead) + "1        10        20         31"}
	months := c.months()
	for i := 0; i < len(months); i++ {
		m := months[i]
		end := i
		for end < len(months) && months[end].whole() {
			end++
		}
		if end-i > mostWhole {
			lines = append(lines, fmt.Sprintf("%s to %s: all complete", m.first.Format(label), months[end-1].first.Format(label)))
			i = end - 1
			continue
		}
		line := m.first.Format(label)
		line += strings.Repeat(" ", lead-len(line))
		for _, day := range m.days {
			line += glyphOf(day, utf8)
		}
		if columns >= notedFrom {
			line += "  " + m.notes(columns-lead-len(m.days)-2)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(append(append(lines, ""), legendLines(columns, utf8)...), "\n") + "\n"
}

func glyphOf(day Day, utf8 bool) string {
	if utf8 {
		return dayLooks[day].full
	}
	return dayLooks[day].plain
}

// legendLines says what each mark means, in at most columns.
func legendLines(columns int, utf8 bool) (lines []string) {
	line, used := "", 0
	for day := Complete; day <= NotReached; day++ {
		item := glyphOf(day, utf8) + " " + dayLooks[day].word
		wide := len([]rune(item))
		switch {
		case used == 0:
			line, used = item, wide
		case used+2+wide > columns:
			lines = append(lines, line)
			line, used = item, wide
		default:
			line, used = line+"  "+item, used+2+wide
		}
	}
	return append(lines, line, "(blank: outside of what is collected)")
}

// SVG draws the calendar. Neighbours in one state are one rectangle.
func (c Calendar) SVG(size Size) string {
	const rowHeight, cellHeight = 22.0, 14.0
	left, cell, label, font := 64.0, 14.0, "2006-01", textSize
	if size == Narrow {
		left, cell, label, font = 44, 8.8, "06-01", smallText
	}
	pic := &canvas{width: int(size)}
	for _, day := range []int{1, 10, 20, 31} {
		pic.text(left+(float64(day)-0.5)*cell, 12, smallText, "pic-soft", "middle", fmt.Sprint(day))
	}
	y := 20.0
	for _, m := range c.months() {
		pic.text(0, y+11, font, "pic-word", "start", m.first.Format(label))
		for from := 0; from < len(m.days); {
			to := from + 1
			for to < len(m.days) && m.days[to] == m.days[from] {
				to++
			}
			if look := dayLooks[m.days[from]]; m.days[from] != NoDay {
				first, last := m.first.AddDate(0, 0, from).Format(time.DateOnly), m.first.AddDate(0, 0, to-1).Format(time.DateOnly)
				if first != last {
					first += " to " + last
				}
				pic.box(left+float64(from)*cell+0.5, y+0.5, float64(to-from)*cell-1, cellHeight-1, look.look, first+": "+look.word)
			}
			from = to
		}
		if size == Wide {
			beside := left + 31*cell + 12
			pic.text(beside, y+11, smallText, "pic-soft", "start", m.notes(int((float64(size)-beside)/room("0", smallText))))
		}
		y += rowHeight
	}
	var keys []key
	for _, look := range dayLooks[Complete:] {
		keys = append(keys, key{look: look.look, word: look.word})
	}
	pic.height = int(pic.legend(0, y+6, keys)) + 2
	return pic.svg(c.Sentence())
}
