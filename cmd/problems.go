package cmd

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
	"collect/connectors/oauth2"
	"collect/internal/tokenfile"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/runner"
	"collect/store"
)

// A scene is what the commands know of the situation in which an error is
// explained. Every field may be empty.
type scene struct {
	Connector  string
	Command    string // what was typed: "collect run"
	Flags      string // what commands to copy must repeat: " --state x.db"
	Provider   string
	Address    string // where it is asked, if that is one place
	Stream     string
	Partition  collection.Partition
	Pieces, Of int64          // partitions of Stream that owe a gap for the same reason, and all of them; 0: not known
	Run        collection.Run // the run that met the error; ID "" if none began
	Nothing    bool           // no run of the connector has stored a record
	Stands     bool           // the walk of Stream stands at the problem
	Passed     bool           // the run went on without what the problem is about
	Credential string         // where it came from: "env ACME_TOKEN"
	Mark       string         // its fingerprint
	State      string         // path of the database
	Usual      bool           // nobody named that path
	ByHand     bool           // a person waits for it, and no schedule comes back
	RequestCap int64
	MaxTime    time.Duration
	Retries    int64 // the run's retry tokens
	Now        time.Time
}

// fingerprint returns four hexadecimal digits that tell one credential from
// another, and nothing about either: a MAC under the store's own salt.
func fingerprint(salt []byte, credential string) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(credential))
	return hex.EncodeToString(mac.Sum(nil)[:2])
}

// An explanation is one row of the table that turns errors into problems.
type explanation struct {
	code      string
	level     level
	exit      int
	needs     string
	retryable bool
	is        func(error) bool
	write     func(*problem, error, scene)
}

