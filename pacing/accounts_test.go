package pacing_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// A bank is a provider with several accounts, each with a limit of its own: so many
// requests in a second, and then a second of silence.
type bank struct {
	most int

	mu       sync.Mutex
	since    map[string]time.Time // of the window of an account
	left     map[string]int
	silent   map[string]time.Time // until when an account may not ask
	answers  map[string][]int     // for an account, before its limit counts
	answered map[string]int
	refused  map[string]int
	inside   int // requests that came in a silence
	other    int // requests without a known credential
}

func newBank(most int) *bank {
	return &bank{most: most, since: map[string]time.Time{}, left: map[string]int{}, silent: map[string]time.Time{}, answers: map[string][]int{}, answered: map[string]int{}, refused: map[string]int{}}
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(20 * ms)
	b.mu.Lock()
	defer b.mu.Unlock()
	who, now := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), time.Now()
	if codes := b.answers[who]; len(codes) > 0 && codes[0] != 0 {
		if len(codes) > 1 {
			b.answers[who] = codes[1:]
		}
		w.WriteHeader(codes[0])
		return
	} else if len(codes) > 1 {
		b.answers[who] = codes[1:]
	}
	if !strings.HasPrefix(who, "secret-") {
		b.other++
	}
	if now.Before(b.silent[who]) {
		b.inside++
	}
	if now.Sub(b.since[who]) >= time.Second {
		b.since[who], b.left[who] = now, b.most
	}
	if b.left[who]--; b.left[who] < 0 {
		b.refused[who]++
		b.silent[who] = now.Add(time.Second)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	b.answered[who]++
	fmt.Fprint(w, `{}`)
}

// accounts returns a provider with n accounts, secret-1 to secret-n.
func accounts(n int) collection.Provider {
	p := collection.Provider{Name: "acme", Origins: []string{acme}}
	for i := range n {
		secret := fmt.Sprintf("secret-%d", i+1)
		a := collection.Account{
			Credential: secret, CredentialFrom: fmt.Sprintf("env ACME_%d", i+1),
			Authorize: func(req *http.Request) { req.Header.Set("Authorization", "Bearer "+secret) },
		}
		if i == 0 {
			p.Credential, p.CredentialFrom, p.Authorize = a.Credential, a.CredentialFrom, a.Authorize
		} else {
			p.More = append(p.More, a)
		}
	}
	return p
}

// shared returns a governor of n accounts, and where each of them is kept.
func shared(t *testing.T, n int, c pacing.Config) (*pacing.Governor, []*disk) {
	disks := make([]*disk, n)
	for i := range disks {
		disks[i] = &disk{}
		if i > 0 {
			c.More = append(c.More, pacing.Account{Save: disks[i].save})
		}
	}
	keeps := c.Provider.KeepsAccount
	start := c.Provider.StartPerSecond
	c.Provider, c.Save = accounts(n), disks[0].save
	c.Provider.KeepsAccount, c.Provider.StartPerSecond = keeps, start
	return govern(t, c), disks
}

// Three accounts do three times the work of one, and none is asked inside of its
// Retry-After.
func TestAccountsTakeTurns(t *testing.T) {
	work := map[int]int{}
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank(5)
			budget := pacing.NewBudget(pacing.BudgetLimits{MaxTime: 5 * time.Minute, RetryTokens: 1000})
			g, _ := shared(t, n, pacing.Config{Base: serve(b.ServeHTTP), Budget: budget})
			for {
				if _, err := fetch(t, g); err != nil {
					break
				}
			}
			total, refused := 0, 0
			for _, a := range b.answered {
				total, refused = total+a, refused+b.refused["secret-1"]
			}
			work[n] = total
			if b.inside > 0 || b.other > 0 || len(b.answered) != n {
				t.Errorf("%d accounts: %d requests came in a silence, %d without a credential, and %v were answered", n, b.inside, b.other, b.answered)
			}
			if got := budget.Tally(); int(got.Requests) != total+b.refused["secret-1"]+b.refused["secret-2"]+b.refused["secret-3"] {
				t.Errorf("%d accounts: %d requests were charged, and %v answered, %v refused", n, got.Requests, b.answered, b.refused)
			}
			for _, a := range b.answered {
				if 10*a < 8*total/n {
					t.Errorf("%d accounts: they had %v turns, want the same for each", n, b.answered)
				}
			}
		})
	}
	if work[3] < 5*work[1]/2 {
		t.Errorf("three accounts did %d requests, and one %d", work[3], work[1])
	}
}

