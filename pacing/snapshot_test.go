package pacing_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// shiftTimes moves every time in a saved state.
func shiftTimes(t *testing.T, state []byte, by time.Duration) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(state, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case string:
			if at, err := time.Parse(time.RFC3339, v); err == nil {
				return at.Add(by).Format(time.RFC3339Nano)
			}
		}
		return v
	}
	out, err := json.Marshal(walk(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestBadStateIsAColdStart and a warning, never a crash.
func TestBadStateIsAColdStart(t *testing.T) {
	for _, state := range []string{"{", "[]", `"x"`, `{"version":2}`, `{"version":1,"recorded_at":7}`, "\x00"} {
		synctest.Test(t, func(t *testing.T) {
			var j journal
			m := serve(ok)
			g, start := govern(t, pacing.Config{Base: m, Restore: []byte(state), Observe: j.observe}), time.Now()
			mustFetch(t, g)
			if got, want := m.gaps(start)[0], time.Second; got != want {
				t.Errorf("state %q: first request after %v, want %v", state, got, want)
			}
			if got := j.of(collection.WarningRaised); len(got) != 1 || got[0].Message == "" {
				t.Errorf("state %q: warnings %+v, want one", state, got)
			}
		})
	}
}

// TestInspectAndRelease is what a person sees and does without a run.
func TestInspectAndRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		g := govern(t, pacing.Config{Base: serve(statuses(200, 403)), Save: d.save})
		mustFetch(t, g)
		stopOf(t, g)
		status, err := gate.Inspect(d.state, time.Now())
		if err != nil || !status.Frozen || status.FreezeReason != "forbidden" || status.PerSecond == 0 || status.Breaker != gate.Closed {
			t.Errorf("Inspect = %+v, %v, want frozen", status, err)
		}
		released, events, err := gate.Release(d.state, time.Now())
		if err != nil || len(events) != 1 || events[0].Freeze.Frozen {
			t.Fatalf("Release: %+v, %v", events, err)
		}
		mustFetch(t, govern(t, pacing.Config{Base: serve(ok), Restore: released}))
		if _, events, err := gate.Release(released, time.Now()); err != nil || len(events) != 0 {
			t.Errorf("released again: %+v, %v, want nothing", events, err)
		}
		if _, _, err := gate.Release([]byte("{"), time.Now()); err == nil {
			t.Error("released what cannot be read")
		}
		if _, err := gate.Inspect([]byte("{"), time.Now()); err == nil {
			t.Error("inspected what cannot be read")
		}
	})
}

func TestDomain(t *testing.T) {
	salt, other := []byte("salt"), []byte("tlas")
	name := pacing.Domain("acme", "key-0123456789", salt)
	if len(name) != len("acme/")+12 || name[:5] != "acme/" {
		t.Errorf("Domain = %q, want acme/ and 12 digits", name)
	}
	for _, different := range []string{
		pacing.Domain("acme", "yek-0123456789", salt), // the whole credential counts, not its end
		pacing.Domain("acme", "key-0123456789", other),
		pacing.Domain("acmf", "key-0123456789", salt),
	} {
		if different == name {
			t.Errorf("two accounts share the domain %q", name)
		}
	}
	if again := pacing.Domain("acme", "key-0123456789", salt); again != name {
		t.Errorf("Domain = %q, then %q", name, again)
	}
}

func TestNewRefusesWhatItCannotKeep(t *testing.T) {
	for _, p := range []collection.Provider{
		{Ceilings: []collection.Ceiling{{Count: 0, Per: time.Second}}},
		{Ceilings: []collection.Ceiling{{Count: 5}}},
		{Origins: []string{"acme.test"}},
		{Origins: []string{"ftp://acme.test"}},
		{Origins: []string{"https://acme.test/v2"}},
		{Origins: []string{"https://user:pass@acme.test"}},
	} {
		if _, err := pacing.New(pacing.Config{Provider: p}); err == nil {
			t.Errorf("New accepts %+v %v", p.Ceilings, p.Origins)
		}
	}
}

// spell returns an event with everything in it.
func spell(t *testing.T, e collection.Event) string {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestIdleRunsDoNotKeepAPaceFresh: a run without an answer confirms nothing.
func TestIdleRunsDoNotKeepAPaceFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		first := govern(t, pacing.Config{Base: serve(ok), Save: d.save, Law: law.AIMD})
		for range 9 {
			mustFetch(t, first)
		}
		first.Flush(t.Context())
		for range 4 {
			time.Sleep(2 * time.Hour)
			govern(t, pacing.Config{Base: serve(ok), Save: d.save, Restore: d.state, Law: law.AIMD}).Flush(t.Context())
		}
		if got := govern(t, pacing.Config{Base: serve(ok), Restore: d.state, Law: law.AIMD}).Status().PerSecond; got != 1 {
			t.Errorf("8 hours after the last answer the pace is %v/s, want 1", got)
		}
	})
}

// TestRememberIsRare: what was learned is saved while all is well, so that a
// process that is killed has not learned it in vain: at once, and then every two
// seconds at most.
func TestRememberIsRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		saves := 0
		g := govern(t, pacing.Config{Base: serve(ok), Save: func(ctx context.Context, state []byte, events ...collection.Event) error {
			saves++
			return d.save(ctx, state, events...)
		}})
		begun := time.Now()
		for range 60 {
			mustFetch(t, g)
			if err := g.Remember(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if most := 1 + int(time.Since(begun)/(2*time.Second)); saves < most/2 || saves > most {
			t.Errorf("%d saves in %v, want one in two seconds", saves, time.Since(begun))
		}
		killed, err := gate.Inspect(d.state, time.Now())
		if err != nil || killed.PerSecond < 0.9*g.Status().PerSecond {
			t.Errorf("a killed process has left %v/s, %v, want %v/s", killed.PerSecond, err, g.Status().PerSecond)
		}
	})
}

// TestAFirstAnswerIsSaved: who looks at a run that waits after its first answer sees
// what that answer told.
func TestAFirstAnswerIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		g := govern(t, pacing.Config{Base: serve(ok), Save: d.save, Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 3, Per: time.Minute}}}})
		mustFetch(t, g)
		if err := g.Remember(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, err := gate.Inspect(d.state, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if kept.Ended != 1 {
			t.Errorf("after the first answer %d answers are saved: %s", kept.Ended, d.state)
		}
	})
}
