package declarative

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// names are what a connector, provider, stream, parameter, secret or binding
// may be called: what is also an identifier in predicates and in SQL.
var names = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// A name is what a thing of the file is called.
type name struct{ scalar }

func (v *name) read(d *decoder, n ast.Node) {
	v.scalar.read(d, n)
	if v.set {
		d.name(v.scalar)
	}
}

func (d *decoder) name(s scalar) {
	if !names.MatchString(s.text) {
		d.fail(s.at, fmt.Sprintf("`%s` cannot be a name", s.text), "use a-z, 0-9 and _, and begin with a letter")
	}
}

// A flag is true or false.
type flag struct {
	scalar
	value bool
}

func (v *flag) read(d *decoder, n ast.Node) {
	v.scalar.read(d, n)
	if !v.set {
		return
	}
	if v.text != "true" && v.text != "false" {
		d.fail(v.at, "this must be true or false", "")
	}
	v.value = v.text == "true"
}

// A count is a whole number from 1 on, and a natural one from 0 on.
type (
	count struct {
		scalar
		value int
	}
	natural struct {
		scalar
		value int
	}
)

func (v *count) read(d *decoder, n ast.Node)   { v.value = d.whole(&v.scalar, n, 1) }
func (v *natural) read(d *decoder, n ast.Node) { v.value = d.whole(&v.scalar, n, 0) }

func (d *decoder) whole(s *scalar, n ast.Node, lowest int) int {
	s.read(d, n)
	if !s.set {
		return 0
	}
	value, err := strconv.Atoi(strings.ReplaceAll(s.text, "_", ""))
	if err != nil || value < lowest || value > math.MaxInt32 {
		d.fail(s.at, fmt.Sprintf("this must be a whole number from %d on", lowest), "")
	}
	return value
}

// A number is a positive decimal number.
type number struct {
	scalar
	value float64
}

func (v *number) read(d *decoder, n ast.Node) {
	v.scalar.read(d, n)
	if !v.set {
		return
	}
	value, err := strconv.ParseFloat(v.text, 64)
	if err != nil || !(value > 0) || math.IsInf(value, 0) {
		d.fail(v.at, "this must be a number above 0", "")
	}
	v.value = value
}

// A percent is a share such as 20%, above 0 and below 100.
type percent struct {
	scalar
	value float64 // of 1
}

func (v *percent) read(d *decoder, n ast.Node) {
	v.scalar.read(d, n)
	if !v.set {
		return
	}
	digits, ok := strings.CutSuffix(v.text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || !(value > 0 && value < 100) {
		d.fail(v.at, "this must be a share such as 20%, above 0% and below 100%", "")
		return
	}
	v.value = value / 100
}

// A duration is a span of time such as 90s, 5m, 2h or 7d.
type duration struct {
	scalar
	value time.Duration
}

func (v *duration) read(d *decoder, n ast.Node) {
	v.scalar.read(d, n)
	if !v.set {
		return
	}
	var err error
	if days, ok := strings.CutSuffix(v.text, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n > 36500 {
			err = strconv.ErrRange
		}
		v.value = time.Duration(n) * 24 * time.Hour
	} else {
		v.value, err = time.ParseDuration(v.text)
	}
	if err != nil || v.value <= 0 {
		d.fail(v.at, "this must be a duration such as 90s, 5m, 2h or 7d", "")
	}
}

// mostBytes is more than one response that can be held in memory.
const mostBytes = 16 << 30

// A size is a number of bytes such as 500B, 16KiB or 8MB.
type size struct {
	scalar
	value int64
}

func (v *size) read(d *decoder, n ast.Node) {
	v.scalar.read(d, n)
	if !v.set {
		return
	}
	digits := strings.TrimRight(v.text, "KMGiB ")
	units := map[string]int64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	unit, known := units[strings.TrimSpace(v.text[len(digits):])]
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || value < 1 || value > mostBytes/unit {
		d.fail(v.at, "this must be a size such as 64KiB or 8MiB", "")
		return
	}
	v.value = value * unit
}

// read takes "clamp: off" for what it says.
func (c *clampSpec) read(d *decoder, n ast.Node) {
	switch n := n.(type) {
	case *ast.StringNode:
		if c.Off.value = n.Value == "off"; c.Off.value {
			return
		}
	case *ast.BoolNode:
		if c.Off.value = !n.Value; c.Off.value {
			return
		}
	}
	d.block(n, reflect.ValueOf(c).Elem())
}

// read takes "auth: none" for what it says.
func (a *authSpec) read(d *decoder, n ast.Node) {
	if text, ok := n.(*ast.StringNode); ok && text.Value == "none" {
		a.None.value = true
		return
	}
	d.block(n, reflect.ValueOf(a).Elem())
}

// read takes a path alone for the whole block.
func (p *probeSpec) read(d *decoder, n ast.Node) {
	if _, single := n.(ast.ScalarNode); single {
		p.At = spanOf(n.GetToken())
		p.Get.read(d, n)
		return
	}
	d.block(n, reflect.ValueOf(p).Elem())
}
