package problem

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
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

// A row says what is made of an error.
type row struct {
	code      string
	level     Level
	exit      int
	needs     string
	retryable bool
	write     func(*Problem, error, Scene)
}

// An errorRow is the row of the errors that is holds of.
type errorRow struct {
	is func(error) bool
	row
}

// rows turns errors into problems. The first match wins, so what decides over a
// whole run stands above what costs one slice, and above its [reasons].
var rows = []errorRow{
	{as[*PanicError], row{"E0901", LevelError, ExitBug, NeedsOperator, false, writeBug}},
	{as[*UsageError], row{"E0101", LevelError, ExitUsage, NeedsOperator, false, writeUsage}},
	{as[*WhichStreamError], row{"E0101", LevelError, ExitUsage, NeedsOperator, false, writeWhichStream}},
	{as[*UnknownConnectorError], row{"E0201", LevelError, ExitConfig, NeedsOperator, false, writeUnknownConnector}},
	{as[*declarative.MissingParamError], row{"E0202", LevelError, ExitConfig, NeedsOperator, false, writeMissingParam}},
	{as[*declarative.BadParamError], row{"E0202", LevelError, ExitConfig, NeedsOperator, false, says("nothing was started", Step{Say: "correct it in --param, or under `params:` in collect.yaml"})}},
	{as[*declarative.SpecError], row{"E0203", LevelError, ExitConfig, NeedsOperator, false, writeSpec}},
	{as[*OutsideError], row{"E0205", LevelError, ExitConfig, NeedsOperator, false, writeOutside}},
	{as[*FileError], row{"E0203", LevelError, ExitConfig, NeedsOperator, false, writeFile}},
	{is(ErrNoHome), row{"E0208", LevelError, ExitConfig, NeedsOperator, false, says("nothing was started", Step{Say: "name one: --state PATH --create, or set HOME"})}},
	{as[*connectors.UnknownStreamError], row{"E0204", LevelError, ExitConfig, NeedsOperator, false, writeUnknownStream}},
	{as[*ParamsError], row{"E0206", LevelError, ExitConfig, NeedsOperator, false, writeParams}},
	{as[*MeaningError], row{"E0209", LevelError, ExitConfig, NeedsOperator, false, writeMeaning}},
	{as[*NoFileError], row{"E0207", LevelError, ExitConfig, NeedsOperator, false, writeNoFile}},
	{as[*UntrustedError], row{"E0210", LevelError, ExitConfig, NeedsOperator, false, writeUntrusted}},
	{as[*RememberedError], row{"E0211", LevelError, ExitConfig, NeedsOperator, false, writeRemembered}},
	{as[*declarative.MissingSecretError], row{"E0302", LevelError, ExitRefused, NeedsOperator, false, writeMissingSecret}},
	{as[*declarative.BadSecretError], row{"E0302", LevelError, ExitRefused, NeedsOperator, false, says("nothing was started", Step{Say: "correct it where it is kept, or name another place under `providers:` in collect.yaml"})}},
	{as[*ReadOnlyError], row{"E0302", LevelError, ExitRefused, NeedsOperator, false, says("nothing was changed", Step{Say: "put it there yourself, or name a `file` or a `keyring` for it in the connector file"})}},
	{as[*UnboundError], row{"E0308", LevelError, ExitRefused, NeedsOperator, false, writeUnbound}},
	{as[*store.HeldError], row{"E0701", LevelWaiting, ExitLater, NeedsTime, true, writeHeld}},
	{as[*PausedError], row{"P0504", LevelPaused, ExitPaused, NeedsNothing, false, writePaused}},
	{is(store.ErrInUse), row{"E0715", LevelWaiting, ExitLater, NeedsOperator, true, writeInUse}},
	{as[*ServedError], row{"E0720", LevelError, ExitUsage, NeedsOperator, false, writeServed}},
	{as[*TakenError], row{"E0714", LevelError, ExitUsage, NeedsOperator, false, says("everything; no file was written over", Step{Say: "name another file, or add --force to replace it"})}},
	{as[*store.OccupiedError], row{"E0714", LevelError, ExitUsage, NeedsOperator, false, writeOccupied}},
	{as[*store.UnequalError], row{"E0724", LevelError, ExitStorage, NeedsOperator, true, writeUnequal}},
	{is(store.ErrChanging), row{"E0725", LevelError, ExitLater, NeedsOperator, true, writeChanging}},
	{as[*store.UnfinishedError], row{"E0726", LevelError, ExitUsage, NeedsOperator, false, writeUnfinished}},
	{as[*RestoreError], row{"E0716", LevelError, ExitStorage, NeedsOperator, false, writeRestore}},
	{as[*BusyError], row{"E0721", LevelError, ExitLater, NeedsOperator, true, writeBusy}},
	{is(gate.ErrStale), row{"E0722", LevelError, ExitLater, NeedsOperator, true, writeStale}},
	{as[*OutputError], row{"E0710", LevelError, ExitStorage, NeedsOperator, false, writeOutput}},
	{as[*tokenfile.Error], row{"E0306", LevelError, ExitStorage, NeedsOperator, true, writeTokenFile}},
	{full, row{"E0702", LevelError, ExitStorage, NeedsOperator, true, writeFull}},
	{is(store.ErrNewer), row{"E0703", LevelError, ExitConfig, NeedsOperator, false, writeNewer}},
	{is(store.ErrOlder), row{"E0711", LevelWaiting, ExitLater, NeedsTime, true, writeOlder}},
	{is(store.ErrDoubtful), row{"E0712", LevelError, ExitStorage, NeedsOperator, false, writeDoubtful}},
	{as[*LostError], row{"E0713", LevelError, ExitStorage, NeedsOperator, false, writeLost}},
	{as[*NothingFoundError], row{"E0713", LevelError, ExitStorage, NeedsOperator, false, says("nothing was changed")}},
	{is(store.ErrDamaged), row{"E0704", LevelError, ExitStorage, NeedsOperator, false, writeDamaged}},
	{is(store.ErrMissing), row{"E0705", LevelError, ExitStorage, NeedsOperator, false, writeMissing}},
	{as[*NoFolderError], row{"E0705", LevelError, ExitStorage, NeedsOperator, false, writeNoFolder}},
	{is(store.ErrNotDatabase), row{"E0708", LevelError, ExitStorage, NeedsOperator, false, writeNotDatabase}},
	{is(store.ErrNoAccess), row{"E0709", LevelError, ExitStorage, NeedsOperator, false, writeNoAccess}},
	{is(store.ErrDisk), row{"E0717", LevelError, ExitStorage, NeedsOperator, true, writeDisk}},
	{is(store.ErrUnreachable), row{"E0719", LevelError, ExitStorage, NeedsOperator, true, writeServerAway}},
	{is(ErrUpgraded), row{"E0727", LevelWaiting, ExitLater, NeedsOperator, true, says("everything; the turns of this worker go to others", Step{Say: "install the newer version on this machine, too, and start the worker again, which a service manager does by itself"})}},
	{as[*ClockError], row{"E0723", LevelError, ExitConfig, NeedsOperator, true, says("everything; the turns of this worker go to others", Step{Say: "let this machine keep time by NTP (timedatectl set-ntp true), and start the worker again"})}},
	{is(store.ErrLocked), row{"E0718", LevelError, ExitStorage, NeedsOperator, true, writeLocked}},
	{is(collection.ErrFenced, collection.ErrCursorMoved), row{"E0706", LevelWaiting, ExitLater, NeedsTime, true, writeFenced}},
	{is(collection.ErrUnknown), row{"E0707", LevelError, ExitStorage, NeedsOperator, true, writeUnknownCommit}},
	{as[*oauth2.SignInError], row{"E0309", LevelError, ExitRefused, NeedsOperator, false, writeSignIn}},
	{is(oauth2.ErrRefused), row{"E0305", LevelError, ExitRefused, NeedsOperator, false, writeNoToken}},
	{is(declarative.ErrLogin), row{"E0305", LevelError, ExitRefused, NeedsOperator, false, writeNoSession}},
	{is(tokenfile.ErrBusy), row{"E0307", LevelWaiting, ExitLater, NeedsTime, true, writeTokenBusy}},
	{is(connectors.ErrProbe), row{"E0308", LevelError, ExitRefused, NeedsOperator, false, writeProbe}},
	{as[*collection.UnlistedError], row{"E0610", LevelError, ExitProtocol, NeedsOperator, false, writeUnlisted}},
	{Unreachable, row{"E0404", LevelError, ExitUnreached, NeedsTime, true, writeUnreachable}},
}

