package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/engine"
	"collect/engine/notify"
	"collect/report"
	"collect/report/problem"
)

// A service takes pings and messages.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	status int // 0: 200
	got    []received
}

type received struct {
	method, path, query, body string
	header                    http.Header
}

func serve(t *testing.T) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, received{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header})
		if s.status != 0 {
			w.WriteHeader(s.status)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *service) received() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// file writes a text to a file of its own and returns its path.
func file(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func notifier(t *testing.T, c notify.Config) *notify.Notifier {
	return &notify.Notifier{Config: c, Memory: &notify.Memory{Path: filepath.Join(t.TempDir(), "told.json")}, Place: "here", Stderr: io.Discard}
}

func refused(connector string) engine.Hearing {
	return engine.HearRefusal(connector, problem.Problem{
		Code: "E0302", Level: problem.LevelError, Headline: "acme needs a token", ExitCode: problem.ExitRefused, Needs: problem.NeedsOperator,
		Do: []problem.Step{{Say: "put it there:", Command: "collect auth set " + connector}},
	})
}

func well(connector string) engine.Hearing { return engine.Hearing{Connector: connector} }

// TestPings: the exit code decides what is pinged, by the table of exit codes; start and
// end have one id, and what is in the address stays in it.
func TestPings(t *testing.T) {
	s := serve(t)
	for _, tc := range []struct {
		code int
		path string
	}{
		{0, "/ping/uuid"}, {10, "/ping/uuid"}, {11, "/ping/uuid"},
		{1, "/ping/uuid/fail"}, {2, "/ping/uuid/fail"}, {65, "/ping/uuid/fail"}, {70, "/ping/uuid/fail"}, {74, "/ping/uuid/fail"},
		{76, "/ping/uuid/fail"}, {77, "/ping/uuid/fail"}, {78, "/ping/uuid/fail"}, {99, "/ping/uuid/fail"},
		{69, "/ping/uuid/log"}, {75, "/ping/uuid/log"}, {129, "/ping/uuid/log"}, {130, "/ping/uuid/log"}, {143, "/ping/uuid/log"},
	} {
		n := notifier(t, notify.Config{PingURLFile: file(t, s.URL+"/ping/uuid?create=1")})
		n.Began(t.Context())
		n.Began(t.Context()) // of a second connector
		if ping, messages := n.Over(t.Context(), tc.code, nil); ping != nil || messages != nil {
			t.Errorf("%d: %v, %v", tc.code, ping, messages)
		}
		got := s.received()
		if len(got) != 2 || got[0].path != "/ping/uuid/start" || got[1].path != tc.path {
			t.Fatalf("%d: %+v, want a start and %s", tc.code, got, tc.path)
		}
		if got[0].query != got[1].query || !strings.Contains(got[0].query, "create=1") || !strings.Contains(got[0].query, "rid=") {
			t.Errorf("%d: queries %q and %q", tc.code, got[0].query, got[1].query)
		}
	}

	// A command that did not begin says only how it ended.
	n := notifier(t, notify.Config{PingURLFile: file(t, s.URL+"/p")})
	if ping, _ := n.Over(t.Context(), 75, nil); ping != nil {
		t.Error(ping)
	}
	if got := s.received(); len(got) != 1 || got[0].path != "/p/log" {
		t.Errorf("%+v, want one ping to /p/log", got)
	}
}

// TestPingsThatFail: what stands in the way is said without the address.
func TestPingsThatFail(t *testing.T) {
	s := serve(t)
	s.answer(503)
	gone := httptest.NewServer(nil)
	gone.Close()
	moved := httptest.NewServer(http.RedirectHandler(s.URL+"/elsewhere", http.StatusFound))
	defer moved.Close()
	for _, tc := range []struct{ file, want string }{
		{file(t, s.URL+"/topsecret"), "answered 503"},
		{file(t, gone.URL+"/topsecret"), "no answer"},
		{file(t, moved.URL+"/topsecret"), "answered 302"},
		{file(t, "topsecret"), "does not hold an address"},
		{file(t, "ftp://topsecret/"), "does not hold an address"},
		{"/nowhere/at/all", "no such file"},
	} {
		n := notifier(t, notify.Config{PingURLFile: tc.file})
		n.Began(t.Context())
		ping, _ := n.Over(t.Context(), 0, nil)
		if ping == nil || !strings.Contains(ping.Error(), tc.want) || strings.Contains(ping.Error(), "topsecret") {
			t.Errorf("%v, want %q without the address", ping, tc.want)
		}
	}
	for _, r := range s.received() {
		if r.path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
	}
}

// TestWhoNeverAnswers: a service that takes the request and says nothing costs the time
// that it may, and nothing after it.
func TestWhoNeverAnswers(t *testing.T) {
	hangs := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer s.Close()
	defer close(hangs)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a signal, say
	defer cancel()
	n := notifier(t, notify.Config{PingURLFile: file(t, s.URL), Webhook: notify.Webhook{URLFile: file(t, s.URL)}, Command: "sleep 60"})
	n.Began(ctx)
	began := time.Now()
	ping, messages := n.Over(ctx, 77, []engine.Hearing{refused("tickets")})
	if ping == nil || messages == nil {
		t.Errorf("%v, %v, want two errors", ping, messages)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestMessages: one when it breaks, none while it is told already, one when it is over;
// and a message that could not be delivered is sent after the next run.
func TestMessages(t *testing.T) {
	s := serve(t)
	n := notifier(t, notify.Config{Webhook: notify.Webhook{URLFile: file(t, s.URL+"/hook"), SecretFile: file(t, "whsec_c2VjcmV0")}})
	over := func(heard ...engine.Hearing) (events []string, last received) {
		t.Helper()
		_, _ = n.Over(t.Context(), 77, heard)
		for _, r := range s.received() {
			var m struct{ Event string }
			if err := json.Unmarshal([]byte(r.body), &m); err != nil {
				t.Fatal(err)
			}
			events, last = append(events, m.Event), r
		}
		return events, last
	}
	want := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s.answer(500)
	got, _ := over(refused("tickets"))
	want(got, "broke")
	s.answer(0)
	got, first := over(refused("tickets"), well("prices"))
	want(got, "broke")
	got, _ = over(refused("tickets"))
	want(got)
	got, _ = over(engine.HearRefusal("tickets", problem.Problem{ExitCode: problem.ExitLater, Needs: problem.NeedsTime}))
	want(got)
	got, _ = over(well("tickets"))
	want(got, "recovered")
	got, _ = over(well("tickets"))
	want(got)

	if strings.Contains(first.body, "prices") || !strings.Contains(first.body, `"subject":"collect on `) || !strings.Contains(first.body, "tickets: acme needs a token") {
		t.Errorf("message: %s", first.body)
	}
	mac := hmac.New(sha256.New, []byte("secret"))
	io.WriteString(mac, first.header.Get("webhook-id")+"."+first.header.Get("webhook-timestamp")+"."+first.body)
	if got, want := first.header.Get("webhook-signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
}

// TestToldOnce: what concerned the whole command is over once, however many of its
// connectors find that out.
func TestToldOnce(t *testing.T) {
	m := &notify.Memory{Path: filepath.Join(t.TempDir(), "told.json")}
	now := time.Now()
	broke, _ := m.Due("mail", "here", []engine.Hearing{refused(""), refused("")}, now)
	if len(broke) != 1 {
		t.Errorf("broken, %d are due, want 1", len(broke))
	}
	if err := m.Told("mail", "here", broke); err != nil {
		t.Fatal(err)
	}
	over, err := m.Due("mail", "here", []engine.Hearing{well("tickets"), well(""), well("prices"), well(""), well("")}, now)
	if err != nil || len(over) != 1 || over[0].Turn != report.Recovered {
		t.Errorf("over, there are due %+v, %v, want one that recovered", over, err)
	}
}

// TestKilled: a process that ends before a delivery leaves the message to the next one;
// after it, and before it is remembered, the message comes twice.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "told.json")
	m := &notify.Memory{Path: path}
	heard := []engine.Hearing{refused("tickets")}
	now := time.Now()
	for range 2 { // killed before it was noted, twice
		due, err := m.Due("mail", "here", heard, now)
		if err != nil || len(due) != 1 {
			t.Fatalf("%d due, %v, want 1", len(due), err)
		}
	}
	due, _ := m.Due("mail", "here", heard, now)
	if err := m.Told("mail", "here", due); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		listener, place string
		want            int
	}{{"mail", "here", 0}, {"webhook", "here", 1}, {"mail", "there", 1}} {
		if due, err := (&notify.Memory{Path: path}).Due(tc.listener, tc.place, heard, now); err != nil || len(due) != tc.want {
			t.Errorf("%s, %s: %d due, %v, want %d", tc.listener, tc.place, len(due), err, tc.want)
		}
	}
	// Half a file, as no crash leaves it, costs a message that is told twice.
	if err := os.Truncate(path, 20); err != nil {
		t.Fatal(err)
	}
	if due, err := m.Due("mail", "here", heard, now); err != nil || len(due) != 1 {
		t.Errorf("%d due, %v, want 1", len(due), err)
	}
	if err := m.Told("mail", "here", due); err != nil {
		t.Error(err)
	}
}

// TestMemoryIsBounded: however many connectors come and go.
func TestMemoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "told.json")
	m := &notify.Memory{Path: path}
	var heard []engine.Hearing
	for i := range 3000 {
		heard = append(heard, refused(strings.Repeat("x", 50)+string(rune(0x4e00+i))))
	}
	due, err := m.Due("mail", "here", heard, time.Now())
	if err != nil || len(due) != 3000 {
		t.Fatalf("%d due, %v", len(due), err)
	}
	if err := m.Told("mail", "here", due); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 1<<20 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, _ := m.Due("mail", "here", heard, time.Now()); len(again) != 1000 {
		t.Errorf("%d of 3000 are due again, want the oldest 1000", len(again))
	}
}

