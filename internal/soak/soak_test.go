package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/internal/soak"
	"collect/pacing"
)

// The service levels that the project began with.
const (
	mostRepair   = 5 * time.Minute // mean time from the opening of a breaker to its closing,
	leastRepairs = 3               // of at least so many: six hours of one provider may have one, which depends on when a run begins
	leastSuccess = 0.995           // of what was asked for, in 24 hours
)

// Runs begin every 5 minutes, and one in two hours is killed. Between runs nobody asks
// whether the provider works again, so that with a longer time between them a breaker
// stays open for longer.
const (
	runEvery  = 5 * time.Minute
	mostTime  = runEvery - 10*time.Second
	killEvery = 24
)

// A network leads to a server without a socket.
type network struct{ *soak.Server }

func (n network) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			resp, err = nil, fmt.Errorf("the connection was cut")
		}
	}()
	n.ServeHTTP(w, r)
	return w.Result(), nil
}

// A day is what is kept of a provider between runs, and what is counted.
type day struct {
	server *soak.Server
	state  []byte // of the pace, as it was saved last
	listed int    // items that are known
	owed   []int  // of these, those that could not be had

	mu      sync.Mutex
	calls   map[collection.CallEnd]int64
	opened  time.Time
	repairs []time.Duration
}

// observe notes how long the breaker was not closed.
func (d *day) observe(e collection.Event) {
	if e.Breaker == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.Breaker.State == "closed" && !d.opened.IsZero():
		d.repairs = append(d.repairs, e.Time.Sub(d.opened))
		d.opened = time.Time{}
	case e.Breaker.State != "closed" && d.opened.IsZero():
		d.opened = e.Time
	}
}

// run is a process: it knows what was saved, and reads the list, and then each item that
// it does not have, until there are no more, or a stop ends the run. One that is killed
// saves nothing at its end.
func (d *day) run(t *testing.T, killed bool) {
	var ceilings []collection.Ceiling
	for _, w := range d.server.Ceilings {
		ceilings = append(ceilings, collection.Ceiling{Count: w.Count, Per: w.Per})
	}
	governor, err := pacing.New(pacing.Config{
		Provider: collection.Provider{Name: d.server.Name, Origins: []string{"http://provider.test"}, Ceilings: ceilings},
		Budget:   pacing.NewBudget(pacing.BudgetLimits{MaxTime: mostTime}),
		Base:     network{d.server}, Restore: d.state, Observe: d.observe,
		Save: func(_ context.Context, state []byte, _ ...collection.Event) error {
			d.state = state
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer governor.Close()
	d.read(t, governor)
	if !killed {
		if err := governor.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for end, n := range governor.Traffic().Calls {
		d.calls[end] += n
	}
}

// read is the work of a run.
func (d *day) read(t *testing.T, governor *pacing.Governor) {
	client := governor.Client()
	for {
		var page struct{ Results []soak.Item }
		if err := get(client, "/list?since="+strconv.Itoa(d.listed), &page); err != nil {
			break
		}
		for _, item := range page.Results {
			d.listed++
			d.owed = append(d.owed, item.ID)
		}
		if len(page.Results) == 0 {
			break
		}
	}
	var left []int
	for i, id := range d.owed {
		var item soak.Item
		err := get(client, "/items/"+strconv.Itoa(id), &item)
		stop, stopped := errors.AsType[*collection.Stop](err)
		switch {
		case stopped && stop.Reason.EndsRun():
			d.owed = append(left, d.owed[i:]...)
			return
		case err != nil:
			left = append(left, id)
		case item != soak.ItemOf(id):
			t.Fatalf("item %d is %+v", id, item)
		}
		if err := governor.Remember(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	d.owed = left
}

func get(client *http.Client, path string, into any) error {
	resp, err := client.Get("http://provider.test" + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// TestDay: 24 hours with each provider at 80 % of its ceilings, each trouble once an
// hour and a new process every 5 minutes: a breaker is closed again within 5 minutes in
// the mean, 99.5 % of what was asked for is answered, nothing comes before the end of a
// Retry-After, and every item comes in the end.
func TestDay(t *testing.T) {
	length := 24 * time.Hour
	if testing.Short() {
		length = 6 * time.Hour
	}
	var mu sync.Mutex
	calls := map[collection.CallEnd]int64{}
	t.Run("providers", func(t *testing.T) {
		for place, spec := range soak.Specs() {
			t.Run(spec.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := &day{server: soak.NewServer(spec, place, soak.Cycle), calls: map[collection.CallEnd]int64{}}
					begun := time.Now()
					runs := func(most time.Duration, until func() bool) {
						for n := 0; n < int(most/runEvery) && !until(); n++ {
							d.run(t, n%killEvery == killEvery-1)
							time.Sleep(time.Until(begun.Add(time.Duration(n+1) * runEvery)))
						}
					}
					runs(length, func() bool { return false })
					d.judge(t)
					mu.Lock()
					for end, n := range d.calls {
						calls[end] += n
					}
					mu.Unlock()
					d.server.Calm()
					begun = time.Now()
					runs(3*length, func() bool { return d.left() == 0 })
					if n := d.left(); n != 0 {
						t.Errorf("%d items never came", n)
					}
					t.Logf("%s: all %d items came %v after the last trouble", d.server.Name, d.listed, time.Since(begun).Round(time.Minute))
				})
			})
		}
	})
	success := float64(calls[collection.CallAnswered]) / float64(calls[collection.CallAnswered]+calls[collection.CallFailed])
	t.Logf("success in 24 hours: %.3f %% of %d calls; stopped before they were sent: %d", 100*success, calls[collection.CallAnswered]+calls[collection.CallFailed], calls[collection.CallStopped])
	if success < leastSuccess {
		t.Errorf("success %.3f %%, want at least %.1f %%", 100*success, 100*leastSuccess)
	}
}

// left returns how many items are not read yet.
func (d *day) left() int { return d.server.Items(time.Now()) - d.listed + len(d.owed) }

// judge checks the day of one provider.
func (d *day) judge(t *testing.T) {
	statuses, early := d.server.Statuses()
	var repair time.Duration
	for _, r := range d.repairs {
		repair += r
	}
	repair /= time.Duration(max(1, len(d.repairs)))
	t.Logf("%s: statuses %v, calls %v, breaker opened %d times, closed again after %v in the mean, %d items not read yet",
		d.server.Name, statuses, d.calls, len(d.repairs), repair, d.left())
	if len(d.repairs) == 0 {
		t.Error("the breaker never opened: this proves nothing")
	}
	if len(d.repairs) >= leastRepairs && repair > mostRepair {
		t.Errorf("a breaker was closed again after %v in the mean, want at most %v", repair, mostRepair)
	}
	if early > 0 {
		t.Errorf("%d requests came before the end of a Retry-After", early)
	}
	for _, status := range []int{0, 200, 429, 502} {
		if statuses[status] == 0 {
			t.Errorf("no request was answered %d: this proves nothing", status)
		}
	}
}
