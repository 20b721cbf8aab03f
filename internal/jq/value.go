package jq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// decode returns a JSON document with its numbers as they are written.
func decode(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// encode returns a value as JSON, of at most so many bytes. The members of objects
// are in the order of their names.
func encode(v any, most int64) ([]byte, error) {
	e := encoder{most: most}
	if err := e.value(v); err != nil {
		return nil, err
	}
	return e.doc, nil
}

type encoder struct {
	doc  []byte
	most int64
}

func (e *encoder) value(v any) error {
	if int64(len(e.doc)) > e.most {
		return fmt.Errorf("it makes a record of more than %d bytes", e.most)
	}
	switch v := v.(type) {
	case nil:
		e.doc = append(e.doc, "null"...)
	case bool:
		e.doc = strconv.AppendBool(e.doc, v)
	case json.Number:
		e.doc = append(e.doc, v...)
	case int:
		e.doc = strconv.AppendInt(e.doc, int64(v), 10)
	case *big.Int:
		e.doc = v.Append(e.doc, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("it makes a number that JSON does not have")
		}
		number, _ := json.Marshal(v) // it is finite
		e.doc = append(e.doc, number...)
	case string:
		if int64(len(v)) > e.most {
			return fmt.Errorf("it makes a record of more than %d bytes", e.most)
		}
		e.text(v)
	case []any:
		return e.list('[', ']', len(v), func(i int) error { return e.value(v[i]) })
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		return e.list('{', '}', len(names), func(i int) error {
			e.text(names[i])
			e.doc = append(e.doc, ':')
			return e.value(v[names[i]])
		})
	default:
		return fmt.Errorf("it makes a %T", v)
	}
	return nil
}

func (e *encoder) list(open, end byte, n int, item func(int) error) error {
	e.doc = append(e.doc, open)
	for i := range n {
		if i > 0 {
			e.doc = append(e.doc, ',')
		}
		if err := item(i); err != nil {
			return err
		}
	}
	e.doc = append(e.doc, end)
	return nil
}

func (e *encoder) text(s string) {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }) {
		e.doc = append(append(append(e.doc, '"'), s...), '"')
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text always encodes
	e.doc = append(e.doc, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}

// errTooMuch ends a program that would take too much memory.
var errTooMuch = errors.New("it takes too much memory")

// longestNumber is how many digits a number has that is computed with.
const longestNumber = 4096

// costs of values in memory, beside their text.
const (
	itemCost   = 16
	memberCost = 64
)

// sizeOf returns how many bytes v takes, each time that it occurs. It stops above most.
func sizeOf(v any, most int64) int64 {
	size := int64(itemCost)
	switch v := v.(type) {
	case string:
		size += int64(len(v))
	case json.Number:
		size += int64(len(v))
		if len(v) > longestNumber {
			return most + 1
		}
	case *big.Int:
		if size += int64(v.BitLen() / 8); v.BitLen() > 4*longestNumber {
			return most + 1
		}
	case []any:
		for _, item := range v {
			if size > most {
				break
			}
			size += sizeOf(item, most-size)
		}
	case map[string]any:
		for name, item := range v {
			if size > most {
				break
			}
			size += memberCost + int64(len(name)) + sizeOf(item, most-size)
		}
	}
	return size
}

// fits returns v if it is no larger than most.
func (m *machine) fits(v any, most int64) any {
	if most = max(most, 1<<10); sizeOf(v, most) > most {
		return errTooMuch
	}
	return v
}

// made returns v, which is new but for what is in it.
func (m *machine) made(v any) any {
	switch v := v.(type) {
	case string:
		m.left -= int64(len(v))
	case []any:
		m.left -= itemCost * int64(len(v))
	case map[string]any:
		m.left -= memberCost * int64(len(v))
	}
	if m.left < 0 {
		return errTooMuch
	}
	return v
}

// farPlace is an index of an array for which room counts: setting what stands there
// makes all places before it.
const farPlace = 1000

// place returns v, an index of an array or the name of a member.
func (m *machine) place(v any) any {
	var n float64
	switch v := v.(type) {
	case int:
		n = float64(v)
	case float64:
		n = v
	case json.Number:
		n, _ = v.Float64()
	case *big.Int:
		return errTooMuch
	}
	if n > farPlace {
		if n > float64(m.left)/itemCost {
			return errTooMuch
		}
		m.left -= itemCost * int64(n)
	}
	return v
}

// product returns a * b, unless that is a text repeated too often.
func (m *machine) product(a, b any) any {
	text, isText := a.(string)
	times := b
	if !isText {
		text, isText = b.(string)
		times = a
	}
	if isText {
		n := 0.0
		switch times := times.(type) {
		case int:
			n = float64(times)
		case float64:
			n = times
		case json.Number:
			n, _ = times.Float64()
		case *big.Int:
			return errTooMuch
		}
		if n*float64(len(text)) > float64(m.left) {
			return errTooMuch
		}
	}
	v, _ := m.times.Run(nil, a, b).Next()
	return v
}

// joined returns the items of an array as one text, with another one between them.
func (m *machine) joined(v, between any) any {
	items, ok := v.([]any)
	text, isText := between.(string)
	if !ok || !isText {
		return errors.New("join needs an array, and a text")
	}
	if int64(len(items))*int64(len(text)) > m.left {
		return errTooMuch
	}
	parts := make([]string, len(items))
	for i, item := range items {
		switch item := item.(type) {
		case nil:
		case string:
			parts[i] = item
		case bool, int, float64, *big.Int, json.Number:
			number, err := encode(item, longestNumber)
			if err != nil {
				return err
			}
			parts[i] = string(number)
		default:
			return errors.New("join cannot join objects and arrays")
		}
	}
	return m.made(strings.Join(parts, text))
}