// TestCommand: a command gets the message as JSON, and the parts for a line of shell.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	line := `cat >` + dir + `/json; printf %s "$COLLECT_NOTICE_EVENT|$COLLECT_NOTICE_SUBJECT|$COLLECT_NOTICE_CONNECTORS" >` + dir + `/env`
	n := notifier(t, notify.Config{Command: line})
	if _, err := n.Over(t.Context(), 77, []engine.Hearing{refused("tickets"), refused("prices")}); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Event string
		Items []struct {
			Connector string
			Problems  []struct{ Code string }
		}
	}
	text, _ := os.ReadFile(filepath.Join(dir, "json"))
	if err := json.Unmarshal(text, &m); err != nil || m.Event != "broke" || len(m.Items) != 2 || m.Items[0].Problems[0].Code != "E0302" {
		t.Errorf("%v: %s", err, text)
	}
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	if got := string(env); !strings.HasPrefix(got, "broke|collect on ") || !strings.HasSuffix(got, "tickets: acme needs a token (and 1 connector more)|tickets prices") {
		t.Errorf("env: %s", got)
	}

	// One that fails is said, and is run again; one that reads nothing has not failed.
	n = notifier(t, notify.Config{Command: "exit 3"})
	for range 2 {
		if _, err := n.Over(t.Context(), 77, []engine.Hearing{refused("tickets")}); err == nil || !strings.Contains(err.Error(), "notify by command") {
			t.Errorf("%v, want that the command failed", err)
		}
	}
	n = notifier(t, notify.Config{Command: "true"})
	if _, err := n.Over(t.Context(), 77, []engine.Hearing{refused("tickets")}); err != nil {
		t.Error(err)
	}
}

