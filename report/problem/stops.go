package problem

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/oauth2"
	"collect/internal/lazy"
	"collect/internal/tokenfile"
	"collect/internal/words"
	"collect/store"
)

// stopIn returns the stop that err holds; nil if there is none.
func stopIn(err error) *collection.Stop {
	stop, _ := errors.AsType[*collection.Stop](err)
	return stop
}

// answered returns " (403)", or "" without a status.
func answered(stop *collection.Stop) string {
	if stop.Status == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d)", stop.Status)
}

// met fills in what is so of every stop: where and why, and what is safe.
// Headline is a format for the provider and the status.
func (p *Problem) met(headline string, err error, sc Scene) {
	stop := stopIn(err)
	p.Headline = fmt.Sprintf(headline, sc.Provider, answered(stop))
	p.At, p.Why, p.Saved = sc.place(), stop.Detail, sc.saved()
}

func writeBug(p *Problem, err error, sc Scene) {
	p.Headline = "collect has a bug: " + err.Error()
	p.Saved = "everything that was committed; the slice in flight will replay"
	p.Do = []Step{{"report it with the file that this writes, which holds no records and no tokens:", "collect doctor --bundle report.tar.gz" + sc.Flags}}
}

func writeHeld(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*store.HeldError](err)
	run := e.Run
	p.Headline = fmt.Sprintf("%s is being collected by another run", cmp.Or(sc.Connector, run.Connector))
	if run.ID == "" { // who has it signs no lease
		p.Headline = cmp.Or(sc.Connector, run.Connector) + " is held by an order, or by a copy of the database"
		p.Saved = "nothing was changed"
		p.Do = []Step{{Say: "try again when that is done"}}
		return
	}
	p.By = fmt.Sprintf("run %s, pid %d on %s, started %s", run.ID, run.Holder.PID, run.Holder.Host, words.Ago(run.StartedAt, sc.Now))
	if !run.BeatAt.IsZero() {
		p.By += ", alive " + words.Ago(run.BeatAt, sc.Now)
	}
	p.Do = []Step{{Say: "nothing; your schedule can simply try again later"}}
	if sc.ByHand {
		p.Saved = "nothing was changed"
		p.Do = []Step{
			{"wait for its end, or end it, wherever it is, with the page in flight:", "collect pause " + run.Connector + sc.Flags + " --reason WHY"},
			{"then give the command again, and let runs begin again:", "collect unpause " + run.Connector + sc.Flags + " --reason WHY"},
		}
	}
}

func writePaused(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*PausedError](err)
	p.Headline = fmt.Sprintf("%s is paused, so no run of it begins", e.Connector)
	p.By = fmt.Sprintf("%s, %s (%s)", e.Pause.Who, words.At(e.Pause.At, sc.Now), words.Ago(e.Pause.At, sc.Now))
	p.Why = e.Pause.Why
	p.Saved = "everything that was committed; nothing was started"
	if sc.Ended {
		p.Headline = fmt.Sprintf("%s was paused, so this run stopped", e.Connector)
		p.Saved = sc.saved()
	}
	p.Do = []Step{{"to let it run again:", "collect unpause " + e.Connector + sc.Flags + " --reason WHY"}}
}

func writeBusy(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*BusyError](err)
	run := e.Run
	p.Headline = fmt.Sprintf("a run of %s uses this account, and cannot be told of the order", run.Connector)
	p.By = fmt.Sprintf("run %s, pid %d on %s; %s", run.ID, run.Holder.PID, run.Holder.Host, cmp.Or(e.Why, "it cannot be told"))
	p.Saved = "nothing was changed"
	p.Do = []Step{
		{"stop it; it saves the page in flight:", fmt.Sprintf("kill -INT %d", run.Holder.PID)},
		{Say: "then give the order again"},
	}
}

func writeStale(p *Problem, _ error, sc Scene) {
	p.Headline = "the state has changed since you looked at it, by the provider or by another operator"
	p.Why = "a release is for the state that you saw, and for no later one"
	p.Saved = "nothing was changed"
	p.Do = []Step{
		{"look at it again:", "collect explain " + cmp.Or(sc.Connector, "NAME") + sc.Flags},
		{Say: "then give the order again, if it still is what you want"},
	}
}

