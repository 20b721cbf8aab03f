package provider

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseModes reads modes separated by semicolons, the outermost first. An
// empty text means none.
func ParseModes(text string) ([]Mode, error) {
	var modes []Mode
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		m, err := ParseMode(part)
		if err != nil {
			return nil, err
		}
		modes = append(modes, m)
	}
	return modes, nil
}

// ParseMode reads a mode from a name and settings, separated by spaces:
//
//	429 rate=20 burst=5 retry-after=1s   a token bucket; without rate, all are refused
//	503 rate=20                          the same with 503, HTML and no Retry-After
//	slow rate=50 longest=5s              a queue
//	latency by=100ms                     a delay
//	refuse status=403 ids=7,9            single records; without ids, everything
//	truncated                            any of the faults by its name
//
// Each takes path=PATTERN from=N to=N after=DURATION until=DURATION, as [When].
func ParseMode(text string) (Mode, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return nil, fmt.Errorf("provider: a mode has a name")
	}
	s := settings{}
	for _, field := range fields[1:] {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return nil, fmt.Errorf("provider: mode %s: %q is not name=value", fields[0], field)
		}
		s[name] = value
	}
	m, err := s.mode(fields[0])
	if err == nil {
		m, err = s.confine(m)
	}
	if err != nil {
		return nil, fmt.Errorf("provider: mode %s: %w", fields[0], err)
	}
	for name := range s {
		return nil, fmt.Errorf("provider: mode %s: there is no setting %q", fields[0], name)
	}
	return m, nil
}

// settings are the settings of one mode that are not read yet.
type settings map[string]string

func (s settings) mode(name string) (Mode, error) {
	switch name {
	case "429", "503":
		rate, err := take(s, "rate", 0, parseFloat)
		if err != nil {
			return nil, err
		}
		burst, err := take(s, "burst", int(min(1, math.Ceil(rate))), strconv.Atoi)
		if err != nil {
			return nil, err
		}
		wait, err := take(s, "retry-after", 0, time.ParseDuration)
		status, _ := strconv.Atoi(name)
		return Limit(rate, burst, Refusal{
			Status: status, RetryAfter: wait, HTML: status == http.StatusServiceUnavailable,
		}), err
	case "slow":
		rate, err := take(s, "rate", 50, parseFloat)
		if err != nil {
			return nil, err
		}
		if rate <= 0 {
			return nil, fmt.Errorf("rate=%v is not above 0", rate)
		}
		longest, err := take(s, "longest", 5*time.Second, time.ParseDuration)
		return SlowDown(rate, longest), err
	case "latency":
		d, err := take(s, "by", 100*time.Millisecond, time.ParseDuration)
		return Latency(d), err
	case "refuse":
		status, err := take(s, "status", http.StatusForbidden, strconv.Atoi)
		if err != nil {
			return nil, err
		}
		ids, err := take(s, "ids", nil, parseInts)
		return Refuse(status, ids...), err
	}
	if f := Fault(name); slices.Contains(Faults(), f) {
		return Instead(f), nil
	}
	return nil, fmt.Errorf("there is no such mode; the faults are %v", Faults())
}

// confine puts m behind the settings of a When.
func (s settings) confine(m Mode) (Mode, error) {
	var when When
	var err error
	when.Path, _ = take(s, "path", "", func(p string) (string, error) { return p, nil })
	if when.From, err = take(s, "from", 0, strconv.Atoi); err != nil {
		return nil, err
	}
	if when.To, err = take(s, "to", 0, strconv.Atoi); err != nil {
		return nil, err
	}
	if when.After, err = take(s, "after", 0, time.ParseDuration); err != nil {
		return nil, err
	}
	if when.Until, err = take(s, "until", 0, time.ParseDuration); err != nil {
		return nil, err
	}
	if when == (When{}) {
		return m, nil
	}
	return During(when, m), nil
}

// take parses the setting name and removes it; missing, it is def.
func take[T any](s settings, name string, def T, parse func(string) (T, error)) (T, error) {
	text, ok := s[name]
	if !ok {
		return def, nil
	}
	delete(s, name)
	v, err := parse(text)
	if err != nil {
		return def, fmt.Errorf("%s=%s: %w", name, text, err)
	}
	return v, nil
}

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func parseInts(text string) ([]int, error) {
	var ints []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		ints = append(ints, n)
	}
	return ints, nil
}
