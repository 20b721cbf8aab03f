// Package words says numbers, times, lengths and names as people say them, and
// cleans text that came from outside, so that it can stand among them.
package words

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Count returns n with its digits grouped: 1,176,491.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Counted returns n and the noun that fits it: "1 gap", "2 gaps".
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Rate returns a pace in requests a second, or a minute below one a second.
func Rate(perSecond float64) string { return Rates(perSecond)[0] }

// Rates returns paces that stand on one line, in one unit: that of the slowest,
// since in a longer one every other can be said, too.
func Rates(perSecond ...float64) []string {
	unit, seconds := "/s", 1.0
	for _, r := range perSecond {
		switch {
		case r <= 0:
		case r*60 < 1:
			unit, seconds = "/h", 3600
		case r < 0.95 && seconds == 1:
			unit, seconds = "/min", 60
		}
	}
	all := make([]string, len(perSecond))
	for i, r := range perSecond {
		switch n := r * seconds; {
		case r <= 0:
			all[i] = "0"
		case n >= 99.5:
			all[i] = Count(int64(math.Round(n)))
		case unit == "/s":
			all[i] = strconv.FormatFloat(n, 'f', 1, 64)
		default:
			all[i] = strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64)
		}
		all[i] += unit
	}
	return all
}

// RateChange says a pace before and after.
func RateChange(was, is float64) string {
	both := Rates(was, is)
	return both[0] + " -> " + both[1]
}

// Percent returns done as a percentage of total, with one decimal. It rounds
// down: only a complete total reads 100.0%.
func Percent(done, total int64) string {
	if total <= 0 {
		return "?"
	}
	tenths := int64(float64(done) / float64(total) * 1000)
	if done < total {
		tenths = min(tenths, 999)
	}
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}

// ShareOf returns a share of 1: 90%.
func ShareOf(v float64) string { return Decimal(math.Round(v*1000)/10) + "%" }

// Span returns d in the unit a person would use: 38 s, 67 min, 5 h, 2 days.
func Span(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0:
		return "0 s"
	case s < 9.95 && d%time.Second != 0:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	case s < 119.5:
		return fmt.Sprintf("%.0f s", s)
	case s < 119.5*60:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 47.5*3600:
		return fmt.Sprintf("%.0f h", s/3600)
	default:
		return fmt.Sprintf("%.0f days", s/86400)
	}
}

// Whole returns d like Span, with the seconds of some minutes, so that parts add up to
// their whole: 2 min 30 s.
func Whole(d time.Duration) string {
	d = max(0, d)
	if d < 2*time.Minute || d >= time.Hour || d%time.Minute < time.Second {
		return Span(d)
	}
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// Tenth rounds short times to what a person can tell apart.
func Tenth(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// Rough returns d as a prediction deserves: in steps no finer than it can be
// right.
func Rough(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return Span(d.Truncate(10*time.Second) + 10*time.Second)
	case d < 2*time.Hour:
		return Span(d.Round(time.Minute))
	}
	return "about " + Span(d)
}

// Ago returns how long t is before now: "4 s ago", and "never" for no time.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return Span(max(0, now.Sub(t)).Truncate(time.Second)) + " ago"
}

// At returns t as a time of day, with its date unless it is within 12 hours
// of now.
func At(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d > 0 && d < 2*time.Minute:
		return t.In(now.Location()).Add(time.Second - 1).Format("15:04:05 MST") // its minute may be the one that is
	case d.Abs() < 12*time.Hour:
		return t.In(now.Location()).Format("15:04 MST")
	}
	return t.In(now.Location()).Format("2006-01-02 15:04 MST")
}

// WithReason returns what with why behind it, if that is known.
func WithReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// GapName names a gap in commands: g_31.
func GapName(id int64) string { return "g_" + strconv.FormatInt(id, 10) }

// Home returns path with the user's own directory as ~, as people write it.
func Home(path string, env func(string) string) string {
	dir := env("HOME")
	if rest, ok := strings.CutPrefix(path, dir+string(os.PathSeparator)); ok && dir != "" {
		return "~" + string(os.PathSeparator) + rest
	}
	return path
}

// CeilSecond rounds d up, so that a countdown ends at one, not at zero.
func CeilSecond(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// Decimal returns seconds as a person writes them: 60, 1.5.
func Decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Quoted returns text as a word of a shell.
func Quoted(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+=:,@%", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Cause is what went wrong with a file, without its path: that says nothing to
// those who watch, and something to those who read along.
func Cause(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err.Error()
	}
	return err.Error()
}

// Size returns a number of bytes as people write it: 212 MB.
func Size(bytes int64) string {
	switch b := float64(bytes); {
	case b < 999.5:
		return fmt.Sprintf("%d bytes", bytes)
	case b < 999.5e3:
		return fmt.Sprintf("%.0f kB", b/1e3)
	case b < 999.5e6:
		return fmt.Sprintf("%.0f MB", b/1e6)
	case b < 9.95e9:
		return fmt.Sprintf("%.1f GB", b/1e9)
	default:
		return fmt.Sprintf("%s GB", Count(int64(b/1e9+0.5)))
	}
}
