package oauth2_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/connectors/oauth2"
)

// An endpoint answers requests for tokens, one after the other; the last answer
// again and again.
type endpoint struct {
	mu      sync.Mutex
	answers []string // "200 {…}"
	seen    []string // "authorization|form"
	takes   time.Duration
}

func (e *endpoint) send(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	time.Sleep(e.takes)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, req.Method+" "+req.URL.String()+" "+req.Header.Get("Authorization")+"|"+string(body))
	answer := e.answers[min(len(e.seen), len(e.answers))-1]
	var status int
	fmt.Sscan(answer, &status)
	_, text, _ := strings.Cut(answer, " ")
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

func (e *endpoint) asked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.seen)
}

// carried returns what a request carries.
func carried(s *oauth2.Source) *http.Request {
	req, _ := http.NewRequest(http.MethodGet, "https://api.test", nil)
	s.Authorize(req)
	return req
}

func token(s *oauth2.Source) string { return carried(s).Header.Get("Authorization") }

func TestRequests(t *testing.T) {
	tests := []struct {
		name   string
		config oauth2.Config
		want   string
	}{
		{"client credentials", oauth2.Config{ClientID: "app:1", ClientSecret: "p+s"},
			"Basic YXBwJTNBMTpwJTJCcw==|grant_type=client_credentials"},
		{"in the body", oauth2.Config{ClientID: "app", ClientSecret: "p", InBody: true},
			"|client_id=app&client_secret=p&grant_type=client_credentials"},
		{"refresh", oauth2.Config{ClientID: "app", ClientSecret: "p", Refresh: "r&1"},
			"Basic YXBwOnA=|grant_type=refresh_token&refresh_token=r%261"},
		{"a public client", oauth2.Config{ClientID: "app", Refresh: "r"},
			"|client_id=app&grant_type=refresh_token&refresh_token=r"},
		{"fields", oauth2.Config{ClientID: "app", ClientSecret: "p", Fields: [][2]string{{"scope", "a b"}, {"audience", "x"}}},
			"Basic YXBwOnA=|audience=x&grant_type=client_credentials&scope=a+b"},
	}
	for _, test := range tests {
		e := &endpoint{answers: []string{`200 {"access_token":"a1"}`}}
		test.config.URL = "https://auth.test/token"
		s := oauth2.New(test.config)
		if err := s.Renew(t.Context(), e.send); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if got, want := e.seen[0], "POST https://auth.test/token "+test.want; got != want {
			t.Errorf("%s:\n\tsent %s\n\twant %s", test.name, got, want)
		}
		if got := token(s); got != "Bearer a1" {
			t.Errorf("%s: %q is attached, want a1", test.name, got)
		}
	}
}

// A token is renewed before it ends, counted from when it was asked for, and
// not earlier.
func TestLife(t *testing.T) {
	tests := []struct {
		life  string
		after time.Duration // from asking; 0: never
	}{
		{`3600`, time.Hour - time.Minute},
		{`"3600"`, time.Hour - time.Minute},
		{`300`, 4 * time.Minute},
		{`60`, 48 * time.Second},
		{`0.5`, 400 * time.Millisecond},
		{`1e300`, 365*24*time.Hour - time.Minute},
		{`-5`, 0}, {`0`, 0}, {`"soon"`, 0}, {`null`, 0}, {`{}`, 0}, {`"NaN"`, 0},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			const takes = 100 * time.Millisecond
			e := &endpoint{takes: takes, answers: []string{`200 {"access_token":"a","expires_in":` + test.life + `}`}}
			s := oauth2.New(oauth2.Config{ClientSecret: "p"})
			renew := func(want int, when string) {
				t.Helper()
				if err := s.Renew(t.Context(), e.send); err != nil || e.asked() != want {
					t.Errorf("expires_in %s: asked %d times %s, want %d (%v)", test.life, e.asked(), when, want, err)
				}
			}
			renew(1, "at first")
			if test.after == 0 {
				time.Sleep(2 * 365 * 24 * time.Hour)
				renew(1, "in two years")
				return
			}
			time.Sleep(test.after - takes - 1)
			renew(1, "just before the margin")
			time.Sleep(time.Nanosecond)
			renew(2, "at the margin")
		})
	}
}

// Of many that need a token, one asks, and the others wait.
func TestOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{takes: time.Second, answers: []string{`200 {"access_token":"a1"}`, `200 {"access_token":"a2"}`}}
		s := oauth2.New(oauth2.Config{ClientSecret: "p"})
		all := func() {
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					if err := s.Renew(t.Context(), e.send); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
		all()
		old := carried(s)
		if e.asked() != 1 {
			t.Errorf("asked %d times by 8 at once, want 1", e.asked())
		}
		// All of them are refused: that, too, is one renewal, and who hears of it
		// late does not drop the new token.
		s.Refused(old)
		all()
		s.Refused(old)
		all()
		if got := token(s); e.asked() != 2 || got != "Bearer a2" {
			t.Errorf("after a refusal: asked %d times, %q is attached; want 2, a2", e.asked(), got)
		}

		// Who waits can be called off.
		s.Refused(carried(s))
		go s.Renew(t.Context(), e.send)
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		called := errors.New("called off")
		cancel(called)
		if err := s.Renew(ctx, e.send); err != called {
			t.Errorf("called off: %v", err)
		}
		time.Sleep(time.Minute)
	})
}