// What one account is refused costs that one alone.
func TestAccountIsLeftOut(t *testing.T) {
	for _, tc := range []struct {
		name   string
		code   int
		frozen bool
	}{{"rejected", 401, false}, {"forbidden", 403, true}} {
		synctest.Test(t, func(t *testing.T) {
			b, j := newBank(1000), journal{}
			b.answers["secret-2"] = []int{0, 0, tc.code}
			g, disks := shared(t, 3, pacing.Config{Base: serve(b.ServeHTTP), Observe: j.observe})
			for i := range 30 {
				if status, err := fetch(t, g); status != 200 || err != nil {
					t.Fatalf("%s: request %d: %d, %v", tc.name, i, status, err)
				}
			}
			if b.answered["secret-2"] != 2 || b.answered["secret-1"]+b.answered["secret-3"] != 28 {
				t.Errorf("%s: answered %v", tc.name, b.answered)
			}
			var left []collection.Event
			for _, e := range j.of(collection.WarningRaised) {
				if e.Code == collection.AccountLeftOut {
					left = append(left, e)
				}
			}
			if len(left) != 1 || left[0].Account != "env ACME_2" || !strings.Contains(left[0].Message, "env ACME_2") {
				t.Errorf("%s: told %+v, want once that env ACME_2 is left out", tc.name, left)
			}
			if err := g.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, d := range disks {
				s := inspect(t, d.state)
				if s.Frozen != (tc.frozen && i == 1) || s.RejectedAt.IsZero() == (!tc.frozen && i == 1) {
					t.Errorf("%s: account %d is kept as frozen %t, rejected at %v", tc.name, i+1, s.Frozen, s.RejectedAt)
				}
			}
			if s := g.Status(); s.Frozen || s.PerSecond <= 0 {
				t.Errorf("%s: together they stand at %+v", tc.name, s)
			}
		})
	}
}

// A run ends when no account is left, with the stop that ends first.
func TestNoAccountIsLeft(t *testing.T) {
	for _, tc := range []struct {
		name  string
		first []int
		rest  []int
		want  collection.Reason
	}{
		{"all are rejected", []int{401}, []int{401}, collection.Auth},
		{"all are frozen", []int{403}, []int{403}, collection.Frozen},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank(1000)
			b.answers["secret-1"], b.answers["secret-2"], b.answers["secret-3"] = tc.first, tc.rest, tc.rest
			m := serve(b.ServeHTTP)
			g, _ := shared(t, 3, pacing.Config{Base: m})
			if stop := stopOf(t, g); stop.Reason != tc.want {
				t.Errorf("%s: %v, want %s", tc.name, stop, tc.want)
			}
			if m.count() != 3 {
				t.Errorf("%s: %d requests, want one with each account", tc.name, m.count())
			}
			if stop := stopOf(t, g); stop.Reason != tc.want || m.count() != 3 {
				t.Errorf("%s: the next request met %v after %d requests", tc.name, stop, m.count())
			}
		})
	}
}

// A silence that is longer than the run grants leaves the work to the others, and ends
// the run where all are asked for one, until the first of them ends.
func TestAccountThatMustWaitIsLeftOut(t *testing.T) {
	for i := range 6 {
		sooner, later := "secret-2", "secret-3"
		if i%2 == 1 {
			sooner, later = later, sooner
		}
		synctest.Test(t, func(t *testing.T) { leftOutWhileItWaits(t, "Bearer "+sooner, "Bearer "+later) })
	}
}

func leftOutWhileItWaits(t *testing.T, sooner, later string) {
	var mu sync.Mutex
	waits := map[string]string{"Bearer secret-1": "7200"}
	m := serve(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if wait := waits[r.Header.Get("Authorization")]; wait != "" {
			w.Header().Set("Retry-After", wait)
			w.WriteHeader(429)
		}
	})
	j := journal{}
	g, _ := shared(t, 3, pacing.Config{Base: m, Observe: j.observe})
	for range 10 {
		if status, err := fetch(t, g); status != 200 || err != nil {
			t.Fatal(status, err)
		}
	}
	asked := 0
	for _, line := range m.log() {
		if strings.HasSuffix(line, "secret-1") {
			asked++
		}
	}
	if asked != 1 || len(j.of(collection.WarningRaised)) != 0 {
		t.Errorf("the account that must wait was asked %d times, and warned of: %v", asked, j.of(collection.WarningRaised))
	}
	mu.Lock()
	waits[sooner], waits[later] = "3600", "10800"
	mu.Unlock()
	began := time.Now()
	stop := stopOf(t, g)
	if wait := stop.NotBefore.Sub(began).Round(time.Minute); stop.Reason.Kind() == collection.Stuck || wait < time.Hour || wait > 70*time.Minute {
		t.Errorf("%v in %v, want a wait of an hour", stop, wait)
	}
}

