package pacing_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/pacing"
)

// TestWebPageInstead: a web page in answer to a stream that had other answers before is a failure of the provider, and is
// asked for again. One that a stream has from the first, or that a rule of the connector accepts, is its answer.
func TestWebPageInstead(t *testing.T) {
	answering := func(kinds ...string) http.HandlerFunc {
		n := -1
		return func(w http.ResponseWriter, _ *http.Request) {
			n = min(n+1, len(kinds)-1)
			w.Header().Set("Content-Type", kinds[n])
			io.WriteString(w, "{}")
		}
	}
	accept := func(collection.Response) collection.Verdict { return collection.Accept }
	const page, data = "text/html; charset=utf-8", "application/json"
	for _, tc := range []struct {
		name     string
		kinds    []string // of the answers, the last for all that follow
		judge    func(collection.Response) collection.Verdict
		requests int // for the first two of the connector; at most, where the provider is taken to be away
		away     bool
	}{
		{"two of them between good answers", []string{data, page, page, data}, nil, 4, false},
		{"from then on", []string{data, page}, nil, 20, true},
		{"from the first", []string{page}, nil, 2, false},
		{"now and then from the first", []string{page, data, page}, nil, 2, false},
		{"by a rule", []string{data, page}, accept, 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := serve(answering(tc.kinds...))
				g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Judge: tc.judge, Limits: collection.Limits{Attempts: 3}}})
				mustFetch(t, g)
				if tc.away {
					if stop := stopOf(t, g); stop.Reason != collection.CircuitOpen || stop.Status != http.StatusOK {
						t.Errorf("it ends with %+v, want an open breaker", stop)
					}
				} else {
					mustFetch(t, g)
				}
				if got := m.count(); got != tc.requests && !tc.away || got > 20 {
					t.Errorf("%d requests, want %d", got, tc.requests)
				}
			})
		})
	}
}