// What time does not mend is asked once, and says who acts.
func TestRefusals(t *testing.T) {
	const secret = "c4nary"
	tests := []struct{ answer, detail string }{
		{`400 {"error":"invalid_grant","error_description":"c4nary"}`, "the refresh token is no longer valid"},
		{`401 {"error":"invalid_client"}`, "the client id or the client secret is not accepted"},
		{`400 {"error":"c4nary"}`, "does not say why"},
		{`400 {"error":{"code":"c4nary"}}`, "does not say why"},
		{`200 {"error":"bad_refresh_token"}`, "does not say why"},
		{`403 c4nary`, "does not say why"},
		{`302 `, "does not say why"},
		{`200 <html>c4nary`, "holds no access token"},
		{`200 {"access_token":""}`, "holds no access token"},
		{`200 {"access_token":7}`, "holds no access token"},
		{`200 ["c4nary"]`, "holds no access token"},
		{`200 {"access_token":"a\r\nX: c4nary"}`, "a token that cannot be sent"},
		{`200 {"access_token":"a","refresh_token":"c4nary c4nary"}`, "a token that cannot be sent"},
		{`200 {"access_token":"a","refresh_token":"r2"}`, "does not say where to keep the new one"},
	}
	for _, test := range tests {
		e := &endpoint{answers: []string{test.answer, `200 {"access_token":"a1"}`}}
		s := oauth2.New(oauth2.Config{ClientSecret: "p", Refresh: "r1"})
		for range 3 {
			err := s.Renew(t.Context(), e.send)
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok || stop.Reason != collection.Auth || !errors.Is(err, oauth2.ErrRefused) || !strings.Contains(stop.Detail, test.detail) {
				t.Errorf("%s: %v, want a refusal: %s", test.answer, err, test.detail)
			}
			if strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("%s is quoted: %v", test.answer, err)
			}
		}
		if e.asked() != 1 {
			t.Errorf("%s: asked %d times, want once", test.answer, e.asked())
		}
	}

	// Another error passes, and the next one who needs a token asks again.
	e := &endpoint{answers: []string{`200 {"access_token":"a1"}`}}
	s := oauth2.New(oauth2.Config{ClientSecret: "p"})
	busy := &collection.Stop{Reason: collection.RateLimited}
	if err := s.Renew(t.Context(), func(*http.Request) (*http.Response, error) { return nil, busy }); err != error(busy) {
		t.Errorf("an error that passes came back as %v", err)
	}
	if err := s.Renew(t.Context(), e.send); err != nil || token(s) != "Bearer a1" {
		t.Errorf("after it: %v, %q", err, token(s))
	}
}

// A keeper keeps a refresh token.
type keeper struct {
	kept  string
	fails error
	seen  func() // when the new token is kept
}

func (k *keeper) replace(_ context.Context, spend func(string) (string, error)) error {
	next, err := spend(k.kept)
	if err != nil {
		return err
	}
	if k.seen != nil {
		k.seen()
	}
	if k.fails == nil {
		k.kept = next
	}
	return k.fails
}

// A new refresh token is kept before the access token that came with it is
// used; if it cannot be kept, that is not used at all.
func TestReplacement(t *testing.T) {
	e := &endpoint{answers: []string{`200 {"access_token":"a1","refresh_token":"r1"}`, `200 {"access_token":"a2"}`, `200 {"access_token":"a3","refresh_token":"r3"}`}}
	k := &keeper{kept: "r0"}
	s := oauth2.New(oauth2.Config{ClientSecret: "p", Refresh: "what was there at the start", Replace: k.replace})
	k.seen = func() {
		if got := token(s); got != "Bearer " {
			t.Errorf("%q is attached before the refresh token is kept", got)
		}
	}
	for i, want := range []struct{ kept, sent string }{{"r1", "r0"}, {"r1", "r1"}} { // the second answer has none
		if err := s.Renew(t.Context(), e.send); err != nil {
			t.Fatal(err)
		}
		if k.kept != want.kept || !strings.HasSuffix(e.seen[i], "refresh_token="+want.sent) {
			t.Errorf("renewal %d: kept %s, sent %s; want %v", i+1, k.kept, e.seen[i], want)
		}
		s.Refused(carried(s))
	}
	k.fails = errors.New("disk full")
	if err := s.Renew(t.Context(), e.send); !errors.Is(err, k.fails) {
		t.Errorf("a failure to keep came back as %v", err)
	}
	if got := token(s); got != "Bearer " {
		t.Errorf("%q is attached although its refresh token is lost", got)
	}
	if secrets := s.Secrets(); !slices.Contains(secrets, "r3") || !slices.Contains(secrets, "a3") {
		t.Errorf("the lost tokens are not known as secrets: %v", secrets)
	}
}

// All secrets of now are known as such, and memory for those of the past is
// bounded.
func TestSecrets(t *testing.T) {
	k := &keeper{kept: "r0"}
	s := oauth2.New(oauth2.Config{ClientSecret: "client", Refresh: "r0", Replace: k.replace})
	for i := 1; i <= 1000; i++ {
		e := &endpoint{answers: []string{fmt.Sprintf(`200 {"access_token":"a%d","refresh_token":"r%d"}`, i, i)}}
		if err := s.Renew(t.Context(), e.send); err != nil {
			t.Fatal(err)
		}
		got := s.Secrets()
		for _, want := range []string{"client", fmt.Sprint("a", i), fmt.Sprint("r", i), fmt.Sprint("r", i-1)} {
			if !slices.Contains(got, want) {
				t.Fatalf("after %d renewals %s is not known as a secret: %v", i, want, got)
			}
		}
		if len(got) > 16 {
			t.Fatalf("%d secrets are kept in mind", len(got))
		}
		s.Refused(carried(s))
	}
}
