// Package jq runs programs of jq, as gojq reads them: a [Program] of a connector file
// makes records of a record, and a [Filter] of a person chooses what a command prints.
//
// A Program can reach nothing but its record: it has no environment, no files, no
// clock and no other input. What it may take is bounded by counts alone, so that a
// slow machine comes to the same records as a fast one: the steps of a program, and
// the bytes that it makes. What could make much of little in one step, such as
// "x" * 1e9, is measured before it is done; see [Compile].
//
// Numbers that a program does not compute with stay the digits that were sent.
package jq

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/itchyny/gojq"
)

const (
	mostSteps   = 500_000         // of one record
	patience    = 2 * time.Second // for one, however few its steps: a machine that hangs
	mostRecords = 1000            // of one
)

// A Program is compiled, and safe for concurrent use.
type Program struct {
	Text  string
	query *gojq.Query
	idle  sync.Pool // of *machine
}

// A SyntaxError says what is wrong with a program, and where.
type SyntaxError struct {
	Offset, Length int // bytes of the text
	Message        string
}

func (e *SyntaxError) Error() string { return e.Message }

// Compile reads a program. An error is a *SyntaxError.
//
// The program that runs is the one of the text, with a measure in front of all
// operators and functions that make a value of others in one step, and behind them.
func Compile(text string) (*Program, error) {
	query, err := gojq.Parse(text)
	if fault, ok := errors.AsType[*gojq.ParseError](err); ok {
		length := len(fault.Token)
		return nil, &SyntaxError{max(0, fault.Offset-length), max(1, length), fault.Error()}
	}
	if err != nil {
		return nil, &SyntaxError{0, max(1, len(text)), err.Error()}
	}
	g := guard{}
	g.query(query)
	if g.fault != "" {
		at := max(0, strings.Index(text, g.fault))
		return nil, &SyntaxError{at, len(g.fault), fmt.Sprintf("`%s` is not available here", g.fault)}
	}
	p := &Program{Text: text, query: query}
	m, err := p.machine()
	if err != nil {
		message := err.Error()
		_, name, _ := strings.Cut(message, ": ")
		name, _, _ = strings.Cut(name, "/")
		at := strings.Index(text, name)
		if name == "" || at < 0 {
			at, name = 0, text
		}
		return nil, &SyntaxError{at, max(1, len(name)), message}
	}
	p.idle.Put(m)
	return p, nil
}

// A machine runs a program, for one record at a time.
type machine struct {
	code  *gojq.Code
	times *gojq.Code // $a * $b
	most  int64      // bytes of one value
	left  int64      // bytes that may still be made
}

func (p *Program) machine() (*machine, error) {
	m := &machine{}
	one := func(f func(v any) any) func(any, []any) any { return func(v any, _ []any) any { return f(v) } }
	var err error
	m.code, err = gojq.Compile(p.query,
		gojq.WithFunction(fits, 0, 0, one(func(v any) any { return m.fits(v, m.most) })),
		gojq.WithFunction(fitsText, 0, 0, one(func(v any) any { return m.fits(v, m.most/8) })),
		gojq.WithFunction(fitsNumber, 0, 0, one(func(v any) any { return m.fits(v, longestNumber) })),
		gojq.WithFunction(made, 0, 0, one(m.made)),
		gojq.WithFunction(place, 0, 0, one(m.place)),
		gojq.WithFunction(product, 2, 2, func(_ any, args []any) any { return m.product(args[0], args[1]) }),
		gojq.WithFunction(joined, 1, 1, func(v any, args []any) any { return m.joined(v, args[0]) }),
	)
	if err != nil {
		return nil, err
	}
	times, err := gojq.Parse("$a * $b")
	if err == nil {
		m.times, err = gojq.Compile(times, gojq.WithVariables([]string{"$a", "$b"}))
	}
	return m, err
}

// Apply returns the records that the program makes of one, none of which is larger
// than most bytes. Its text says why it fails, without the values of the record.
func (p *Program) Apply(record []byte, most int64) (records [][]byte, err error) {
	in, err := decode(record)
	if err != nil {
		return nil, err
	}
	m, ok := p.idle.Get().(*machine)
	if !ok {
		if m, err = p.machine(); err != nil {
			return nil, err
		}
	}
	defer p.idle.Put(m)
	m.most, m.left = most, 4*most
	defer func() {
		if fault := recover(); fault != nil { // of gojq: it costs this record, and not the run
			records, err = nil, errors.New("the program failed")
		}
	}()
	made := m.code.RunWithContext(&counted{Context: context.Background(), ends: time.Now().Add(patience)}, in)
	for size := int64(0); ; {
		value, ok := made.Next()
		if !ok {
			return records, nil
		}
		if err, ok := value.(error); ok {
			return nil, reason(err)
		}
		out := record
		if !same(value, in) {
			if out, err = encode(value, most); err != nil {
				return nil, err
			}
		}
		if size += int64(len(out)); size > 4*most || len(records) == mostRecords {
			return nil, fmt.Errorf("it makes more than %d records, or more than %d bytes, of one", mostRecords, 4*most)
		}
		records = append(records, out)
	}
}

// same reports whether a value is the record itself, which then keeps its bytes.
func same(v, record any) bool {
	a, isObject := v.(map[string]any)
	b, _ := record.(map[string]any)
	return isObject && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// errSteps ends a program that runs on and on.
var errSteps = fmt.Errorf("it takes more than %d steps", mostSteps)

// reason returns the text of an error without the values in it.
func reason(err error) error {
	switch {
	case errors.Is(err, errSteps), errors.Is(err, errTooMuch):
		return err
	}
	if halt, ok := errors.AsType[*gojq.HaltError](err); ok {
		return errors.New("it halts: " + fmt.Sprintf("%T", halt.Value()))
	}
	if _, ok := err.(gojq.ValueError); ok && !isFault(err) {
		return errors.New("it calls `error`")
	}
	text, _, _ := strings.Cut(err.Error(), " (")
	return errors.New(text[:min(len(text), 200)])
}

// isFault reports whether an error with a value is one of gojq's own.
func isFault(err error) bool {
	return strings.Contains(fmt.Sprintf("%T", err), "Error") && !strings.HasPrefix(err.Error(), "error: ")
}

// A counted is a context that counts how often it is asked whether it is done:
// gojq asks before each step.
type counted struct {
	context.Context
	steps int
	ends  time.Time
	err   error
}

var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *counted) Done() <-chan struct{} {
	if c.steps++; c.steps > mostSteps || c.steps%1024 == 0 && time.Now().After(c.ends) {
		c.err = errSteps
		return over
	}
	return nil
}

func (c *counted) Err() error { return c.err }