func writeOutput(p *Problem, err error, sc Scene) {
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		dir := filepath.Dir(path.Path)
		p.Headline = "the output cannot be written: there is no folder " + dir
		p.Saved = "everything; the database was not changed"
		p.Do = []Step{{"make it:", "mkdir -p " + words.Quoted(dir)}, {Say: "or name a file in another folder, and give the command again"}}
		return
	}
	text := PlainText(err)
	p.Saved = "everything; the database was not changed"
	p.Do = []Step{{Say: "name another file, or see to its folder and its disk; then give the command again"}}
	if full(err) {
		if where, _, ok := strings.Cut(text, noSpace); ok { // what follows is in the words of SQLite
			text = where + noSpace
		}
		p.Do = []Step{{Say: "free some space or name another file, and give the command again"}}
	}
	p.Headline = "the output cannot be written: " + text
	if sc.Run.ID != "" {
		p.Saved = sc.saved() + ". Only the output is incomplete"
	}
}

// noSpace is how a full disk is called, by us and by Unix.
const noSpace = "no space left"

func writeFenced(p *Problem, _ error, sc Scene) {
	p.Headline = fmt.Sprintf("another process took %s over, so this run stopped", sc.Connector)
	p.Saved = sc.saved()
	p.Do = []Step{{"nothing; see who runs it:", sc.command("status")}}
}

func writeUnknownCommit(p *Problem, _ error, sc Scene) {
	p.Headline = "the database does not say whether the last slice was saved"
	p.At = sc.place()
	p.Saved = sc.saved() + ". The next run reads the checkpoint first"
	p.Do = []Step{sc.resume("check the disk, then:")}
}

func writeAuth(p *Problem, err error, sc Scene) {
	if stopIn(err).Status == http.StatusProxyAuthRequired {
		p.Headline = fmt.Sprintf("the proxy on the way to %s asks for a user and a password (407)", sc.Provider)
		p.At = sc.place()
		p.Saved = sc.saved()
		p.Do = []Step{{Say: "put them into HTTP_PROXY or HTTPS_PROXY, before the host"}, sc.resume("then:")}
		return
	}
	p.met("%s rejected the credential%s", err, sc)
	if errors.Is(err, collection.ErrClientCertificate) {
		p.met("%s does not accept this client%s", err, sc)
		p.Token = sc.token()
		p.Do = []Step{{Say: "see to `provider.tls` in the connector file: `certificate` and `key` are secrets, which have to be there and be valid, and a `certificate` is followed by those of the authorities between"}, sc.resume("then:")}
		return
	}
	if one, ok := errors.AsType[*collection.OneAccountError](err); ok {
		sc.Credential, sc.Mark = one.From, ""
		p.Note = "`turns: walk` binds these walks to that token: they are owed, and the others went on"
	}
	p.Do = []Step{{Say: "put a valid one there"}, sc.resume("then:")}
	if p.Token = sc.token(); p.Token == "" {
		p.met("%s asks for a credential%s, and the connector sends none", err, sc)
		p.Do[0].Say = "say which it sends, in the connector file: `auth` under `provider`"
	}
}

func writeProbe(p *Problem, err error, sc Scene) {
	stop := stopIn(err)
	p.Headline = sc.Provider + " does not answer the probe as it would the right account"
	p.At = sc.place()
	p.Why = stop.Detail + ": without the right account it may show fewer records, which would pass for all of them"
	p.Token = sc.token()
	p.Saved = sc.saved()
	p.Do = []Step{{Say: "put a valid one there, or correct `probe` in the connector file"}, sc.resume("then:")}
}

func writeNoToken(p *Problem, err error, sc Scene) {
	p.met("%s grants no access token%s", err, sc)
	p.Token = "from " + sc.Credential
	if errors.Is(err, oauth2.ErrSignIn) {
		p.Do = []Step{{"sign in again, or correct the client id and secret:", sc.command("auth login")}, sc.resume("then:")}
		return
	}
	p.Do = []Step{{Say: "sign in again at " + sc.Provider + ", or correct the client id and secret, and put the new token there"}, sc.resume("then:")}
}

func writeSignIn(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*oauth2.SignInError](err)
	p.Headline = "the provider was asked for a token, and there is none: " + e.Detail
	p.Saved = "nothing was changed"
	p.Do = []Step{{"look at `oauth2` in the connector file and at the app that you registered there; then try again:", sc.command("auth login")}}
}

