package cmd

import (
	"context"
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

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/connectors/declarative"
	"collect/connectors/oauth2"
	"collect/internal/texttest"
	"collect/internal/tokenfile"
	"collect/report/problem"
	"collect/store"
)

// here is a scene in which everything is known.
var here = problem.Scene{
	Connector: "tickets", Provider: "acme", Stream: "issues",
	Run:        collection.Run{ID: "01JD8Z", Tally: collection.Tally{Slices: 404, Records: 40_400, Requests: 20_003}},
	Credential: "env ACME_TOKEN", Mark: "7c1e", State: "~/.local/state/collect/state.db",
	RequestCap: 20_000, MaxTime: time.Hour, Now: noon,
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
	below := stands
	below.Partition = collection.Partition(`{"repo":7}`)
	refused := &collection.Stop{Reason: collection.UpstreamPressure, Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	tests := []struct {
		name string
		err  error
		sc   problem.Scene
		want string
	}{
		{"bad token", fmt.Errorf("issues: %w", stop(collection.Auth, 401, "")), here, `
error[E0301]: acme rejected the credential (401)
  at     tickets/issues
  secret from env ACME_TOKEN, fingerprint 7c1e
  saved  40,400 records in 404 slices of this run
  do     put a valid one there
         then: collect resume tickets
`},
		{"a proxy", stop(collection.Auth, 407, ""), here, `
error[E0301]: the proxy on the way to acme asks for a user and a password (407)
  at     tickets/issues
  saved  40,400 records in 404 slices of this run
  do     put them into HTTP_PROXY or HTTPS_PROXY, before the host
         then: collect resume tickets
`},
		{"no token at all", stop(collection.Auth, 401, ""), problem.Scene{Connector: "tickets", Provider: "acme", Run: collection.Run{ID: "01JD8Z"}}, `
error[E0301]: acme asks for a credential (401), and the connector sends none
  at     tickets
  saved  what earlier runs saved; the checkpoint did not move
  do     say which it sends, in the connector file: ` + "`auth` under `provider`" + `
         then: collect resume tickets
`},
		{"403", stop(collection.Frozen, 403, ""), here, `
error[E0303]: acme answered 403, so collect stopped all calls to it
  at     tickets/issues
  why    a 403 can mean a ban. Going on could make it permanent
  saved  40,400 records in 404 slices of this run
  next   one test request may leave after 12:09 UTC
  do     check the account at acme
         or, if it is only about some records, under ` + "`provider:`" + ` in the
         connector file: ` + "`on_403: gap`" + `
         then: collect freeze release tickets --reason "checked the account"
`},
		{"403 after many answers", &collection.Stop{Reason: collection.Frozen, Status: 403, NotBefore: noon.Add(9 * time.Minute), Err: collection.ErrAfterMany}, here, `
error[E0303]: acme answered 403, so collect stopped all calls to it
  at     tickets/issues
  why    a 403 can mean a ban. Going on could make it permanent. It came after
         many good answers, so it may say "too fast"
  saved  40,400 records in 404 slices of this run
  next   one test request may leave after 12:09 UTC
  do     check the account at acme
         or, if it is how the provider says too fast, under ` + "`provider:`" + ` in the
         connector file: ` + "`throttle: [{status: [403]}]`" + `
         or, if it is only about some records, under ` + "`provider:`" + ` in the
         connector file: ` + "`on_403: gap`" + `
         then: collect freeze release tickets --reason "checked the account"
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
		{"similar name", &problem.UnknownConnectorError{Name: "tikets", Known: []string{"orders", "tickets"}}, problem.Scene{}, "\n" +
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
		{"disk full under an operator", fmt.Errorf("reset: %w", collection.ErrFull), problem.Scene{Connector: "tickets", State: "x.db"}, `
error[E0702]: no space left for x.db
  at     tickets
  saved  everything that was saved before; nothing was changed
  do     free some space, then give the command again
`},
		{"mistake in collect.yaml", &problem.FileError{
			Path: "collect.yaml", Line: 4, Column: 5, Message: "unknown key `celling_per_second`",
			Note:   "a provider has a similar key: `ceiling_per_second`",
			Source: "3 |   acme:\n4 |     celling_per_second: 4.0\n  |     ^^^^^^^^^^^^^^^^^^ not a key of a provider\n",
		}, problem.Scene{}, "\n" +
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
waiting[E0402]: acme must be left alone for longer than this run may wait (429)
  at     tickets/issues
  saved  40,400 records in 404 slices of this run
  next   no request leaves before 12:09 UTC, in 9 min
  do     nothing; your schedule can simply try again later
         or, if it has granted more since, let one request ask: collect freeze release tickets --reason WHY
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
  secret from file ~/acme.refresh
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
		{"the page behind the last", &collection.Stop{Reason: collection.BadPage, Status: 400, Detail: "it said: no_such_page: there are 14", CodeAt: "body.errors[0].code"}, stands, `
error[E0602]: a page of acme is not what the connector expects (400)
  at     tickets/issues
  why    it said: no_such_page: there are 14
  note   some providers refuse all behind the first 1,000 or 10,000 records of a
` + "         list: `windows` with a `cap`, or `since` with `order: asc`, reads the\n" + `         rest
  saved  40,390 records in 404 slices of this run; the page is kept as a gap,
         and issues goes no further until it is filled
  do     look: collect gaps tickets
         after correcting the connector file: collect resume tickets
         if the list ends before this page, give the stream: on: [{status:
         [400], body: 'body.errors[0].code == "no_such_page"', verdict: ok}]
`},
		{"a cursor that is refused", &collection.Stop{Reason: collection.BadPage, Status: 400, Detail: "it said: no_such_object: gone", CodeAt: "body.error.code", Err: collection.ErrCursorRefused}, stands, `
error[E0602]: a page of acme is not what the connector expects (400)
  at     tickets/issues
  why    it said: no_such_object: gone
  note   some providers refuse all behind the first 1,000 or 10,000 records of a
` + "         list: `windows` with a `cap`, or `since` with `order: asc`, reads the\n" + `         rest
  saved  40,390 records in 404 slices of this run; the page is kept as a gap,
         and issues goes no further until it is filled
  do     look: collect gaps tickets
         after correcting the connector file: collect resume tickets
         if it no longer knows the place (a cursor that expired, or with
` + "         `last_id` a record that was deleted), give the stream: on: [{status:" + `
         [400], body: 'body.error.code == "no_such_object"', verdict: gone}];
         the walk then begins anew
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
		{"too many gone below the parents", &collection.Stop{Reason: collection.SchemaDrift, Detail: "52 of 99 records did not come any more", Err: collection.ErrContradicted}, below, `
error[E0601]: acme has lost most of a stream, in two passes
  at     tickets/issues repo=7
  why    52 of 99 records did not come any more
  saved  40,390 records in 404 slices of this run; nothing was marked as deleted
         in this list
  do     look: collect gaps tickets
         if it is right: collect schema accept tickets issues --reason WHY
         then: collect resume tickets
`},
		{"a list that changed while it was read", &collection.Stop{Reason: collection.ListChanged, Detail: "`total` fell from 30 to 28", Err: collection.ErrContradicted}, stands, `
paused[P0506]: a list of acme changed while it was read, in two passes
  at     tickets/issues
  why    ` + "`total`" + ` fell from 30 to 28
  saved  40,390 records in 404 slices of this run; the list is not complete
  do     nothing; the next run reads it again: collect resume tickets
         if each run ends so, read it at a quieter hour, or with more time; see what was counted: collect status tickets
`},
		{"interrupted", context.Canceled, here, `
paused[P0504]: tickets was interrupted
  saved  40,400 records in 404 slices of this run
  do     collect resume tickets
`},
		{"interrupted, and no run", context.Canceled, problem.Scene{Command: "collect init"}, `
paused[P0504]: collect init was interrupted
`},
	}
	for _, test := range tests {
		got := "\n" + renderProblem(problem.Of(test.err, test.sc), 80, term.Caps{UTF8: true})
		texttest.Same(t, test.name, got, test.want)
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
		errors.New(hostile), problem.Usage("%s", hostile), &problem.PanicError{Value: "in record " + secret, Stack: []byte(secret)},
		&problem.UnknownConnectorError{Name: hostile, Known: []string{hostile}},
		&problem.FileError{Path: hostile, Message: hostile, Note: hostile, Source: hostile},
	}
	for _, reason := range collection.Reasons() {
		errs = append(errs, &collection.Stop{Reason: reason, Status: 500, Detail: hostile, Err: errors.New(hostile)})
	}
	sc := here
	sc.Connector, sc.Provider, sc.Stream, sc.Partition = hostile, hostile, hostile, collection.Partition(`{"repo":"\u001b[2Jx"}`)
	for _, err := range errs {
		p := problem.Of(err, sc)
		line, jsonErr := json.Marshal(p)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		for _, text := range []string{renderProblem(p, 80, term.Caps{UTF8: true}), string(line)} {
			for _, bad := range []string{secret, "\x1b", "\x07", "\u202e", "[2J"} {
				if strings.Contains(text, bad) {
					t.Errorf("%T %s: %q is in\n%s", err, p.Code, bad, text)
				}
			}
		}
	}
}

// Whatever its width, the text holds together: no line but commands and
// excerpts is wider than the terminal.
func TestProblemFits(t *testing.T) {
	for _, reason := range collection.Reasons() {
		p := problem.Of(&collection.Stop{Reason: reason, Status: 403, Detail: strings.Repeat("word ", 40)}, here)
		p.Do = nil
		for columns := 40; columns <= 120; columns++ {
			for line := range strings.Lines(renderProblem(p, columns, term.Caps{})) {
				if got := term.Width(strings.TrimSuffix(line, "\n")); got > min(columns, 80) {
					t.Errorf("%s at %d columns: a line takes %d: %q", reason, columns, got, line)
				}
			}
		}
	}
	colored := renderProblem(problem.Of(&collection.Stop{Reason: collection.Auth}, here), 80, term.Caps{Color: true})
	if !strings.HasPrefix(colored, "\x1b[31merror\x1b[0m[E0301]: ") {
		t.Errorf("colored problem begins %.30q", colored)
	}
}

// TestUnreachableSaysWhere, so that a slip in base_url is seen.
func TestUnreachableSaysWhere(t *testing.T) {
	sc := here
	sc.Address = "https://api.acme.exmaple"
	for _, reason := range []collection.Reason{collection.UpstreamPressure, collection.RetryBudget} {
		text := renderProblem(problem.Of(&collection.Stop{Reason: reason, Err: syscall.ECONNREFUSED}, sc), 80, term.Caps{})
		if !strings.Contains(text, "note   it is asked at https://api.acme.exmaple\n") {
			t.Errorf("%s: it does not say where it asked:\n%s", reason, text)
		}
	}
}

// TestChangedStreamsAreAllStartedOver: each stream that changed gets its command.
func TestChangedStreamsAreAllStartedOver(t *testing.T) {
	changes := []problem.StreamChange{
		{Stream: "issues", Keys: []problem.KeyChange{{Key: "key", Was: "id", Now: "n"}}},
		{Stream: "gone"},
		{Stream: "comments", Keys: []problem.KeyChange{{Key: "get"}}},
	}
	text := renderProblem(problem.Of(&problem.MeaningError{Connector: "tickets", Changes: changes}, here), 80, term.Caps{})
	for stream, want := range map[string]int{"issues": 1, "comments": 1, "gone": 0} {
		if got := strings.Count(text, "collect reset tickets --stream "+stream); got != want {
			t.Errorf("%d commands for %s, want %d:\n%s", got, stream, want, text)
		}
	}
	if !strings.Contains(text, "or start all of them over:") || strings.Contains(text, "or start it over") {
		t.Errorf("it does not say that all are needed:\n%s", text)
	}
}

// A step that cannot be taken is worse than none: every command that a problem
// names is one, with the flags it is given.
func TestStepsAreCommands(t *testing.T) {
	var steps []problem.Step
	for _, reason := range collection.Reasons() {
		steps = append(steps, problem.Of(&collection.Stop{Reason: reason}, here).Do...)
	}
	for _, err := range []error{collection.ErrFull, collection.ErrFenced, collection.ErrUnknown, context.Canceled, errors.New("x"), problem.Usage("x"),
		&problem.UnknownConnectorError{Name: "tikets", Known: []string{"tickets"}},
		&problem.MeaningError{Connector: "tickets", Changes: []problem.StreamChange{{Stream: "issues", Keys: []problem.KeyChange{{Key: "key", Was: "id", Now: "n"}}}}}} {
		steps = append(steps, problem.Of(err, here).Do...)
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

func TestExitCodeHelpFits(t *testing.T) {
	for line := range strings.Lines(exitCodeHelp()) {
		if term.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("help line is wider than 80 columns: %q", line)
		}
	}
}
