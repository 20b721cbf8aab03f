package since

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// A mark is what a record says of when it changed: a number, a time, or any
// other text. Marks of one kind are ordered by value, exactly; marks of
// different kinds in the order number, time, text.
type mark struct {
	text string // exactly as received
	kind markKind
	num  decimal
	time time.Time
}

type markKind int

const (
	numberMark markKind = iota
	timeMark
	textMark
)

// The layouts of times that are understood: RFC 3339; the same with a space,
// as PocketBase and SQL write it; without a zone, which is read as UTC; with
// an offset without a colon, as Jira writes it; and a date. Go reads a
// fraction after the seconds with each of them.
var layouts = []string{
	time.RFC3339,
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04:05Z0700",
	time.DateOnly,
}

func newMark(text string) mark {
	m := mark{text: text, kind: textMark}
	if num, ok := newDecimal(text); ok {
		m.num, m.kind = num, numberMark
		return m
	}
	if t, _, ok := ParseTime(text); ok {
		m.time, m.kind = t, timeMark
	}
	return m
}

// ParseTime reads a time in one of the layouts.
func ParseTime(text string) (t time.Time, layout string, ok bool) {
	if len(text) < len(time.DateOnly) || text[4] != '-' {
		return t, "", false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, layout, true
		}
	}
	return t, "", false
}

// compare returns -1, 0 or +1 as m is before, equal to or after o.
func (m mark) compare(o mark) int {
	if m.kind != o.kind {
		return cmp.Compare(m.kind, o.kind)
	}
	switch m.kind {
	case numberMark:
		return m.num.compare(o.num)
	case timeMark:
		return m.time.Compare(o.time)
	}
	return strings.Compare(m.text, o.text)
}

// of returns the mark as the store keeps it with a record: text that sorts as
// compare does. Text other than a number or a time, which need not sort in the
// order of versions, and absurd numbers and years, have none: then the version that
// was delivered last stays.
func (m mark) of(field notation.Path) collection.Mark {
	value, kind := "", ""
	switch m.kind {
	case numberMark:
		value, kind = m.num.sortable(), "number"
	case timeMark:
		if t := m.time.UTC(); 0 <= t.Year() && t.Year() <= 9999 {
			value, kind = t.Format("2006-01-02T15:04:05.000000000Z"), "time"
		}
	}
	if value == "" {
		return collection.Mark{}
	}
	return collection.Mark{Scale: kind + " " + field.Text, Value: value}
}

// milliseconds is where numbers begin to be milliseconds, below it they are
// seconds: as seconds that is the year 5138, as milliseconds March 1973.
const milliseconds = 100_000_000_000

// before returns the mark that is d earlier, written like m. Numbers are
// seconds, or [milliseconds]. ok is false if m is neither a number nor a time.
func (m mark) before(d time.Duration) (earlier mark, ok bool) {
	switch m.kind {
	case timeMark:
		t, layout, _ := ParseTime(m.text)
		return newMark(formatLike(t.Add(-d), layout, m.text)), true
	case numberMark:
		whole, fraction, _ := strings.Cut(m.text, ".")
		n, fine := new(big.Int).SetString(whole, 10)
		const longest = 40 // digits; keeps the arithmetic small
		if !fine || len(m.text) > longest {
			return m, false
		}
		step := int64(d / time.Second)
		if n.CmpAbs(big.NewInt(milliseconds)) > 0 {
			step = d.Milliseconds()
		}
		text := n.Sub(n, big.NewInt(step)).String()
		if fraction != "" {
			text += "." + fraction
		}
		return newMark(text), true
	}
	return m, false
}

// formatLike writes t with the layout, the digits of a second and the zone
// of sample.
func formatLike(t time.Time, layout, sample string) string {
	if _, after, found := strings.Cut(sample, "."); found {
		digits := 0
		for digits < len(after) && '0' <= after[digits] && after[digits] <= '9' {
			digits++
		}
		layout = strings.Replace(layout, "05", "05."+strings.Repeat("0", digits), 1)
	}
	if !strings.HasSuffix(sample, "Z") {
		layout = strings.Replace(layout, "Z0", "-0", 1)
	}
	return t.Format(layout)
}

// A decimal is a number as JSON writes it, ready to be compared exactly
// however large or precise it is.
type decimal struct {
	negative bool
	digits   string // of the value 0.digits × 10^exponent, without zeros at its ends; "" is zero
	exponent int
}

// IsNumber reports whether text is a number as [newDecimal] reads it.
func IsNumber(text string) bool {
	_, ok := newDecimal(text)
	return ok
}

// newDecimal reads the grammar of a JSON number (RFC 8259, section 6), and
// leading zeros too, as numbers in strings have them.
func newDecimal(text string) (d decimal, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa = rest[:i]
		if exponent, ok = smallInt(rest[i+1:]); !ok {
			return d, false
		}
	}
	whole, fraction, dotted := strings.Cut(mantissa, ".")
	if !digitsOnly(whole) || dotted && !digitsOnly(fraction) {
		return d, false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent += len(whole) - (len(whole+fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}, true
	}
	return decimal{negative: negative, digits: digits, exponent: exponent}, true
}

func (d decimal) compare(o decimal) int {
	if d.sign() != o.sign() {
		return cmp.Compare(d.sign(), o.sign())
	}
	// Both are 0.digits × 10^exponent with a first digit that is not zero.
	c := cmp.Or(cmp.Compare(d.exponent, o.exponent), strings.Compare(d.digits, o.digits))
	return c * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// sortable returns text that sorts as compare does: the sign, the exponent with
// a fixed number of digits, and the digits. Those of a negative number are taken
// from nine, and end with what sorts behind each digit. It returns "" for a
// number with more digits than anybody means.
func (d decimal) sortable() string {
	const longest = 64
	if len(d.digits) > longest || d.exponent < -longest || d.exponent > longest {
		return ""
	}
	switch d.sign() {
	case 0:
		return "0"
	case 1:
		return fmt.Sprintf("1 %03d %s", 500+d.exponent, d.digits)
	}
	nines := []byte(d.digits)
	for i := range nines {
		nines[i] = '0' + '9' - nines[i]
	}
	return fmt.Sprintf("- %03d %s~", 500-d.exponent, nines)
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// smallInt reads an exponent. One of more than nine digits is no number that
// anybody means.
func smallInt(s string) (int, bool) {
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if !digitsOnly(s) || len(s) > 9 {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// CompareMarks returns -1, 0 or +1 as a is before, equal to or after b.
func CompareMarks(a, b string) int { return newMark(a).compare(newMark(b)) }

// Sortable returns the text by which the store orders a mark; "" for one that it
// does not order.
func Sortable(text string) string { return newMark(text).of(notation.Path{}).Value }

// later reports whether a is a later mark than b; any mark is later than none.
func later(a, b string) bool {
	switch {
	case a == "" || b == "":
		return a != "" && b == ""
	}
	return CompareMarks(a, b) > 0
}

func latest(a, b string) string {
	if later(b, a) {
		return b
	}
	return a
}

func (k markKind) String() string { return [...]string{"numbers", "times", "texts"}[k] }