func writeNoSession(p *Problem, err error, sc Scene) {
	p.met("%s opens no session%s", err, sc)
	p.Token = "from " + sc.Credential
	p.Do = []Step{{Say: "correct the user or the password there; a few wrong logins may lock the account, so try them at " + sc.Provider + " first"}, sc.resume("then:")}
}

func writeTokenFile(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*tokenfile.Error](err)
	p.Headline = e.Error()
	p.At = e.Path
	p.Saved = sc.saved()
	p.Do = []Step{{Say: "see to the file, its folder and its disk"}, sc.resume("then:")}
	if e.Spent {
		p.Why = sc.Provider + " has replaced the old one, and may no longer accept it"
		p.Do = append(p.Do, Step{Say: "if it is refused: sign in again, and put the new refresh token there"})
	}
}

func writeTokenBusy(p *Problem, err error, sc Scene) {
	p.Headline = tokenfile.ErrBusy.Error()
	p.At = sc.place()
	p.Saved = sc.saved()
	p.Do = []Step{{"see who runs:", sc.command("status")}, sc.resume("then:")}
}

// RecordRule is what to write where a 403 is about single records.
const RecordRule = "`on_403: gap` under `provider:`, or `on: [{status: [403], verdict: gap}]` in the stream"

// FastRule is what to write where a 403 says that requests come too fast.
const FastRule = "`throttle: [{status: [403]}]` under `provider:`"

// Rules403 says what to write for a 403 that is not about the account: the likelier first.
const Rules403 = "If the 403 is how the provider says too fast, declare in the connector file: " + FastRule + ". If it is only about some records: " + RecordRule

// goneRule is what to write where single records are usually refused.
const goneRule = "`on: [{status: [403], verdict: gone}]`"

func writeFrozen(p *Problem, err error, sc Scene) {
	stop := stopIn(err)
	p.Headline = fmt.Sprintf("%s answered %d, so collect stopped all calls to it", sc.Provider, stop.Status)
	p.At = sc.place()
	p.Why = "a 403 can mean a ban. Going on could make it permanent"
	switch {
	case stop.Status == 0: // it was frozen before
		p.Headline = fmt.Sprintf("%s is frozen: no call to it leaves", sc.Provider)
		p.Why = stop.Detail
	case stop.Status != http.StatusForbidden:
		p.Why = stop.Detail + ". Going on could lead to a ban"
	}
	if stop.Status == http.StatusForbidden && stop.Detail != "" {
		p.Note = stop.Detail
	}
	p.Saved = sc.saved()
	p.Do = []Step{{Say: "check the account at " + sc.Provider}}
	if stop.Status == http.StatusForbidden {
		if errors.Is(err, collection.ErrAfterMany) {
			p.Why += ". It came after many good answers, so it may say \"too fast\""
			p.Do = append(p.Do, Step{Say: "or, if it is how the provider says too fast, under `provider:` in the connector file: `throttle: [{status: [403]}]`"})
		}
		p.Do = append(p.Do, Step{Say: "or, if it is only about some records, under `provider:` in the connector file: `on_403: gap`"})
	}
	p.Do = append(p.Do, sc.release("checked the account"))
	if stop.Status == 0 { // said above is who or what froze it
		p.Do = []Step{{Say: "settle with " + sc.Provider + ", or with the operator, what froze it"}, {"then:", sc.command("freeze release") + " --reason WHY"}}
	}
	if !stop.NotBefore.IsZero() {
		p.Next = "one test request may leave after " + words.At(stop.NotBefore, sc.Now)
	}
}

func writeSuspended(p *Problem, err error, sc Scene) {
	p.met("%s says that this account is suspended%s", err, sc)
	p.Saved += ". All calls are stopped, schedules too"
	p.Do = []Step{{Say: "settle it with " + sc.Provider}, sc.release("support ticket")}
}

