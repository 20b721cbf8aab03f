package problem

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
	"collect/connectors/oauth2"
	"collect/internal/tokenfile"
	"collect/pacing/gate"
	"collect/store"
)

// wholeScene is a scene in which everything is known.
var wholeScene = Scene{
	Connector: "tickets", Provider: "acme", Stream: "issues",
	Run:        collection.Run{ID: "01JD8Z", Tally: collection.Tally{Slices: 404, Records: 40_400, Requests: 20_003}},
	Credential: "env ACME_TOKEN", Mark: "7c1e", State: "~/.local/state/collect/state.db",
	RequestCap: 20_000, MaxTime: time.Hour, Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
}

// Every row of the table is the answer to some error, and says something.
func TestEveryErrorIsExplained(t *testing.T) {
	errs := []error{
		&PanicError{Value: "a bug"}, &UsageError{"--x: no"}, &WhichStreamError{"x", []string{"a"}}, &UnknownConnectorError{Name: "x"},
		&declarative.MissingParamError{Name: "org"}, &declarative.BadParamError{Name: "org", Problem: "is not a date"},
		&declarative.SpecError{Path: "x.yaml", Line: 1, Column: 1, Message: "no"}, &FileError{Path: "x.yaml", Message: "no"}, &OutsideError{What: "x: 9 a day", Least: "2 a day", Most: "4 a day", Origin: "x.yaml:3"},
		&connectors.UnknownStreamError{Stream: "x"}, &ParamsError{Connector: "x"}, &MeaningError{Connector: "x"}, &NoFileError{Path: "x.yaml"}, ErrNoHome,
		&declarative.MissingSecretError{Name: "token"}, &UntrustedError{Path: "collect.yaml", Why: "x", Name: "y"}, &RememberedError{Path: "/x.yaml", Secret: "token"}, &UnboundError{Provider: "acme", Origin: "https://api.acme.test", Origins: []string{"https://api.acme.test"}, Written: "collect.yaml:4"},
		&collection.Stop{Reason: collection.Auth, Err: oauth2.ErrRefused}, &oauth2.SignInError{Detail: "denied"}, &ReadOnlyError{"token", "env T"}, &collection.Stop{Reason: collection.Auth, Err: declarative.ErrLogin}, &tokenfile.Error{Path: "/t", Err: syscall.ENOSPC}, tokenfile.ErrBusy,
		&store.HeldError{}, &NoFolderError{}, &BusyError{}, gate.ErrStale, collection.ErrFull, store.ErrNewer, store.ErrOlder, store.ErrDoubtful, &LostError{3, 5}, &NothingFoundError{}, store.ErrInUse, &TakenError{"x"}, &store.OccupiedError{Name: "x", What: "a file"}, &store.UnequalError{Tables: []string{"runs"}}, store.ErrChanging, &store.UnfinishedError{Name: "x"}, &store.BegunError{Part: "x", Err: store.ErrMissing}, &ServedError{"x", "y"}, &RestoreError{errors.New("x")}, store.ErrDamaged, store.ErrMissing, store.ErrNotDatabase, store.ErrNoAccess, ErrUpgraded, &ClockError{}, store.ErrDisk, store.ErrLocked, store.ErrUnreachable, &OutputError{syscall.EIO},
		collection.ErrFenced, collection.ErrCursorMoved, collection.ErrUnknown, syscall.ENOSPC, context.Canceled, errors.New("x"),
		&collection.Stop{Reason: collection.UpstreamPressure, Status: 503},
		&collection.Stop{Reason: collection.BadPage, Err: &collection.UnlistedError{Origin: "https://other.test"}},
	}
	for _, reason := range collection.Reasons() {
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
		for _, sc := range []Scene{{}, wholeScene} {
			p := Of(err, sc)
			if p.Headline == "" || strings.HasSuffix(p.Headline, ".") || strings.ToLower(p.Headline[:1]) != p.Headline[:1] {
				t.Errorf("%q: headline %q is not lower case without a full stop", err, p.Headline)
			}
			if len(p.Do) > 3 {
				t.Errorf("%q: %d steps, want at most three", err, len(p.Do))
			}
		}
	}
	for _, row := range rows {
		if !used[row.code] {
			t.Errorf("no error here leads to %s", row.code)
		}
	}
}

