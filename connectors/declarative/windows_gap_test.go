package declarative_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/connectors"
)

// moody answers some requests with a page that makes no sense.
type moody struct {
	http.Handler
	refuses func() bool
}

func (m moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.refuses() {
		fmt.Fprint(w, "{")
		return
	}
	m.Handler.ServeHTTP(w, r)
}

// TestWindowsBehindGaps: a walk that goes on behind the windows that it cannot have, and
// later walks of each of these alone, have everything together, wherever they are cut off.
func TestWindowsBehindGaps(t *testing.T) {
	pieces, inside, stood := 0, 0, 0
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			time.Sleep(time.Until(time.Unix(began+int64(2+rng.IntN(20))*day+int64(rng.IntN(day)), 0)))
			j := &journal{size: 1 + rng.IntN(6), cap: rng.IntN(2) * 30, undate: rng.IntN(4) == 0, fast: time.Duration(rng.IntN(600)-300) * time.Second}
			for range rng.IntN(200) {
				j.at = append(j.at, began+rng.IntN(int(time.Now().Add(min(j.fast, 0)).Unix())-2-began))
			}
			file := fmt.Sprintf("step: %dh, lookback: 10m", 1+rng.IntN(100))
			if j.cap > 0 {
				file += ", cap: 30, least: 1s"
			}
			c := open(t, &httptest.Server{}, journalFile(file))
			cutter := c.(connectors.Cutter)
			bad := 1 + rng.IntN(5)
			m := moody{j, func() bool { return rng.IntN(10) < bad }}
			client := &http.Client{Transport: direct{m}}
			stored := map[string]bool{}
			// read follows a walk up to its end, or to a window that cannot be had.
			read := func(from collection.Cursor, often int) (collection.Cursor, error) {
				for slice, err := range c.Slices(t.Context(), client, things0, from) {
					if err != nil {
						return from, err
					}
					for _, r := range slice.Records {
						stored[r.Key] = true
					}
					if from = slice.Next; rng.IntN(often) == 0 {
						break
					}
				}
				return from, nil
			}
			var owed []collection.Cursor
			from := collection.Cursor{}
			for !from.Done {
				at, err := read(from, 5)
				if from = at; err == nil {
					continue
				}
				if stop, ok := errors.AsType[*collection.Stop](err); !ok || !strings.HasPrefix(stop.Detail, "the window from 2023-1") {
					t.Fatalf("the walk ended with %v, want the window", err)
				}
				next, ok := cutter.Behind(things0, from)
				if !ok { // the newest window of a walk that has no answer yet
					stood++
					continue
				}
				if owed = append(owed, from); from.Token != "" {
					inside++
				}
				from = next
			}
			time.Sleep(30 * oneDay) // a window is what it was
			for _, at := range owed {
				pieces++
				for first := true; first || !at.Done; first = false {
					alone, ok := cutter.Alone(things0, at)
					if !ok {
						t.Fatal("a window cannot be walked alone")
					}
					reached, err := read(alone, 3)
					if err == nil {
						at = reached
					}
				}
			}
			for id := range j.at {
				if !stored[fmt.Sprint(id)] {
					t.Fatalf("seed %d: record %d of second %d is missing; %d windows were owed", seed, id, j.at[id]-began, len(owed))
				}
			}
		})
	}
	if pieces == 0 || inside == 0 || stood == 0 {
		t.Errorf("%d windows were owed, %d of them from the middle on; %d walks stood", pieces, inside, stood)
	}
}