func writeDrift(p *Problem, err error, sc Scene) {
	p.Headline = fmt.Sprintf("%s changed the shape of its records", sc.Provider)
	if sc.Stream != "" {
		p.Headline = fmt.Sprintf("%s changed the shape of `%s`", sc.Provider, sc.Stream)
	}
	p.At = sc.place()
	p.Why = stopIn(err).Detail
	p.Saved = sc.savedBut("the page is kept as a gap")
	if held := stopIn(err).Held; held != nil {
		n := words.Counted(int64(len(held.Records)), "record", "records")
		p.Saved = sc.savedBut("the page is kept as a gap, and its " + n + " in quarantine, none dropped")
	}
	p.Do = []Step{{"look:", sc.command("gaps")}}
	if errors.Is(err, collection.ErrContradicted) { // what came was taken, and what did not come is more than half
		p.Headline = fmt.Sprintf("%s has lost most of a list, in two passes", sc.Provider)
		p.Saved = sc.saved() + "; nothing was marked as deleted"
		if sc.Partition != "" { // what the lists before it lacked was no more than half yet
			p.Headline = fmt.Sprintf("%s has lost most of a stream, in two passes", sc.Provider)
			p.Saved += " in this list"
		}
	}
	if errors.Is(err, collection.ErrDeclared) { // `expect` asks for it, whatever is accepted
		p.Do = append(p.Do, sc.resume("correct `expect` in the connector file if this is right, then:"))
		return
	}
	if _, unmade := sc.Partition.Unmade(); !unmade && sc.Stream != "" { // of a parent no partition can be made, whatever is accepted
		drift, _ := errors.AsType[*collection.SchemaDriftError](err)
		p.Do = append(p.Do, Step{"if it is right:", AcceptCommand(sc, drift)}, sc.resume("then:"))
	}
}

func writeBadPage(p *Problem, err error, sc Scene) {
	stop := stopIn(err)
	p.met("a page of %s is not what the connector expects%s", err, sc)
	p.Saved = sc.savedBut("the page is kept as a gap")
	p.Do = []Step{{"look:", sc.command("gaps")}, sc.resume("after correcting the connector file:")}
	switch stop.Status {
	case http.StatusBadRequest, http.StatusRequestedRangeNotSatisfiable, http.StatusUnprocessableEntity:
		switch {
		case errors.Is(err, collection.ErrWindow):
			p.Note = "it is the first page of a window of time: the provider may want the times otherwise (`format` of `windows`), in other parameters, or a smaller `step`"
		case errors.Is(err, collection.ErrCursorRefused):
			p.Do = append(p.Do, Step{Say: fmt.Sprintf("if it no longer knows the place (a cursor that expired, or with `last_id` a record that was deleted), give the stream: on: [{status: [%d], body: %s, verdict: gone}]; the walk then begins anew", stop.Status, testOf(stop))})
		case sc.Stands && !sc.Nothing: // some refuse the page behind their last one
			p.Do = append(p.Do, Step{Say: fmt.Sprintf("if the list ends before this page, give the stream: on: [{status: [%d], body: %s, verdict: ok}]", stop.Status, testOf(stop))})
		}
	}
	refused := stop.Status == http.StatusBadRequest || stop.Status == http.StatusUnprocessableEntity
	if n := sc.Run.Tally.Stored(); refused && sc.Stands && !sc.Nothing && p.Note == "" && (n == 0 || n >= 1000) {
		p.Note = "some providers refuse all behind the first 1,000 or 10,000 records of a list: `windows` with a `cap`, or `since` with `order: asc`, reads the rest"
	}
	if errors.Is(err, collection.ErrContradicted) {
		p.Headline = fmt.Sprintf("a list of %s did not come whole, in two passes", sc.Provider)
		p.Saved = sc.saved() + "; the list is not complete"
		p.Do = []Step{sc.resume("correct the connector file if it is at fault, then:"), {"see what was counted:", sc.command("status")}}
	}
}

func writeListChanged(p *Problem, err error, sc Scene) {
	p.Headline = fmt.Sprintf("a list of %s changed while it was read, in two passes", sc.Provider)
	p.At = sc.place()
	p.Why = stopIn(err).Detail
	p.Saved = sc.saved() + "; the list is not complete"
	p.Do = []Step{
		sc.resume("nothing; the next run reads it again:"),
		{"if each run ends so, read it at a quieter hour, or with more time; see what was counted:", sc.command("status")},
	}
}

// testOf returns a test of the body that tells a refusal from others with the same
// status: by its code, where what it said begins with one.
func testOf(stop *collection.Stop) string {
	if said := coded().FindStringSubmatch(stop.Detail); said != nil && stop.CodeAt != "" {
		return fmt.Sprintf(`'%s == "%s"'`, stop.CodeAt, said[1])
	}
	return "TEST"
}

var coded = lazy.Regexp(`^it said: ([A-Za-z][\w.-]*): `)