// TestMail: what a mail system is given is one mail to those who are named, whatever is
// in a name.
func TestMail(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "sendmail")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + dir + "/args\ncat >" + dir + "/mail\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	n := notifier(t, notify.Config{Mail: notify.Mail{To: []string{"ops@example.org", "-root"}, From: "collect@example.org", Sendmail: program}})
	odd := refused("tické\r\nBcc: all@example.org")
	if _, err := n.Over(t.Context(), 77, []engine.Hearing{odd}); err != nil {
		t.Fatal(err)
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	if got, want := strings.Fields(string(args)), []string{"-i", "--", "ops@example.org", "-root"}; !reflect.DeepEqual(got, want) {
		t.Errorf("arguments %q, want %q", got, want)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "mail"))
	m, err := mail.ReadMessage(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("Auto-Submitted") != "auto-generated" || m.Header.Get("To") != "ops@example.org, -root" || m.Header.Get("From") != "collect@example.org" {
		t.Errorf("header: %v", m.Header)
	}
	if !strings.Contains(string(text), "error[E0302]: acme needs a token") {
		t.Errorf("mail: %s", text)
	}
}

// TestTest: a test reaches everybody who is named, and is not remembered.
func TestTest(t *testing.T) {
	s := serve(t)
	n := notifier(t, notify.Config{PingURLFile: file(t, s.URL+"/p"), Webhook: notify.Webhook{URLFile: file(t, s.URL+"/hook")}, Command: "exit 3"})
	got := map[string]error{}
	n.Test(t.Context(), func(channel string, err error) { got[channel] = err })
	if len(got) != 3 || got["healthchecks"] != nil || got["webhook"] != nil || got["command"] == nil {
		t.Errorf("%v", got)
	}
	for _, r := range s.received() {
		if r.path != "/p/log" && !strings.Contains(r.body, `"event":"test"`) {
			t.Errorf("%+v", r)
		}
	}
	if _, err := os.Stat(n.Memory.Path); err == nil {
		t.Error("a test was remembered")
	}
}

// TestAllGetTheSame: what a command reads is what the webhook gets, by its id, too.
func TestAllGetTheSame(t *testing.T) {
	s := serve(t)
	out := filepath.Join(t.TempDir(), "message.json")
	n := notifier(t, notify.Config{Webhook: notify.Webhook{URLFile: file(t, s.URL+"/hook")}, Command: "cat >" + out})
	if _, err := n.Over(t.Context(), 77, []engine.Hearing{refused("tickets")}); err != nil {
		t.Fatal(err)
	}
	read, err := os.ReadFile(out)
	if err != nil || len(s.got) != 1 || string(read) != s.got[0].body {
		t.Errorf("%v: the command reads\n%s\nand the webhook gets\n%+v", err, read, s.got)
	}
}
