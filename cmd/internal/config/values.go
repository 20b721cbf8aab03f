package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"collect/internal/yamlfile"
)

// errValue says that a value is not of its kind. Who reads it knows where it
// stands and says so.
var errValue = errors.New("not a value of this kind")

// ParseDuration reads a duration as [yamlfile.ParseDuration] does. "none" and ""
// mean no limit: 0.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" || s == "none" {
		return 0, nil
	}
	return yamlfile.ParseDuration(s)
}

// ParseCount reads a whole number from 1 on. "none" and "" mean no limit: 0.
func ParseCount(s string) (int64, error) {
	if s == "" || s == "none" {
		return 0, nil
	}
	n, err := yamlfile.ParseWhole(s)
	if err != nil || n <= 0 {
		return 0, errValue
	}
	return n, nil
}

// PerSecond reports whether s is a rate that `ceiling_per_second` can have.
func PerSecond(s string) bool {
	rate, err := strconv.ParseFloat(s, 64)
	return err == nil && rate > 0 && !math.IsInf(rate, 0)
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
		if given, wrong := time.ParseDuration(text); wrong == nil && given <= 0 {
			return errors.New("too short; a duration is above 0, such as 90s, 30m, 2h or 7d")
		}
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