func writeUnlisted(p *Problem, err error, sc Scene) {
	unlisted, _ := errors.AsType[*collection.UnlistedError](err)
	p.Headline = fmt.Sprintf("%s leads to another origin, and was not followed", sc.Provider)
	p.At = sc.place()
	p.Why = unlisted.Error()
	p.Saved = sc.savedBut("the page is kept as a gap")
	if unlisted.Origin == "" {
		p.Do = []Step{{"look:", sc.command("gaps")}}
		return
	}
	p.Why = fmt.Sprintf("a link, a redirect or a record names %s, which the connector file does not list. Another party may answer there, or one that shows less without the token", unlisted.Origin)
	p.Do = []Step{
		{Say: fmt.Sprintf("if it is %s's, under `provider:` in the connector file: %s", sc.Provider, unlisted.Line())},
		sc.resume("then:"),
	}
}

func writeCursor(p *Problem, err error, sc Scene) {
	p.met("%s no longer accepts its own cursor%s", err, sc)
	p.Note = "this run has started the walk over once already; starting over repeats requests, and stores no record twice"
	p.Do = []Step{sc.resume("to start over once more:")}
}

// piece returns what writes of a piece that cannot be had. Headline is a format
// for the provider, the piece and the status.
func piece(headline string) func(*Problem, error, Scene) {
	return func(p *Problem, err error, sc Scene) {
		stop := stopIn(err)
		p.Headline = fmt.Sprintf(headline, sc.Provider, sc.pieces(), answered(stop))
		p.At = sc.place()
		p.Why = stop.Detail
		pieces := "the missing piece is kept as a gap"
		if sc.Pieces > 1 {
			pieces = "the missing pieces are kept as gaps"
		}
		p.Saved = sc.savedBut(pieces)
		p.Do = []Step{{"look:", sc.command("gaps")}}
		list := stop.Reason == collection.NotFound && sc.Partition == ""
		if !stop.Reason.Settled() && !list {
			p.Do = append(p.Do, Step{"when it is settled:", RetryCommand(sc.Connector, sc.Flags)})
		}
		switch {
		case sc.Stands && !list && stop.Reason != collection.TooLarge:
			p.Note = "none of them could be had: look at the stream's `get` in the connector file, and at what the account may see"
		case stop.Reason == collection.Forbidden && errors.Is(err, collection.ErrDeclared):
			p.Note = "a rule of the connector file (`verdict: gap`) keeps it owed; if that is usual for this stream, let the rule say `verdict: gone`, which is shown and not owed"
		case stop.Reason == collection.Forbidden:
			p.Note = "if that is usual for this stream, declare it: " + goneRule + ", which is shown and not owed"
		case stop.Reason != collection.NotFound:
		case list && errors.Is(err, collection.ErrGapDeclared):
			p.Do = append(p.Do, sc.resume("when it is settled:"))
			p.Note = "a rule of the connector file (`verdict: gap`) keeps it owed; if nothing is there, let the rule say `verdict: ok`, which is an empty page"
		case list:
			p.Do = append(p.Do, sc.resume("after correcting the connector file:"))
			p.Note = "it is the whole list: look at `base_url` and at the stream's `get` in the connector file"
		default:
			p.Note = "if that is usual for this provider, declare it: `on: [{status: [404], verdict: gone}]`"
		}
	}
}

func writeBreaker(p *Problem, err error, sc Scene) {
	stop := stopIn(err)
	p.Headline = fmt.Sprintf("the breaker for %s is open", sc.Provider)
	p.Why = stop.Detail
	p.Saved = sc.saved()
	if stop.NotBefore.IsZero() { // no time ends it
		p.Needs = NeedsOperator
		p.Do = []Step{{"when it may go on:", sc.command("breaker release") + " --reason WHY"}}
		return
	}
	p.Do = []Step{{Say: "nothing; one test call goes out at " + words.At(stop.NotBefore, sc.Now)}}
}

func writeLongWait(p *Problem, err error, sc Scene) {
	stop := stopIn(err)
	p.Headline = fmt.Sprintf("%s must be left alone for longer than this run may wait%s", sc.Provider, answered(stop))
	p.At, p.Why = sc.place(), stop.Detail
	p.Saved = sc.saved()
	p.Do = []Step{{Say: "nothing; your schedule can simply try again later"},
		{"or, if it has granted more since, let one request ask:", sc.command("freeze release") + " --reason WHY"}}
	if !stop.NotBefore.IsZero() {
		p.Next = fmt.Sprintf("no request leaves before %s, in %s", words.At(stop.NotBefore, sc.Now), words.Span(stop.NotBefore.Sub(sc.Now).Round(time.Second)))
	}
}

