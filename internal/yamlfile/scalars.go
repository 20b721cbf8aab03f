package yamlfile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// A Flag is true or false.
type Flag struct {
	Scalar
	Value bool
}

func (v *Flag) Read(d *Decoder, n ast.Node) {
	v.Scalar.Read(d, n)
	if !v.Set {
		return
	}
	if v.Text != "true" && v.Text != "false" {
		d.Fail(v.At, "this must be true or false", "")
	}
	v.Value = v.Text == "true"
}

// A Count is a whole number from 1 on, and a Natural one from 0 on.
type (
	Count struct {
		Scalar
		Value int
	}
	Natural struct {
		Scalar
		Value int
	}
)

func (v *Count) Read(d *Decoder, n ast.Node)   { v.Value = d.whole(&v.Scalar, n, 1) }
func (v *Natural) Read(d *Decoder, n ast.Node) { v.Value = d.whole(&v.Scalar, n, 0) }

func (d *Decoder) whole(s *Scalar, n ast.Node, lowest int) int {
	s.Read(d, n)
	if !s.Set {
		return 0
	}
	value, err := ParseWhole(s.Text)
	if err != nil || value < int64(lowest) || value > math.MaxInt32 {
		d.Fail(s.At, fmt.Sprintf("this must be a whole number from %d on", lowest), "")
	}
	return int(value)
}

// ParseWhole reads a whole number such as 20000 or 20_000.
func ParseWhole(text string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
}

// A Number is a positive decimal number.
type Number struct {
	Scalar
	Value float64
}

func (v *Number) Read(d *Decoder, n ast.Node) {
	v.Scalar.Read(d, n)
	if !v.Set {
		return
	}
	value, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || !(value > 0) || math.IsInf(value, 0) {
		d.Fail(v.At, "this must be a number above 0", "")
	}
	v.Value = value
}

// A Percent is a share such as 20%, above 0 and below 100.
type Percent struct {
	Scalar
	Value float64 // of 1
}

func (v *Percent) Read(d *Decoder, n ast.Node) {
	v.Scalar.Read(d, n)
	if !v.Set {
		return
	}
	digits, ok := strings.CutSuffix(v.Text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || !(value > 0 && value < 100) {
		d.Fail(v.At, "this must be a share such as 20%, above 0% and below 100%", "")
		return
	}
	v.Value = value / 100
}

// A Duration is a span of time such as 90s, 5m, 2h or 7d.
type Duration struct {
	Scalar
	Value time.Duration
}

func (v *Duration) Read(d *Decoder, n ast.Node) {
	v.Scalar.Read(d, n)
	if !v.Set {
		return
	}
	var err error
	if v.Value, err = ParseDuration(v.Text); err != nil {
		d.Fail(v.At, "this must be a duration such as 90s, 5m, 2h or 7d", "")
	}
}

var errDuration = errors.New("not a duration")

// ParseDuration reads a duration as people write them: one of Go, or whole days, such
// as 7d, up to 36500. It is above 0.
func ParseDuration(text string) (span time.Duration, err error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); n > 36500 {
			return 0, errDuration
		}
		span = time.Duration(n) * 24 * time.Hour
	} else {
		span, err = time.ParseDuration(text)
	}
	if err != nil || span <= 0 {
		return 0, errDuration
	}
	return span, nil
}

// mostBytes is more than one response that can be held in memory.
const mostBytes = 16 << 30

// A Size is a number of bytes such as 500B, 16KiB or 8MB.
type Size struct {
	Scalar
	Value int64
}

func (v *Size) Read(d *Decoder, n ast.Node) {
	v.Scalar.Read(d, n)
	if !v.Set {
		return
	}
	digits := strings.TrimRight(v.Text, "KMGiB ")
	units := map[string]int64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	unit, known := units[strings.TrimSpace(v.Text[len(digits):])]
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || value < 1 || value > mostBytes/unit {
		d.Fail(v.At, "this must be a size such as 64KiB or 8MiB", "")
		return
	}
	v.Value = value * unit
}