// says returns what writes an error in its own words, what is safe, and what to
// do.
func says(saved string, do ...Step) func(*Problem, error, Scene) {
	return func(p *Problem, err error, _ Scene) { p.Headline, p.Saved, p.Do = err.Error(), saved, do }
}

// The rows that no error leads to: of what was not foreseen, and of records in
// quarantine.
var (
	other       = row{"E0001", LevelError, ExitFailure, NeedsOperator, true, writeOther}
	quarantined = row{"E0607", LevelError, ExitOwed, NeedsOperator, false, nil}
)

// classify returns the row for err, which is not nil.
func classify(err error) row {
	for _, known := range rows {
		if known.is(err) {
			return known.row
		}
	}
	if stop := stopIn(err); stop != nil {
		if known, ok := reasons[stop.Reason]; ok {
			return known.row
		}
	}
	if errors.Is(err, context.Canceled) {
		return reasons[collection.Interrupted].row
	}
	return other
}

// ExitOf returns the exit code of a command that err ends.
func ExitOf(err error) int { return classify(err).exit }

// CodeOf returns the code of a problem that err, which is not nil, is: E0719.
func CodeOf(err error) string { return classify(err).code }

// ServerAway reports whether a code is that of an error that passes when the database server is
// there again.
func ServerAway(code string) bool {
	return code == CodeOf(store.ErrUnreachable) || code == CodeOf(collection.ErrUnknown)
}

