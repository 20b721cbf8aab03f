package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// errValue says that a value is not of its kind. Who reads it knows where it
// stands and says so.
var errValue = errors.New("not a value of this kind")

// ParseDuration reads a duration as people write them: those of Go, and whole
// days (7d). "none" and "" mean no limit: 0. Zero and negative durations are
// errors.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" || s == "none" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > int(math.MaxInt64/(24*time.Hour)) {
			return 0, errValue
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errValue
	}
	return d, nil
}

// ParseCount reads a positive whole number. "none" and "" mean no limit: 0.
func ParseCount(s string) (int64, error) {
	if s == "" || s == "none" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil || n <= 0 {
		return 0, errValue
	}
	return n, nil
}

// ParseRate reads a positive number of requests a second.
func ParseRate(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, errValue
	}
	return n, nil
}

// A CapFlag is a flag that takes a number of requests as files do: one at least,
// or none for no cap.
type CapFlag int64

func (n *CapFlag) Set(text string) error {
	value, err := ParseCount(text)
	if err != nil {
		return errors.New("not a number of at least 1; without the flag there is no cap")
	}
	*n = CapFlag(value)
	return nil
}

func (n *CapFlag) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// Type is what help calls the value where the usage text does not name it.
func (*CapFlag) Type() string { return "n" }

// A DurationFlag is a flag that takes durations as files do: 90s, 30m, 2h, 7d.
type DurationFlag time.Duration

func (d *DurationFlag) Set(text string) error {
	value, err := ParseDuration(text)
	if err != nil {
		return errors.New("not a duration such as 90s, 30m, 2h or 7d")
	}
	*d = DurationFlag(value)
	return nil
}

func (d *DurationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return shortDuration(time.Duration(*d))
}

// Type is what help calls the value where the usage text does not name it.
func (*DurationFlag) Type() string { return "duration" }

// shortDuration returns d as people write it in a flag: 1h, 90s, 1h30m.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
