package author

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"collect/collection"
	"collect/connectors/cassette"
)

// A Tape is a cassette with what it was recorded with. In its file that stands in
// lines before the first exchange:
//
//	param org=acme                   what the connector was given
//	parent issues {"repo":"acme/api"} the one of which the stream was recorded
//	records issues 25                what playing it gives
type Tape struct {
	Params    map[string]string
	Parents   map[string][]collection.Partition // by stream; of a stream without any, all are played
	Records   map[string]int
	Exchanges []cassette.Exchange
}

// ParseTape reads the file of a tape.
func ParseTape(src []byte) (*Tape, error) {
	t := &Tape{Params: map[string]string{}, Parents: map[string][]collection.Partition{}, Records: map[string]int{}}
	for line := range strings.Lines(string(txtar.Parse(src).Comment)) {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		name, value, found := strings.Cut(rest, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case verb == "param":
			key, text, _ := strings.Cut(rest, "=")
			t.Params[key] = text
		case verb == "parent" && found:
			t.Parents[name] = append(t.Parents[name], collection.Partition(value))
		case verb == "records":
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("%q: the number of records is missing", line)
			}
			t.Records[name] = n
		default:
			return nil, fmt.Errorf("%q is neither a param, nor a parent, nor records, nor a comment", line)
		}
	}
	var err error
	t.Exchanges, err = cassette.Parse(src)
	return t, err
}

// Format returns the file of a tape.
func (t *Tape) Format() ([]byte, error) {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(t.Params)) {
		fmt.Fprintf(&b, "param %s=%s\n", name, t.Params[name])
	}
	for _, stream := range slices.Sorted(maps.Keys(t.Parents)) {
		for _, partition := range t.Parents[stream] {
			fmt.Fprintf(&b, "parent %s %s\n", stream, string(partition))
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(t.Records)) {
		fmt.Fprintf(&b, "records %s %d\n", stream, t.Records[stream])
	}
	exchanges, err := cassette.Format(t.Exchanges)
	return append(append(b.Bytes(), '\n'), exchanges...), err
}

// Tape returns what was asked for so far as a tape, without secrets.
func (t *Trial) Tape(params map[string]string) *Tape {
	scrubber := t.scrubber()
	tape := &Tape{Params: map[string]string{}, Parents: map[string][]collection.Partition{}, Records: map[string]int{}}
	for name, value := range params {
		tape.Params[name] = scrubber.Text(value)
	}
	for stream, at := range t.of {
		tape.Parents[stream] = []collection.Partition{collection.Partition(scrubber.Text(string(at)))}
	}
	for _, n := range t.recorder.Noted() {
		tape.Exchanges = append(tape.Exchanges, scrubber.Scrub(n).Exchange)
	}
	return tape
}