// DiskFull reports whether a code is that of an error that passes when there is room on the disk again.
func DiskFull(code string) bool { return code == CodeOf(collection.ErrFull) }

// Of explains err, which is not nil.
func Of(err error, sc Scene) Problem {
	if sc.Now.IsZero() {
		sc.Now = time.Now().UTC()
	}
	if sc.Provider == "" {
		sc.Provider = "the provider"
	}
	row := classify(err)
	p := row.problem(sc)
	row.write(&p, err, sc)
	return p
}

func (r row) problem(sc Scene) Problem {
	return Problem{Code: r.code, Level: r.level, ExitCode: sc.exit(r.exit), Needs: r.needs, Retryable: r.retryable}
}

// Quarantined explains records that a run put into quarantine. ok is false if
// there are none. A stream that has stored nothing takes another key as it is;
// what is stored under the old one would be mixed with what comes under the new.
func Quarantined(run collection.Run, streams []store.StreamState, sc Scene) (p Problem, ok bool) {
	n := run.Tally.Rejected
	if n == 0 {
		return Problem{}, false
	}
	mend := sc.resume("then correct `key` or `map` in the connector file, and:")
	why := "each of them has no usable key, or shares its key with another record, or is too large, or `map` failed on it"
	for _, st := range streams {
		over := sc.command("reset") + " --stream " + words.Quoted(st.Name) + " --reason WHY"
		if st.Collided > 0 && st.Wider != "" {
			why = fmt.Sprintf("two %s have records of one key in %s, and each has shown its own", st.Parent, st.Name)
			mend = Step{"then write `key: " + st.Wider + "` in stream " + st.Name + ", and start it over:", over}
			break
		}
		if st.Quarantined > 0 && st.Records > 0 {
			mend = Step{"then correct `map` in the connector file, or correct `key` and start the stream over:", over}
		}
	}
	p = quarantined.problem(sc)
	p.Headline = fmt.Sprintf("%s of %s could not be stored", words.Counted(n, "record", "records"), sc.Connector)
	p.Why = why
	p.Saved = "every other record; these are in quarantine, none dropped"
	p.Note = "a run that is sent such a record ends with 65. One leaves the quarantine when a sound one with its key is stored; one whose key is not known stays, until `collect prune --quarantine` removes it"
	p.Do = []Step{{"see which and why:", fmt.Sprintf("sqlite3 %s 'select reason, data from quarantine'", cmp.Or(sc.State, "STATE"))}, mend}
	return p, true
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

// full reports whether the disk is full, by the store or the operating system.
func full(err error) bool { return is(collection.ErrFull, syscall.ENOSPC, syscall.EDQUOT)(err) }

// Unreachable reports whether no request got as far as an answer: a stop for
// pressure, or as no retries are left, without a status.
func Unreachable(err error) bool {
	stop, ok := errors.AsType[*collection.Stop](err)
	return ok && (stop.Reason == collection.UpstreamPressure || stop.Reason == collection.RetryBudget && stop.Err != nil) && stop.Status == 0
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
