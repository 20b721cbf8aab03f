package jq

import (
	"errors"
	"fmt"

	"github.com/itchyny/gojq"
)

// A Filter is a program that a person gives for the output of a command. It may take
// what it takes: unlike a [Program] it is not of a file that somebody else wrote.
// Neither has an environment or files.
type Filter struct{ code *gojq.Code }

// CompileFilter reads a program.
func CompileFilter(text string) (*Filter, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return &Filter{code}, nil
}

// Apply returns what the program makes of a JSON document, each with its newline, as
// "jq -r" prints it: a text as it is, everything else as JSON. On an error it returns
// what was made before it.
func (f *Filter) Apply(doc []byte) (out []byte, err error) {
	in, err := decode(doc)
	if err != nil {
		return nil, err
	}
	made := f.code.Run(in)
	for {
		value, ok := made.Next()
		if !ok {
			return out, nil
		}
		if err, ok := value.(error); ok {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return out, nil // the program ends itself
			}
			return out, err
		}
		line, ok := value.(string)
		if !ok {
			text, err := encode(value, mostOutput)
			if err != nil {
				return out, fmt.Errorf("what it makes cannot be printed: %w", err)
			}
			line = string(text)
		}
		out = append(append(out, line...), '\n')
	}
}

// mostOutput bounds one value that a filter prints.
const mostOutput = 1 << 30