// explanations turns errors into problems. The first match wins, so what
// decides over a whole run stands above what costs one slice.
var explanations = []explanation{
	{"E0901", levelError, exitBug, needsOperator, false, as[*panicError], writeBug},
	{"E0101", levelError, exitUsage, needsOperator, false, as[*usageError], writeUsage},
	{"E0101", levelError, exitUsage, needsOperator, false, as[*whichStreamError], writeWhichStream},
	{"E0201", levelError, exitConfig, needsOperator, false, as[*unknownConnectorError], writeUnknownConnector},
	{"E0202", levelError, exitConfig, needsOperator, false, as[*declarative.MissingParamError], writeMissingParam},
	{"E0202", levelError, exitConfig, needsOperator, false, as[*declarative.BadParamError], writeBadParam},
	{"E0203", levelError, exitConfig, needsOperator, false, as[*declarative.SpecError], writeSpec},
	{"E0203", levelError, exitConfig, needsOperator, false, as[*config.FileError], writeFile},
	{"E0208", levelError, exitConfig, needsOperator, false, is(errNoHome), writeNoHome},
	{"E0204", levelError, exitConfig, needsOperator, false, as[*runner.UnknownStreamError], writeUnknownStream},
	{"E0206", levelError, exitConfig, needsOperator, false, as[*paramsError], writeParams},
	{"E0209", levelError, exitConfig, needsOperator, false, as[*meaningError], writeMeaning},
	{"E0207", levelError, exitConfig, needsOperator, false, as[*config.NoFileError], writeNoFile},
	{"E0210", levelError, exitConfig, needsOperator, false, as[*config.UntrustedError], writeUntrusted},
	{"E0211", levelError, exitConfig, needsOperator, false, as[*config.RememberedError], writeRemembered},
	{"E0302", levelError, exitRefused, needsOperator, false, as[*declarative.MissingSecretError], writeMissingSecret},
	{"E0302", levelError, exitRefused, needsOperator, false, as[*declarative.BadSecretError], writeBadSecret},
	{"E0308", levelError, exitRefused, needsOperator, false, as[*config.UnboundError], writeUnbound},
	{"E0701", levelWaiting, exitLater, needsTime, true, as[*store.HeldError], writeHeld},
	{"E0715", levelWaiting, exitLater, needsOperator, true, is(store.ErrInUse), writeInUse},
	{"E0714", levelError, exitUsage, needsOperator, false, as[*takenError], writeTaken},
	{"E0716", levelError, exitStorage, needsOperator, false, as[*restoreError], writeRestore},
	{"E0721", levelError, exitLater, needsOperator, true, as[*busyError], writeBusy},
	{"E0722", levelError, exitLater, needsOperator, true, is(gate.ErrStale), writeStale},
	{"E0710", levelError, exitStorage, needsOperator, false, as[*outputError], writeOutput},
	{"E0306", levelError, exitStorage, needsOperator, true, as[*tokenfile.Error], writeTokenFile},
	{"E0702", levelError, exitStorage, needsOperator, true, full, writeFull},
	{"E0703", levelError, exitConfig, needsOperator, false, is(store.ErrNewer), writeNewer},
	{"E0711", levelWaiting, exitLater, needsTime, true, is(store.ErrOlder), writeOlder},
	{"E0712", levelError, exitStorage, needsOperator, false, is(store.ErrDoubtful), writeDoubtful},
	{"E0713", levelError, exitStorage, needsOperator, false, as[*lostError], writeLost},
	{"E0713", levelError, exitStorage, needsOperator, false, as[*nothingFoundError], writeNothingFound},
	{"E0704", levelError, exitStorage, needsOperator, false, is(store.ErrDamaged), writeDamaged},
	{"E0705", levelError, exitStorage, needsOperator, false, is(store.ErrMissing), writeMissing},
	{"E0705", levelError, exitStorage, needsOperator, false, as[*noFolderError], writeNoFolder},
	{"E0708", levelError, exitStorage, needsOperator, false, is(store.ErrNotDatabase), writeNotDatabase},
	{"E0709", levelError, exitStorage, needsOperator, false, is(store.ErrNoAccess), writeNoAccess},
	{"E0717", levelError, exitStorage, needsOperator, true, is(store.ErrDisk), writeDisk},
	{"E0718", levelError, exitStorage, needsOperator, true, is(store.ErrLocked), writeLocked},
	{"E0706", levelWaiting, exitLater, needsTime, true, is(collection.ErrFenced, collection.ErrCursorMoved), writeFenced},
	{"E0707", levelError, exitStorage, needsOperator, true, is(collection.ErrUnknown), writeUnknownCommit},
	{"E0305", levelError, exitRefused, needsOperator, false, is(oauth2.ErrRefused), writeNoToken},
	{"E0307", levelWaiting, exitLater, needsTime, true, is(tokenfile.ErrBusy), writeTokenBusy},
	{"E0308", levelError, exitRefused, needsOperator, false, is(connectors.ErrProbe), writeProbe},
	{"E0301", levelError, exitRefused, needsOperator, false, stopped(collection.Auth), writeAuth},
	{"E0303", levelError, exitRefused, needsOperator, false, stopped(collection.Frozen), writeFrozen},
	{"E0304", levelError, exitRefused, needsOperator, false, stopped(collection.Suspended), writeSuspended},
	{"E0601", levelError, exitProtocol, needsOperator, false, stopped(collection.SchemaDrift), writeDrift},
	{"E0610", levelError, exitProtocol, needsOperator, false, as[*collection.UnlistedError], writeUnlisted},
	{"E0602", levelError, exitProtocol, needsOperator, false, stopped(collection.BadPage), writeBadPage},
	{"E0603", levelError, exitProtocol, needsOperator, false, stopped(collection.CursorExpired), writeCursor},
	{"E0608", levelError, exitOwed, needsOperator, false, stopped(collection.Forbidden, collection.NotFound, collection.TooLarge), writePiece},
	{"E0401", levelWaiting, exitLater, needsTime, true, stopped(collection.CircuitOpen), writeBreaker},
	{"E0402", levelWaiting, exitLater, needsTime, true, stopped(collection.RetryAfter), writeLongWait},
	{"E0403", levelWaiting, exitLater, needsTime, true, stopped(collection.RateLimited), writeThrottled},
	{"E0404", levelError, exitUnreached, needsTime, true, unreachable, writeUnreachable},
	{"E0405", levelWaiting, exitLater, needsTime, true, stopped(collection.UpstreamPressure), writePressure},
	{"P0501", levelPaused, exitOK, needsNothing, true, stopped(collection.RequestCap), writeRequestCap},
	{"P0502", levelPaused, exitOK, needsNothing, true, stopped(collection.WallClock), writeWallClock},
	{"P0503", levelPaused, exitOK, needsNothing, true, stopped(collection.RetryBudget), writeRetryBudget},
	{"P0504", levelPaused, exitInterrupt, needsNothing, true, interruption, writeInterrupted},
	{"W0609", levelWarning, exitOK, needsNothing, false, stopped(collection.Gone), writePiece},
	{"E0001", levelError, exitFailure, needsOperator, true, func(error) bool { return true }, writeOther},
}

