package cmd

import (
	"fmt"

	"github.com/spf13/pflag"

	"collect/engine/har"
	"collect/internal/words"
	"collect/report/problem"
)

// addTraceHTTP adds the flag that names the file for the requests.
func addTraceHTTP(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, "trace-http", "", "write the requests, without bodies and secrets, to this `file` in the HTTP Archive format (.har)")
}

// traceHTTP makes the file for the requests that are about to be sent; nil where none
// was asked for. What ends it says what is in it; quiet leaves that out where all is
// well.
func (a *app) traceHTTP(path string, quiet bool) (file *har.File, end func(), err error) {
	if path == "" {
		return nil, func() {}, nil
	}
	version, _, _ := build()
	if file, err = har.Create(har.Config{Path: path, Version: version}); err != nil {
		return nil, nil, &problem.OutputError{Err: err}
	}
	return file, func() {
		written, cut, err := file.Close()
		shown, requests := words.Clean(words.Home(path, a.env)), words.Counted(int64(written), "request", "requests")
		switch {
		case err != nil:
			fmt.Fprintf(a.err, "warning: %s ends after %s: %s; the run itself is not affected\n", shown, requests, words.Clean(err.Error()))
		case cut > 0:
			fmt.Fprintf(a.err, "warning: %s is cut: it has the first %s, and there was no room for %s behind them\n", shown, requests, words.Count(int64(cut)))
		case !quiet:
			fmt.Fprintf(a.err, "wrote %s: %s, without bodies and secrets\n", shown, requests)
		}
	}, nil
}
