package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/connectors/declarative"
	"collect/connectors/oauth2"
	"collect/internal/texttest"
	"collect/internal/tokenfile"
	"collect/pacing/gate"
	"collect/runner"
	"collect/store"
)

// here is a scene in which everything is known.
var here = scene{
	Connector: "tickets", Provider: "acme", Stream: "issues",
	Run:        collection.Run{ID: "01JD8Z", Tally: collection.Tally{Slices: 404, Records: 40_400, Requests: 20_003}},
	Credential: "env ACME_TOKEN", Mark: "7c1e", State: "~/.local/state/collect/state.db",
	RequestCap: 20_000, MaxTime: time.Hour, Retries: 1_224, Now: noon,
}

func TestProblems(t *testing.T) {
	stop := func(reason collection.Reason, status int, detail string) *collection.Stop {
		return &collection.Stop{Reason: reason, Status: status, Detail: detail, NotBefore: noon.Add(9 * time.Minute)}
	}
	token := here
	token.Credential, token.Mark = "file ~/acme.refresh", ""
	first, stands, passed := here, here, here
	first.Nothing, first.Stands, first.Run.Tally = true, true, collection.Tally{Requests: 1}
	stands.Stands, stands.Run.Tally.Rejected = true, 10
	passed.Passed = true
	refused := &collection.Stop{Reason: collection.UpstreamPressure, Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	tests := []struct {
		name string
		err  error
		sc   scene
		want string
	}{
		{"bad token", fmt.Errorf("issues: %w", stop(collection.Auth, 401, "")), here, `
error[E0301]: acme rejected the token (401)
  at     tickets/issues
  token  from env ACME_TOKEN, fingerprint 7c1e
  saved  40,400 records in 404 slices of this run
  do     put a valid token there
         then: collect resume tickets
`},
		{"a proxy", stop(collection.Auth, 407, ""), here, `
error[E0301]: the proxy on the way to acme asks for a user and a password (407)
  at     tickets/issues
  saved  40,400 records in 404 slices of this run
  do     put them into HTTP_PROXY or HTTPS_PROXY, before the host
         then: collect resume tickets
`},
		{"no token at all", stop(collection.Auth, 401, ""), scene{Connector: "tickets", Provider: "acme", Run: collection.Run{ID: "01JD8Z"}}, `
error[E0301]: acme asks for a token (401), and the connector sends none
  at     tickets
  saved  what earlier runs saved; the checkpoint did not move
  do     put a valid token there
         then: collect resume tickets
`},
		{"403", stop(collection.Frozen, 403, ""), here, `
error[E0303]: acme answered 403, so collect stopped all calls to it
  at     tickets/issues
  why    a 403 can mean a ban. Going on could make it permanent
  saved  40,400 records in 404 slices of this run
  next   one test request may leave after 12:09 UTC
  do     check the account at acme
         then: collect freeze release tickets --reason "checked the account"
         or, if it is only about some records, under ` + "`provider:`" + ` in the
         connector file: ` + "`on_403: gap`" + `
`},
		{"a firewall", stop(collection.Frozen, 202, "a firewall answered in its place"), here, `
error[E0303]: acme answered 202, so collect stopped all calls to it
  at     tickets/issues
  why    a firewall answered in its place. Going on could lead to a ban
  saved  40,400 records in 404 slices of this run
  next   one test request may leave after 12:09 UTC
  do     check the account at acme
         then: collect freeze release tickets --reason "checked the account"
`},
		{"suspended", stop(collection.Suspended, 403, "code account_suspended"), here, `
error[E0304]: acme says that this account is suspended (403)
  at     tickets/issues
  why    code account_suspended
  saved  40,400 records in 404 slices of this run. All calls are stopped,
         schedules too
  do     settle it with acme
         then: collect freeze release tickets --reason "support ticket"
`},
		{"similar name", &unknownConnectorError{Name: "tikets", Known: []string{"orders", "tickets"}}, scene{}, "\n" +
			"error[E0201]: no connector named `tikets`\n" +
			"  note   there is a connector with a similar name: `tickets`\n" +
			"  do     see all: collect status\n"},
		{"held", &store.HeldError{Run: collection.Run{
			ID: "01JD8Z", Holder: collection.Holder{Host: "nas", PID: 48121},
			StartedAt: noon.Add(-18 * time.Minute), BeatAt: noon.Add(-3 * time.Second),
		}}, here, `
waiting[E0701]: tickets is being collected by another run
  by     run 01JD8Z, pid 48121 on nas, started 18 min ago, alive 3 s ago
  do     nothing; your schedule can simply try again later
`},
		{"disk full", fmt.Errorf("commit: %w", collection.ErrFull), here, `
error[E0702]: no space left for ~/.local/state/collect/state.db while saving a
              slice
  at     tickets/issues
  saved  40,400 records in 404 slices of this run. The slice was not counted; it
         will replay
  do     free some space, then: collect resume tickets
`},
		{"disk full under an operator", fmt.Errorf("reset: %w", collection.ErrFull), scene{Connector: "tickets", State: "x.db"}, `
error[E0702]: no space left for x.db
  at     tickets
  saved  everything that was saved before; nothing was changed
  do     free some space, then give the command again
`},
		{"mistake in collect.yaml", &config.FileError{
			Path: "collect.yaml", Line: 4, Column: 5, Message: "unknown key `celling_per_second`",
			Note:   "a provider has a similar key: `ceiling_per_second`",
			Source: "3 |   acme:\n4 |     celling_per_second: 4.0\n  |     ^^^^^^^^^^^^^^^^^^ not a key of a provider\n",
		}, scene{}, "\n" +
			"error[E0203]: unknown key `celling_per_second`\n" +
			"  at     collect.yaml:4:5\n" +
			"         3 |   acme:\n" +
			"         4 |     celling_per_second: 4.0\n" +
			"           |     ^^^^^^^^^^^^^^^^^^ not a key of a provider\n" +
			"  note   a provider has a similar key: `ceiling_per_second`\n" +
			"  saved  nothing was started\n"},
		{"reserve", stop(collection.RequestCap, 0, "the rest of the quota is reserved for people"), here, `
paused[P0501]: tickets paused: the rest of the quota is reserved for people
  saved  40,400 records in 404 slices of this run
  next   no request leaves before 12:09 UTC; the next run after it continues by
         itself
`},
		{"request cap", stop(collection.RequestCap, 0, ""), here, `
paused[P0501]: tickets reached its request cap (20,000 of 20,000)
  saved  40,400 records in 404 slices of this run
  next   the rest is planned work; the next run continues by itself
`},
		{"breaker", stop(collection.CircuitOpen, 0, "6 of the last 10 calls failed (503)"), here, `
waiting[E0401]: the breaker for acme is open
  why    6 of the last 10 calls failed (503)
  saved  40,400 records in 404 slices of this run
  do     nothing; one test call goes out at 12:09 UTC
`},
		{"long wait", stop(collection.RetryAfter, 429, ""), here, `
waiting[E0402]: acme asks for a longer wait than this run may take (429)
  at     tickets/issues
  saved  40,400 records in 404 slices of this run
  next   no request leaves before 12:09 UTC, in 9 min
  do     nothing; your schedule can simply try again later
`},
		{"unreachable", refused, here, `
error[E0404]: acme is not reachable
  at     tickets/issues
  why    it refused the connection
  saved  40,400 records in 404 slices of this run
  do     check the network and the connector's base_url, then: collect resume tickets
`},
		{"secret", &declarative.MissingSecretError{Name: "token", Looked: []string{"env ACME_TOKEN", "file ~/acme"}}, here, "\n" +
			"error[E0302]: no value for the secret `token`\n" +
			"  why    looked in env ACME_TOKEN, then file ~/acme\n" +
			"  saved  nothing was started\n" +
			"  do     put it there, or name another place under `providers:` in collect.yaml\n"},
		{"secret that cannot be sent", &declarative.BadSecretError{Name: "token", Problem: "contains a line break"}, here, "\n" +
			"error[E0302]: the secret `token` contains a line break\n" +
			"  saved  nothing was started\n" +
			"  do     correct it where it is kept, or name another place under `providers:`\n" +
			"         in collect.yaml\n"},
		{"no access token", &collection.Stop{Reason: collection.Auth, Status: 400, Detail: "the refresh token was taken back", Err: oauth2.ErrRefused}, token, `
error[E0305]: acme grants no access token (400)
  at     tickets/issues
  why    the refresh token was taken back
  token  from file ~/acme.refresh
  saved  40,400 records in 404 slices of this run
  do     sign in again at acme, or correct the client id and secret, and put the
         new token there
         then: collect resume tickets
`},
		{"a token that is lost", &tokenfile.Error{Path: "/etc/acme.refresh", Spent: true, Err: syscall.EIO}, here, `
error[E0306]: the new token is lost: it could not be written to its file:
              input/output error
  at     /etc/acme.refresh
  why    acme has replaced the old one, and may no longer accept it
  saved  40,400 records in 404 slices of this run
  do     see to the file, its folder and its disk
         then: collect resume tickets
         if it is refused: sign in again, and put the new refresh token there
`},
		{"the first page", stop(collection.BadPage, 0, "no record has `key`, the key"), first, "\n" +
			"error[E0602]: a page of acme is not what the connector expects\n" +
			"  at     tickets/issues\n" +
			"  why    no record has `key`, the key\n" +
			"  saved  nothing yet: no record has been stored; the page is kept as a gap, and\n" +
			"         issues goes no further until it is filled\n" +
			"  do     look: collect gaps tickets\n" +
			"         after correcting the connector file: collect resume tickets\n"},
		{"the page behind the last", stop(collection.BadPage, 400, "it said: no_such_page: there are 14"), stands, `
error[E0602]: a page of acme is not what the connector expects (400)
  at     tickets/issues
  why    it said: no_such_page: there are 14
  saved  40,390 records in 404 slices of this run; the page is kept as a gap,
         and issues goes no further until it is filled
  do     look: collect gaps tickets
         after correcting the connector file: collect resume tickets
         if the list ends before this page, give the stream: on: [{status:
         [400], body: 'body.code == "no_such_page"', verdict: ok}]
`},
		{"a page in the middle", stop(collection.BadPage, 0, "the page is HTML, not JSON"), passed, `
error[E0602]: a page of acme is not what the connector expects
  at     tickets/issues
  why    the page is HTML, not JSON
  saved  40,400 records in 404 slices of this run; the page is kept as a gap,
         and the run went on without it
  do     look: collect gaps tickets
         after correcting the connector file: collect resume tickets
`},
		{"a list that did not come whole", &collection.Stop{Reason: collection.BadPage, Detail: "3 are missing", Err: collection.ErrContradicted}, stands, `
error[E0602]: a list of acme did not come whole, in two passes
  at     tickets/issues
  why    3 are missing
  saved  40,390 records in 404 slices of this run; the list is not complete
  do     correct the connector file if it is at fault, then: collect resume tickets
         see what was counted: collect status tickets
`},
		{"interrupted", context.Canceled, here, `
paused[P0504]: tickets was interrupted
  saved  40,400 records in 404 slices of this run
  do     collect resume tickets
`},
	}
	for _, test := range tests {
		got := "\n" + problemOf(test.err, test.sc).render(80, term.Caps{UTF8: true})
		texttest.Same(t, test.name, got, test.want)
	}
}

// Every row of the table is the answer to some error, and says something.
func TestEveryErrorIsExplained(t *testing.T) {
	errs := []error{
		&panicError{Value: "a bug"}, &usageError{"--x: no"}, &whichStreamError{"x", []string{"a"}}, &unknownConnectorError{Name: "x"},
		&declarative.MissingParamError{Name: "org"}, &declarative.BadParamError{Name: "org", Problem: "is not a date"},
		&declarative.SpecError{Path: "x.yaml", Line: 1, Column: 1, Message: "no"}, &config.FileError{Path: "x.yaml", Message: "no"},
		&runner.UnknownStreamError{Stream: "x"}, &paramsError{Connector: "x"}, &meaningError{Connector: "x"}, &config.NoFileError{Path: "x.yaml"}, errNoHome,
		&declarative.MissingSecretError{Name: "token"}, &config.UntrustedError{Path: "collect.yaml", Why: "x", Name: "y"}, &config.RememberedError{Path: "/x.yaml", Secret: "token"}, &config.UnboundError{Provider: "acme", Origin: "https://api.acme.test", Origins: []string{"https://api.acme.test"}, Written: "collect.yaml:4"},
		&collection.Stop{Reason: collection.Auth, Err: oauth2.ErrRefused}, &tokenfile.Error{Path: "/t", Err: syscall.ENOSPC}, tokenfile.ErrBusy,
		&store.HeldError{}, &noFolderError{}, &busyError{}, gate.ErrStale, collection.ErrFull, store.ErrNewer, store.ErrOlder, store.ErrDoubtful, &lostError{3, 5}, &nothingFoundError{}, store.ErrInUse, &takenError{"x"}, &restoreError{errors.New("x")}, store.ErrDamaged, store.ErrMissing, store.ErrNotDatabase, store.ErrNoAccess, store.ErrDisk, store.ErrLocked, &outputError{syscall.EIO},
		collection.ErrFenced, collection.ErrCursorMoved, collection.ErrUnknown, syscall.ENOSPC, context.Canceled, errors.New("x"),
		&collection.Stop{Reason: collection.UpstreamPressure, Status: 503},
		&collection.Stop{Reason: collection.BadPage, Err: &collection.UnlistedError{Origin: "https://other.test"}},
	}
	for _, reason := range reasons {
		errs = append(errs, &collection.Stop{Reason: reason})
	}
	used := map[string]bool{}
	for _, err := range errs {
		row := classify(err)
		used[row.code] = true
		for _, wrapped := range []error{fmt.Errorf("issues: %w", err), errors.Join(errors.New("x"), err)} {
			if got := classify(wrapped).code; got != row.code {
				t.Errorf("%q is %s, but %s when wrapped", err, row.code, got)
			}
		}
		for _, sc := range []scene{{}, here} {
			p := problemOf(err, sc)
			if p.Headline == "" || strings.HasSuffix(p.Headline, ".") || strings.ToLower(p.Headline[:1]) != p.Headline[:1] {
				t.Errorf("%q: headline %q is not lower case without a full stop", err, p.Headline)
			}
			if len(p.Do) > 3 {
				t.Errorf("%q: %d steps, want at most three", err, len(p.Do))
			}
		}
		if stop, ok := errors.AsType[*collection.Stop](err); ok && row.level != levelPaused && row.exit != reasonCode(stop.Reason) && row.code != "E0404" {
			t.Errorf("%s: the table says exit %d, the verdict %d", stop.Reason, row.exit, reasonCode(stop.Reason))
		}
	}
	for _, row := range explanations {
		if !used[row.code] {
			t.Errorf("no error here leads to %s", row.code)
		}
	}
}

// What a provider says is shown, but does nothing to the terminal; and a URL
// that an error of the standard library quotes keeps its query to itself.
func TestProblemsAreClean(t *testing.T) {
	const secret = "S3CR3T"
	hostile := "\x1b[2Jboo\x07 https://user:" + secret + "@api.test/v1?token=" + secret + "\n\u202e"
	errs := []error{
		&url.Error{Op: "Get", URL: "https://api.test/?cursor=" + secret, Err: errors.New("EOF")},
		fmt.Errorf("open: %w", &url.Error{Op: "Get", URL: "https://api.test/" + secret, Err: os.ErrDeadlineExceeded}),
		errors.New(hostile), &usageError{hostile}, &panicError{Value: "in record " + secret, Stack: []byte(secret)},
		&unknownConnectorError{Name: hostile, Known: []string{hostile}},
		&config.FileError{Path: hostile, Message: hostile, Note: hostile, Source: hostile},
	}
	for _, reason := range reasons {
		errs = append(errs, &collection.Stop{Reason: reason, Status: 500, Detail: hostile, Err: errors.New(hostile)})
	}
	sc := here
	sc.Connector, sc.Provider, sc.Stream, sc.Partition = hostile, hostile, hostile, collection.Partition(`{"repo":"\u001b[2Jx"}`)
	for _, err := range errs {
		p := problemOf(err, sc)
		line, jsonErr := json.Marshal(p)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		for _, text := range []string{p.render(80, term.Caps{UTF8: true}), string(line)} {
			for _, bad := range []string{secret, "\x1b", "\x07", "\u202e", "[2J"} {
				if strings.Contains(text, bad) {
					t.Errorf("%T %s: %q is in\n%s", err, p.Code, bad, text)
				}
			}
		}
	}
}

func TestProblemJSON(t *testing.T) {
	got, err := json.Marshal(problemOf(&collection.Stop{Reason: collection.Auth, Status: 401}, here))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"code":"E0301","level":"error","message":"acme rejected the token (401)","where":"tickets/issues","why":null,"note":null,` +
		`"token":"from env ACME_TOKEN, fingerprint 7c1e","saved":"40,400 records in 404 slices of this run",` +
		`"help":["put a valid token there"],"commands":["collect resume tickets"],"retryable":false,"needs":"operator","exit_code":77,"url":null}`
	texttest.Same(t, "json", string(got), want)
}

// DNS, TLS, proxy, refusal and silence are told apart, and no address is named.
func TestObstacle(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&net.DNSError{Name: "api.test", Err: "no such host"}, "its host name cannot be resolved (DNS)"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "something"}, // in the words of package pacing
		{tls.RecordHeaderError{Msg: "x"}, "it does not speak TLS at that port"},
		{&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}, "the proxy in HTTPS_PROXY does not answer"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "it refused the connection"},
		{&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, "there is no network route to it"},
		{os.ErrDeadlineExceeded, "it did not answer in time"},
		{errors.New("something"), "no connection: something"},
	}
	for _, test := range tests {
		err := &collection.Stop{Reason: collection.UpstreamPressure, Detail: "no connection: something", Err: test.err}
		if got := obstacle(err); got != test.want {
			t.Errorf("obstacle(%v) = %q, want %q", test.err, got, test.want)
		}
	}
}

// A fingerprint tells two credentials apart and depends on the salt.
func TestFingerprint(t *testing.T) {
	salt := []byte("0123456789abcdef")
	a, b, c := fingerprint(salt, "one"), fingerprint(salt, "two"), fingerprint([]byte("another"), "one")
	if len(a) != 4 || a == b || a == c || a != fingerprint(salt, "one") {
		t.Errorf("fingerprints = %q, %q, %q, want 4 digits, all different", a, b, c)
	}
}

// Whatever its width, the text holds together: no line but commands and
// excerpts is wider than the terminal.
func TestProblemFits(t *testing.T) {
	for _, reason := range reasons {
		p := problemOf(&collection.Stop{Reason: reason, Status: 403, Detail: strings.Repeat("word ", 40)}, here)
		p.Do = nil
		for columns := 40; columns <= 120; columns++ {
			for line := range strings.Lines(p.render(columns, term.Caps{})) {
				if got := term.Width(strings.TrimSuffix(line, "\n")); got > min(columns, 80) {
					t.Errorf("%s at %d columns: a line takes %d: %q", reason, columns, got, line)
				}
			}
		}
	}
	colored := problemOf(&collection.Stop{Reason: collection.Auth}, here).render(80, term.Caps{Color: true})
	if !strings.HasPrefix(colored, "\x1b[31merror\x1b[0m[E0301]: ") {
		t.Errorf("colored problem begins %.30q", colored)
	}
}

// TestUnreachableSaysWhere, so that a slip in base_url is seen.
func TestUnreachableSaysWhere(t *testing.T) {
	sc := here
	sc.Address = "https://api.acme.exmaple"
	text := problemOf(&collection.Stop{Reason: collection.UpstreamPressure, Err: syscall.ECONNREFUSED}, sc).render(80, term.Caps{})
	if !strings.Contains(text, "note   it is asked at https://api.acme.exmaple\n") {
		t.Errorf("it does not say where it asked:\n%s", text)
	}
}

// TestChangedStreamsAreAllStartedOver: each stream that changed gets its command.
func TestChangedStreamsAreAllStartedOver(t *testing.T) {
	changes := []streamChange{{"issues", []keyChange{{"key", "id", "n"}}}, {"gone", nil}, {"comments", []keyChange{{"get", "", ""}}}}
	text := problemOf(&meaningError{Connector: "tickets", Changes: changes}, here).render(80, term.Caps{})
	for stream, want := range map[string]int{"issues": 1, "comments": 1, "gone": 0} {
		if got := strings.Count(text, "collect reset tickets --stream "+stream); got != want {
			t.Errorf("%d commands for %s, want %d:\n%s", got, stream, want, text)
		}
	}
}

// A step that cannot be taken is worse than none: every command that a problem
// names is one, with the flags it is given.
func TestStepsAreCommands(t *testing.T) {
	var steps []step
	for _, reason := range reasons {
		steps = append(steps, problemOf(&collection.Stop{Reason: reason}, here).Do...)
	}
	for _, err := range []error{collection.ErrFull, collection.ErrFenced, collection.ErrUnknown, context.Canceled, errors.New("x"), &usageError{"x"},
		&unknownConnectorError{Name: "tikets", Known: []string{"tickets"}},
		&meaningError{Connector: "tickets", Changes: []streamChange{{"issues", []keyChange{{"key", "id", "n"}}}}}} {
		steps = append(steps, problemOf(err, here).Do...)
	}
	checked := 0
	for _, s := range steps {
		if s.Command == "" {
			continue
		}
		args := strings.Fields(s.Command)[1:]
		command, rest, err := (&app{}).rootCommand().Find(args)
		if err != nil {
			t.Errorf("%q: %v", s.Command, err)
			continue
		}
		if !command.HasParent() && args[0] != "--help" {
			t.Errorf("%q is not a command", s.Command)
			continue
		}
		for _, arg := range rest {
			name, isFlag := strings.CutPrefix(arg, "--")
			if isFlag && name != "help" && command.Flags().Lookup(name) == nil {
				t.Errorf("%q: %s has no flag --%s", s.Command, command.Name(), name)
			}
		}
		checked++
	}
	if checked == 0 {
		t.Error("no step names a command")
	}
}
