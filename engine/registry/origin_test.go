package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"collect/report/problem"
	"collect/store"
)

// TestNamesAreWhatWasCollected: a name is an entry of collect.yaml, or else what was
// collected under it, and only then what comes with collect.
func TestNamesAreWhatWasCollected(t *testing.T) {
	dir := t.TempDir()
	own, entry, gone := filepath.Join(dir, "own.yaml"), filepath.Join(dir, "entry.yaml"), filepath.Join(dir, "gone.yaml")
	for _, path := range []string{own, entry} {
		text := "connector: x\nprovider: {base_url: \"http://127.0.0.1:1\"}\nstreams: {a: {get: /x, key: id, page: {none: true}}}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name       string
		entry      string // of collect.yaml
		remembered string
		unread     error
		source     string // wanted; "" is built in
		err        string // wanted
	}{
		{name: "stripe", source: ""},
		{name: "stripe", remembered: own, source: own},
		{name: "stripe", remembered: own, entry: "stripe", source: ""},
		{name: "stripe", remembered: own, entry: entry, source: entry},
		{name: "stripe", remembered: gone, err: "the connector file that stripe was collected with is not there any more: " + gone},
		{name: "stripe", unread: store.ErrLocked, err: "stays locked"},
		{name: "mine", remembered: own, source: own},
		{name: "mine", err: `no connector named "mine"`},
		{name: own, remembered: entry, source: own},
	} {
		r := Registry{Remembered: func(context.Context, string) (string, []string, error) { return tc.remembered, nil, tc.unread }}
		if tc.entry != "" {
			r.Entries = map[string]Entry{tc.name: {Use: tc.entry}}
		}
		found, spec, err := r.Find(t.Context(), tc.name)
		path, _, textErr := r.Text(t.Context(), tc.name)
		switch {
		case tc.err != "":
			if err == nil || err.Error() != tc.err || textErr == nil || textErr.Error() != tc.err {
				t.Errorf("%+v: Find = %v, Text = %v", tc, err, textErr)
			}
		case err != nil || textErr != nil:
			t.Errorf("%+v: Find = %v, Text = %v", tc, err, textErr)
		case found.Source != tc.source || tc.source != "" && path != tc.source || tc.source == "" && spec.Name() != "stripe":
			t.Errorf("%+v: Find found %q, Text %q", tc, found.Source, path)
		}
	}
	if _, _, err := (&Registry{}).Find(t.Context(), "strip"); !isUnknown(err) {
		t.Errorf("strip: %v", err)
	}
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*problem.UnknownConnectorError](err)
	return ok
}
