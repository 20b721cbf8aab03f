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

// parsed reads a scalar whose text parse accepts, and must names in messages. It
// returns zero for any other, and for none.
func parsed[T any](d *Decoder, s *Scalar, n ast.Node, must string, parse func(text string) (T, bool)) (value T) {
	s.Read(d, n)
	if !s.Set {
		return value
	}
	if got, ok := parse(s.Text); ok {
		return got
	}
	d.Fail(s.At, "this must be "+must, "")
	return value
}

// Texts are one text, or a list of several: the Scalar is the first of All.
type Texts struct {
	Scalar
	All []Scalar
}

func (v *Texts) Read(d *Decoder, n ast.Node) {
	nodes := []ast.Node{n}
	if list, ok := n.(*ast.SequenceNode); ok {
		if nodes = list.Values; len(nodes) == 0 {
			d.Fail(SpanOf(n.GetToken()), "this list is empty", "")
			return
		}
	}
	*v = Texts{All: make([]Scalar, len(nodes))}
	for i, n := range nodes {
		v.All[i].Read(d, n)
		if len(nodes) > 1 && v.All[i].Set && v.All[i].Text == "" {
			d.Fail(v.All[i].At, "this part of the list is empty", "")
		}
	}
	v.Scalar = v.All[0]
}

// A Flag is true or false.
type Flag struct {
	Scalar
	Value bool
}

func (v *Flag) Read(d *Decoder, n ast.Node) {
	v.Value = parsed(d, &v.Scalar, n, "true or false", func(text string) (bool, bool) {
		return text == "true", text == "true" || text == "false"
	})
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

func (d *Decoder) whole(s *Scalar, n ast.Node, lowest int64) int {
	return parsed(d, s, n, fmt.Sprintf("a whole number from %d on", lowest), func(text string) (int, bool) {
		value, err := ParseWhole(text)
		return int(value), err == nil && value >= lowest && value <= math.MaxInt32
	})
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
	v.Value = parsed(d, &v.Scalar, n, "a number above 0", func(text string) (float64, bool) {
		value, err := strconv.ParseFloat(text, 64)
		return value, err == nil && value > 0 && !math.IsInf(value, 0)
	})
}

// A Percent is a share such as 20%, above 0 and below 100.
type Percent struct {
	Scalar
	Value float64 // of 1
}

func (v *Percent) Read(d *Decoder, n ast.Node) {
	v.Value = parsed(d, &v.Scalar, n, "a share such as 20%, above 0% and below 100%", func(text string) (float64, bool) {
		digits, ok := strings.CutSuffix(text, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		return value / 100, ok && err == nil && value > 0 && value < 100
	})
}

// A Duration is a span of time such as 90s, 5m, 2h or 7d.
type Duration struct {
	Scalar
	Value time.Duration
}

func (v *Duration) Read(d *Decoder, n ast.Node) {
	v.Value = parsed(d, &v.Scalar, n, "a duration such as 90s, 5m, 2h or 7d", func(text string) (time.Duration, bool) {
		value, err := ParseDuration(text)
		return value, err == nil
	})
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
	v.Value = parsed(d, &v.Scalar, n, "a size such as 64KiB or 8MiB", func(text string) (int64, bool) {
		digits := strings.TrimRight(text, "KMGiB ")
		units := map[string]int64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
		unit, known := units[strings.TrimSpace(text[len(digits):])]
		value, err := strconv.ParseInt(digits, 10, 64)
		return value * unit, known && err == nil && value >= 1 && value <= mostBytes/unit
	})
}
