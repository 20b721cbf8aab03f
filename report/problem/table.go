package problem

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
	"slices"
	"strings"
	"syscall"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
	"collect/connectors/oauth2"
	"collect/internal/tokenfile"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/store"
)

// A Scene is what the commands know of the situation in which an error is
// explained. Every field may be empty.
type Scene struct {
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

// Fingerprint returns four hexadecimal digits that tell one credential from
// another, and nothing about either: a MAC under the store's own salt.
func Fingerprint(salt []byte, credential string) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(credential))
	return hex.EncodeToString(mac.Sum(nil)[:2])
}

// An explanation is one row of the table that turns errors into problems.
type explanation struct {
	code      string
	level     Level
	exit      int
	needs     string
	retryable bool
	is        func(error) bool
	write     func(*Problem, error, Scene)
}

// explanations turns errors into problems. The first match wins, so what
// decides over a whole run stands above what costs one slice.
var explanations = []explanation{
	{"E0901", LevelError, ExitBug, NeedsOperator, false, as[*PanicError], writeBug},
	{"E0101", LevelError, exitUsage, NeedsOperator, false, as[*UsageError], writeUsage},
	{"E0101", LevelError, exitUsage, NeedsOperator, false, as[*WhichStreamError], writeWhichStream},
	{"E0201", LevelError, ExitConfig, NeedsOperator, false, as[*UnknownConnectorError], writeUnknownConnector},
	{"E0202", LevelError, ExitConfig, NeedsOperator, false, as[*declarative.MissingParamError], writeMissingParam},
	{"E0202", LevelError, ExitConfig, NeedsOperator, false, as[*declarative.BadParamError], writeBadParam},
	{"E0203", LevelError, ExitConfig, NeedsOperator, false, as[*declarative.SpecError], writeSpec},
	{"E0203", LevelError, ExitConfig, NeedsOperator, false, as[*FileError], writeFile},
	{"E0208", LevelError, ExitConfig, NeedsOperator, false, Is(ErrNoHome), writeNoHome},
	{"E0204", LevelError, ExitConfig, NeedsOperator, false, as[*connectors.UnknownStreamError], writeUnknownStream},
	{"E0206", LevelError, ExitConfig, NeedsOperator, false, as[*ParamsError], writeParams},
	{"E0209", LevelError, ExitConfig, NeedsOperator, false, as[*MeaningError], writeMeaning},
	{"E0207", LevelError, ExitConfig, NeedsOperator, false, as[*NoFileError], writeNoFile},
	{"E0210", LevelError, ExitConfig, NeedsOperator, false, as[*UntrustedError], writeUntrusted},
	{"E0211", LevelError, ExitConfig, NeedsOperator, false, as[*RememberedError], writeRemembered},
	{"E0302", LevelError, ExitRefused, NeedsOperator, false, as[*declarative.MissingSecretError], writeMissingSecret},
	{"E0302", LevelError, ExitRefused, NeedsOperator, false, as[*declarative.BadSecretError], writeBadSecret},
	{"E0308", LevelError, ExitRefused, NeedsOperator, false, as[*UnboundError], writeUnbound},
	{"E0701", LevelWaiting, ExitLater, NeedsTime, true, as[*store.HeldError], writeHeld},
	{"E0715", LevelWaiting, ExitLater, NeedsOperator, true, Is(store.ErrInUse), writeInUse},
	{"E0714", LevelError, exitUsage, NeedsOperator, false, as[*TakenError], writeTaken},
	{"E0716", LevelError, ExitStorage, NeedsOperator, false, as[*RestoreError], writeRestore},
	{"E0721", LevelError, ExitLater, NeedsOperator, true, as[*BusyError], writeBusy},
	{"E0722", LevelError, ExitLater, NeedsOperator, true, Is(gate.ErrStale), writeStale},
	{"E0710", LevelError, ExitStorage, NeedsOperator, false, as[*OutputError], writeOutput},
	{"E0306", LevelError, ExitStorage, NeedsOperator, true, as[*tokenfile.Error], writeTokenFile},
	{"E0702", LevelError, ExitStorage, NeedsOperator, true, full, writeFull},
	{"E0703", LevelError, ExitConfig, NeedsOperator, false, Is(store.ErrNewer), writeNewer},
	{"E0711", LevelWaiting, ExitLater, NeedsTime, true, Is(store.ErrOlder), writeOlder},
	{"E0712", LevelError, ExitStorage, NeedsOperator, false, Is(store.ErrDoubtful), writeDoubtful},
	{"E0713", LevelError, ExitStorage, NeedsOperator, false, as[*LostError], writeLost},
	{"E0713", LevelError, ExitStorage, NeedsOperator, false, as[*NothingFoundError], writeNothingFound},
	{"E0704", LevelError, ExitStorage, NeedsOperator, false, Is(store.ErrDamaged), writeDamaged},
	{"E0705", LevelError, ExitStorage, NeedsOperator, false, Is(store.ErrMissing), writeMissing},
	{"E0705", LevelError, ExitStorage, NeedsOperator, false, as[*NoFolderError], writeNoFolder},
	{"E0708", LevelError, ExitStorage, NeedsOperator, false, Is(store.ErrNotDatabase), writeNotDatabase},
	{"E0709", LevelError, ExitStorage, NeedsOperator, false, Is(store.ErrNoAccess), writeNoAccess},
	{"E0717", LevelError, ExitStorage, NeedsOperator, true, Is(store.ErrDisk), writeDisk},
	{"E0718", LevelError, ExitStorage, NeedsOperator, true, Is(store.ErrLocked), writeLocked},
	{"E0706", LevelWaiting, ExitLater, NeedsTime, true, Is(collection.ErrFenced, collection.ErrCursorMoved), writeFenced},
	{"E0707", LevelError, ExitStorage, NeedsOperator, true, Is(collection.ErrUnknown), writeUnknownCommit},
	{"E0305", LevelError, ExitRefused, NeedsOperator, false, Is(oauth2.ErrRefused), writeNoToken},
	{"E0307", LevelWaiting, ExitLater, NeedsTime, true, Is(tokenfile.ErrBusy), writeTokenBusy},
	{"E0308", LevelError, ExitRefused, NeedsOperator, false, Is(connectors.ErrProbe), writeProbe},
	{"E0301", LevelError, ExitRefused, NeedsOperator, false, stopped(collection.Auth), writeAuth},
	{"E0303", LevelError, ExitRefused, NeedsOperator, false, stopped(collection.Frozen), writeFrozen},
	{"E0304", LevelError, ExitRefused, NeedsOperator, false, stopped(collection.Suspended), writeSuspended},
	{"E0601", LevelError, ExitProtocol, NeedsOperator, false, stopped(collection.SchemaDrift), writeDrift},
	{"E0610", LevelError, ExitProtocol, NeedsOperator, false, as[*collection.UnlistedError], writeUnlisted},
	{"E0602", LevelError, ExitProtocol, NeedsOperator, false, stopped(collection.BadPage), writeBadPage},
	{"E0603", LevelError, ExitProtocol, NeedsOperator, false, stopped(collection.CursorExpired), writeCursor},
	{"E0608", LevelError, ExitOwed, NeedsOperator, false, stopped(collection.Forbidden, collection.NotFound, collection.TooLarge), writePiece},
	{"E0401", LevelWaiting, ExitLater, NeedsTime, true, stopped(collection.CircuitOpen), writeBreaker},
	{"E0402", LevelWaiting, ExitLater, NeedsTime, true, stopped(collection.RetryAfter), writeLongWait},
	{"E0403", LevelWaiting, ExitLater, NeedsTime, true, stopped(collection.RateLimited), writeThrottled},
	{"E0404", LevelError, ExitUnreached, NeedsTime, true, Unreachable, writeUnreachable},
	{"E0405", LevelWaiting, ExitLater, NeedsTime, true, stopped(collection.UpstreamPressure), writePressure},
	{"P0501", LevelPaused, ExitOK, NeedsNothing, true, stopped(collection.RequestCap), writeRequestCap},
	{"P0502", LevelPaused, ExitOK, NeedsNothing, true, stopped(collection.WallClock), writeWallClock},
	{"P0503", LevelPaused, ExitOK, NeedsNothing, true, stopped(collection.RetryBudget), writeRetryBudget},
	{"P0504", LevelPaused, ExitInterrupt, NeedsNothing, true, interruption, writeInterrupted},
	{"W0609", LevelWarning, ExitOK, NeedsNothing, false, stopped(collection.Gone), writePiece},
	{"E0001", LevelError, ExitFailure, NeedsOperator, true, func(error) bool { return true }, writeOther},
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

// ExitOf returns the exit code of a command that err ends.
func ExitOf(err error) int { return classify(err).exit }

// Of explains err, which is not nil. Where a whole run ended, its
// verdict decides the exit code; the caller then replaces the one given here.
func Of(err error, sc Scene) Problem {
	if sc.Now.IsZero() {
		sc.Now = time.Now().UTC()
	}
	if sc.Provider == "" {
		sc.Provider = "the provider"
	}
	row := classify(err)
	p := Problem{Code: row.code, Level: row.level, ExitCode: row.exit, Needs: row.needs, Retryable: row.retryable}
	row.write(&p, err, sc)
	return p
}

// Quarantined explains records that a run put into quarantine. ok is false if
// there are none. A stream that has stored nothing takes another key as it is;
// what is stored under the old one would be mixed with what comes under the new.
func Quarantined(run collection.Run, streams []store.StreamState, sc Scene) (p Problem, ok bool) {
	n := run.Tally.Rejected
	if n == 0 {
		return Problem{}, false
	}
	mend := sc.resume("then correct `key` in the connector file, and:")
	for _, st := range streams {
		if st.Quarantined > 0 && st.Records > 0 {
			mend = Step{"then correct `key` in the connector file, and start the stream over:", sc.command("reset") + " --stream " + words.Quoted(st.Name) + " --reason WHY"}
			break
		}
	}
	return Problem{
		Code: "E0607", Level: LevelError, ExitCode: ExitOwed, Needs: NeedsOperator,
		Headline: fmt.Sprintf("%s of %s could not be stored", words.Counted(n, "record", "records"), sc.Connector),
		Why:      "each of them has no usable key, or shares its key with another record of the page, or is too large",
		Saved:    "every other record; these are in quarantine, none dropped",
		Do:       []Step{{"see which and why:", fmt.Sprintf("sqlite3 %s 'select reason, data from quarantine'", cmp.Or(sc.State, "STATE"))}, mend},
	}, true
}

// Is returns a test for any of targets.
func Is(targets ...error) func(error) bool {
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
func full(err error) bool { return Is(collection.ErrFull, syscall.ENOSPC, syscall.EDQUOT)(err) }

// Unreachable reports whether no request got as far as an answer: a stop for
// pressure without a status.
func Unreachable(err error) bool {
	stop, ok := errors.AsType[*collection.Stop](err)
	return ok && stop.Reason == collection.UpstreamPressure && stop.Status == 0
}

func interruption(err error) bool {
	return stopped(collection.Interrupted)(err) || Is(context.Canceled)(err)
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

// PlainText returns the text of an error that no row explains. A URL keeps
// its host at most: errors of net/http quote it whole.
func PlainText(err error) string {
	if quoted, ok := errors.AsType[*url.Error](err); ok {
		return strings.ToLower(quoted.Op) + ": " + PlainText(quoted.Err)
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Error()
	}
	return err.Error()
}