// Every code that a message can begin with has a meaning.
func TestEveryCodeHasAMeaning(t *testing.T) {
	codes := []string{"E0001", "E0607"}
	for _, r := range rows {
		codes = append(codes, r.code)
	}
	for _, r := range reasons {
		codes = append(codes, r.code)
	}
	for _, code := range codes {
		if m, ok := MeaningOf(code); !ok || m.Meaning == "" || !strings.HasPrefix(m.Word, code+", ") {
			t.Errorf("%s means %+v", code, m)
		}
	}
}

// Every reason has its row, and every row says everything.
func TestEveryReasonIsExplained(t *testing.T) {
	for _, reason := range collection.Reasons() {
		r, ok := reasons[reason]
		if !ok || r.code == "" || r.level == "" || r.needs == "" || r.write == nil || r.meaning == "" || r.next == "" {
			t.Errorf("%s: something is missing in %+v", reason, r)
		}
		if n := len(r.brief); n == 0 || n > 24 {
			t.Errorf("%s: %q has %d columns, want 1 to 24", reason, r.brief, n)
		}
		if (r.exit == ExitOK) != (reason == collection.Gone) {
			t.Errorf("%s: a run that stopped for it exits %d", reason, r.exit)
		}
		if got := classify(&collection.Stop{Reason: reason, Status: 500}).code; got != r.code {
			t.Errorf("%s is explained by %s, want %s", reason, got, r.code)
		}
		if p := Of(&collection.Stop{Reason: reason}, wholeScene); p.ExitCode == ExitPaused {
			t.Errorf("%s: exit code %d is for --strict alone", reason, p.ExitCode)
		}
	}
	if len(reasons) != len(collection.Reasons()) {
		t.Errorf("there are rows for %d reasons, want %d", len(reasons), len(collection.Reasons()))
	}
}

func TestProblemJSON(t *testing.T) {
	got, err := json.Marshal(Of(&collection.Stop{Reason: collection.Auth, Status: 401}, wholeScene))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"code":"E0301","level":"error","message":"acme rejected the credential (401)","where":"tickets/issues","why":null,"note":null,` +
		`"token":"from env ACME_TOKEN, fingerprint 7c1e","saved":"40,400 records in 404 slices of this run",` +
		`"help":["put a valid one there"],"commands":["collect resume tickets"],"retryable":false,"needs":"operator","exit_code":77,"url":null}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
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
	a, b, c := Fingerprint(salt, "one"), Fingerprint(salt, "two"), Fingerprint([]byte("another"), "one")
	if len(a) != 4 || a == b || a == c || a != Fingerprint(salt, "one") {
		t.Errorf("fingerprints = %q, %q, %q, want 4 digits, all different", a, b, c)
	}
}

func TestWorst(t *testing.T) {
	order := []int{70, 74, 78, 77, 76, 65, 1, 69, 75, 130, 11, 10, 0}
	for i, bad := range order {
		for _, better := range order[i:] {
			for _, codes := range [][]int{{bad, better}, {better, bad}} {
				if got := Worst(codes...); got != bad {
					t.Errorf("worst(%v) = %d, want %d", codes, got, bad)
				}
			}
		}
	}
	if got := Worst(); got != ExitOK {
		t.Errorf("worst() = %d, want 0", got)
	}
	if got := Worst(0, 99, 75); got != 99 {
		t.Errorf("worst(0, 99, 75) = %d, want 99: an unknown code is a failure", got)
	}
}

// Every code that anything can exit with is in the table once.
func TestExitCodesAreListed(t *testing.T) {
	used := []int{ExitOK, ExitFailure, ExitUsage, ExitPaused, ExitWarned, ExitOwed, ExitUnreached, ExitBug, ExitStorage,
		ExitLater, ExitProtocol, ExitRefused, ExitConfig, ExitInterrupt, ExitTerminated}
	for _, row := range rows {
		used = append(used, row.exit)
	}
	for _, reason := range collection.Reasons() {
		used = append(used, ExitOfReason(reason))
	}
	for _, code := range used {
		n := 0
		for _, row := range ExitCodes {
			if row.Code == code {
				n++
			}
		}
		if n != 1 {
			t.Errorf("exit code %d is listed %d times, want once", code, n)
		}
	}
}