func writeUnreachable(p *Problem, err error, sc Scene) {
	p.Headline = fmt.Sprintf("%s is not reachable", sc.Provider)
	p.At = sc.place()
	p.Why = obstacle(err)
	if sc.Address != "" {
		p.Note = "it is asked at " + sc.Address
	}
	p.Saved = sc.saved()
	p.Do = []Step{sc.resume("check the network and the connector's base_url, then:")}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		p.Needs, p.Retryable = NeedsOperator, false
		p.Do = []Step{
			{Say: "if a proxy or an authority of your own signs it: name its certificates in `provider.tls.ca` of the connector file, or in SSL_CERT_FILE; else " + sc.Provider + " must renew it"},
			sc.resume("then:"),
		}
	}
}

// pressed returns what writes of a provider that gave nothing, whatever was tried.
func pressed(headline string) func(*Problem, error, Scene) {
	return func(p *Problem, err error, sc Scene) {
		p.met(headline, err, sc)
		p.Next = "the missing piece is kept as a gap; a later run fills it"
	}
}

func writeNoRetries(p *Problem, err error, sc Scene) {
	pressed("%s failed%s, and the run had no retries left")(p, err, sc)
	p.Note = "a run may repeat 50 requests that failed or were refused, or a fifth of its request cap if it has one, and every 5 that succeed give one back"
}

func writeQuota(p *Problem, err error, sc Scene) {
	why := "the provider's quota is used up"
	p.Next = "the run after it is renewed continues by itself"
	p.Saved = sc.saved()
	if stop := stopIn(err); stop != nil && !stop.NotBefore.IsZero() {
		why = cmp.Or(stop.Detail, why)
		p.Next = fmt.Sprintf("no request leaves before %s; the next run after it continues by itself", words.At(stop.NotBefore, sc.Now))
	}
	p.Headline = fmt.Sprintf("%s paused: %s", sc.Connector, why)
}

func writeRequestCap(p *Problem, err error, sc Scene) {
	p.Headline = fmt.Sprintf("%s reached its request cap", sc.Connector)
	stop := stopIn(err)
	if stop != nil && stop.Detail != "" && !stop.NotBefore.IsZero() { // of a ceiling, and not of this run
		p.Headline = fmt.Sprintf("%s paused: %s", sc.Connector, stop.Detail)
		p.Saved = sc.saved()
		p.Next = fmt.Sprintf("no request leaves before %s; the next run after it continues by itself", words.At(stop.NotBefore, sc.Now))
		return
	}
	if sc.RequestCap > 0 {
		p.Headline += fmt.Sprintf(" (%s of %s)", words.Count(min(sc.Run.Tally.Requests, sc.RequestCap)), words.Count(sc.RequestCap))
	}
	p.Saved = sc.saved()
	p.Next = "the rest is planned work; the next run continues by itself"
}

func writeWallClock(p *Problem, err error, sc Scene) {
	p.Headline = fmt.Sprintf("%s reached its time limit", sc.Connector)
	if sc.MaxTime > 0 {
		p.Headline += fmt.Sprintf(" (%s)", words.Span(sc.MaxTime))
	}
	p.Saved = sc.saved()
	p.Next = "the next run continues by itself"
	if stop := stopIn(err); stop != nil && !stop.NotBefore.IsZero() {
		p.Why = stop.Detail
		p.Next = fmt.Sprintf("no request leaves before %s; a run after that continues by itself", words.At(stop.NotBefore, sc.Now))
	}
}

func writeInterrupted(p *Problem, _ error, sc Scene) {
	if sc.Connector == "" || sc.ByHand { // no run: a wizard, a question
		p.Headline = cmp.Or(sc.Command, "collect") + " was interrupted"
		if sc.Again != "" {
			p.Saved, p.Do = sc.saved(), []Step{sc.resume("to go on:")}
		}
		return
	}
	p.Headline = sc.Connector + " was interrupted"
	p.Saved = sc.saved()
	p.Do = []Step{sc.resume("")}
}

func writeOther(p *Problem, err error, sc Scene) {
	p.Headline = PlainText(err)
	p.At = sc.place()
	if sc.Run.ID != "" {
		p.Saved = sc.saved()
		p.Do = []Step{sc.resume("")}
	}
}