// classify returns the row for err, which is not nil.
func classify(err error) explanation {
	for _, row := range explanations {
		if row.is(err) {
			return row
		}
	}
	return explanations[len(explanations)-1]
}

// problemOf explains err, which is not nil. Where a whole run ended, its
// verdict decides the exit code; the caller then replaces the one given here.
func problemOf(err error, sc scene) problem {
	if sc.Now.IsZero() {
		sc.Now = time.Now().UTC()
	}
	if sc.Provider == "" {
		sc.Provider = "the provider"
	}
	row := classify(err)
	p := problem{Code: row.code, Level: row.level, ExitCode: row.exit, Needs: row.needs, Retryable: row.retryable}
	row.write(&p, err, sc)
	return p
}

// quarantined explains records that a run put into quarantine. ok is false if
// there are none. A stream that has stored nothing takes another key as it is;
// what is stored under the old one would be mixed with what comes under the new.
func quarantined(run collection.Run, streams []store.StreamState, sc scene) (p problem, ok bool) {
	n := run.Tally.Rejected
	if n == 0 {
		return problem{}, false
	}
	mend := sc.resume("then correct `key` in the connector file, and:")
	for _, st := range streams {
		if st.Quarantined > 0 && st.Records > 0 {
			mend = step{"then correct `key` in the connector file, and start the stream over:", sc.command("reset") + " --stream " + words.Quoted(st.Name) + " --reason WHY"}
			break
		}
	}
	return problem{
		Code: "E0607", Level: levelError, ExitCode: exitOwed, Needs: needsOperator,
		Headline: fmt.Sprintf("%s of %s could not be stored", words.Counted(n, "record", "records"), sc.Connector),
		Why:      "each of them has no usable key, or shares its key with another record of the page, or is too large",
		Saved:    "every other record; these are in quarantine, none dropped",
		Do:       []step{{"see which and why:", fmt.Sprintf("sqlite3 %s 'select reason, data from quarantine'", cmp.Or(sc.State, "STATE"))}, mend},
	}, true
}

// is returns a test for any of targets.
func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

// as reports whether err holds an error of type E.
func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// stopped returns a test for a stop with any of reasons.
func stopped(reasons ...collection.Reason) func(error) bool {
	return func(err error) bool {
		stop, ok := errors.AsType[*collection.Stop](err)
		if !ok {
			return false
		}
		return slices.Contains(reasons, stop.Reason)
	}
}

// full reports whether the disk is the problem, whoever noticed.
func full(err error) bool { return is(collection.ErrFull, syscall.ENOSPC, syscall.EDQUOT)(err) }

// unreachable reports whether no request got as far as an answer: a stop for
// pressure without a status.
func unreachable(err error) bool {
	stop, ok := errors.AsType[*collection.Stop](err)
	return ok && stop.Reason == collection.UpstreamPressure && stop.Status == 0
}

func interruption(err error) bool {
	return stopped(collection.Interrupted)(err) || is(context.Canceled)(err)
}

// obstacle says, without naming addresses, what kept us from the provider.
func obstacle(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return "the proxy in HTTPS_PROXY does not answer"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "its host name cannot be resolved (DNS)"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if stop, ok := errors.AsType[*collection.Stop](err); ok && stop.Detail != "" {
			return strings.TrimPrefix(stop.Detail, "no connection: ")
		}
		return "its certificate is not trusted (TLS)"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "it does not speak TLS at that port"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "it did not answer in time"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no network route to it"
	}
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		return stop.Detail
	}
	return ""
}

// plainText returns the text of an error that no row explains. A URL keeps
// its host at most: errors of net/http quote it whole.
func plainText(err error) string {
	if quoted, ok := errors.AsType[*url.Error](err); ok {
		return strings.ToLower(quoted.Op) + ": " + plainText(quoted.Err)
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Error()
	}
	return err.Error()
}

// A usageError is a mistake on the command line.
type usageError struct{ Message string }

func (e *usageError) Error() string { return e.Message }

// An unknownConnectorError is a name that no connector has.
type unknownConnectorError struct {
	Name  string
	Known []string
	File  string // of the name, where the command was given; "" for none
}

func (e *unknownConnectorError) Error() string { return fmt.Sprintf("no connector named %q", e.Name) }

// A panicError is a bug that was caught on its way out.
type panicError struct {
	Value any
	Stack []byte // for -v only: it may quote what it worked on
}

func (e *panicError) Error() string {
	if fault, ok := e.Value.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("panic with a %T", e.Value) // its value may quote a record
}