// The cap of a run is exact, whoever has the turns.
func TestAccountsShareTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(1000)
		m := serve(b.ServeHTTP)
		g, _ := shared(t, 3, pacing.Config{Base: m, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 20})})
		var done sync.WaitGroup
		for range 40 {
			done.Go(func() { _, _ = fetch(t, g) })
		}
		done.Wait()
		if m.count() != 20 {
			t.Errorf("%d requests, want 20", m.count())
		}
		if stop := stopOf(t, g); stop.Reason != collection.RequestCap {
			t.Errorf("%v, want the request cap", stop)
		}
	})
}

// An attempt that two lines would let go at the same moment leaves once.
func TestAttemptHasOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 300 {
			m, budget := serve(statuses(500, 500, 200)), pacing.NewBudget(pacing.BudgetLimits{})
			g, _ := shared(t, 8, pacing.Config{Base: m, Budget: budget})
			if status, err := fetch(t, g); status != 200 || err != nil {
				t.Fatal(status, err)
			}
			if sent := budget.Tally().Requests; m.count() != 3 || sent != 3 {
				t.Errorf("%d requests left, and %d were charged; want 3", m.count(), sent)
			}
		}
	})
}

// Where the provider binds cursors to an account, all requests of a walk have one, in
// another process as well, and each account has walks.
func TestWalkKeepsItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := map[string]string{}
		for range 2 { // processes
			b := newBank(1000)
			m := serve(b.ServeHTTP)
			g, _ := shared(t, 3, pacing.Config{Base: m, Provider: collection.Provider{KeepsAccount: true, StartPerSecond: 100}})
			for range 3 {
				for i := range 20 {
					at := collection.Place{Stream: "items", Partition: collection.Partition(fmt.Sprintf("p%d", i)), Lane: collection.Incremental}
					resp, err := g.Client().Do(request(t, at))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					log := m.log()
					who := log[len(log)-1]
					if was := of[string(at.Partition)]; was != "" && was != who {
						t.Errorf("%s: %s after %s", at.Partition, who, was)
					}
					of[string(at.Partition)] = who
				}
			}
			if len(b.answered) != 3 {
				t.Errorf("walks were given to %v only", b.answered)
			}
		}
	})
}

// A credential that does not last is renewed for each account, by the turn of that one.
func TestAccountsAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := split(ok, ok)
		p := collection.Provider{Name: "acme", Origins: []string{acme}, Others: []string{issuer}}
		var more []pacing.Account
		for i := range 4 {
			l := &lending{turn: make(chan struct{}, 1)}
			if i == 0 {
				p.Renewal, p.Authorize, p.Credential, p.CredentialFrom = l, l.Authorize, "0", "0"
				continue
			}
			name := fmt.Sprint(i)
			p.More, more = append(p.More, collection.Account{Renewal: l, Authorize: l.Authorize, Credential: name, CredentialFrom: name}), append(more, pacing.Account{})
		}
		g := govern(t, pacing.Config{Base: m, Provider: p, More: more})
		for range 8 {
			if status, err := fetch(t, g); status != 200 || err != nil {
				t.Fatal(status, err)
			}
		}
		log := m.log()
		asked := slices.DeleteFunc(slices.Clone(log), func(line string) bool { return line != tokenAsked })
		if len(asked) != 4 || len(log) != 12 || slices.Contains(log, "GET acme.test Bearer t0") {
			t.Errorf("asked %q", log)
		}
	})
}

func request(t *testing.T, at collection.Place) *http.Request {
	req, err := http.NewRequestWithContext(collection.WithPlace(t.Context(), at), http.MethodGet, acme, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func inspect(t *testing.T, state []byte) gate.Status {
	s, err := gate.Inspect(state, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// No account may show the secret of another one.
func TestNoAccountShowsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, `{"message":"not you, but secret-1 secret-2 secret-3"}`)
		})
		g, _ := shared(t, 3, pacing.Config{Base: m})
		for range 3 {
			if stop := stopOf(t, g); strings.Contains(stop.Error(), "secret-") {
				t.Errorf("it said %q", stop.Error())
			}
		}
		if !g.HoldsSecret("a secret-3 b") || !g.HoldsSecret("a secret-1 b") {
			t.Error("the secrets of all accounts are not known")
		}
	})
}
