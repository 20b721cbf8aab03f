package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/internal/jsonout"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store/sqlite/salvage"
)

// Doctor checks what a run needs, and changes nothing but what a request of
// --online teaches of an account. Each check is one line:
// well, worth a look, broken, or not there to be checked.

// A finding is the result of one check.
type finding struct {
	Mark mark   `json:"state"`
	What string `json:"check"`
	Text string `json:"text"`
	Do   string `json:"do,omitempty"` // a command, or what to do

	exit   int  // the exit code of a broken one
	quotes bool // Text may quote a file that a person wrote
}

// A mark says how a check came out.
type mark string

const (
	well    mark = "ok"
	look    mark = "warning"
	broken  mark = "problem"
	nothing mark = "not_checked"
)

// glyphs stand before the words, which say the same.
var glyphs = map[mark]string{well: "✓", look: "!", broken: "×", nothing: "-"}

func (a *app) doctorCommand() *cobra.Command {
	var bundle string
	var online bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, the database and what else a run needs",
		Long: `Doctor checks the configuration, the connectors, the database with every
record in it, the disk, the secrets, who collects now, and whether anything
starts a run. It changes nothing and asks no provider. The exit code is 0
unless something is broken.

With --online it sends one request with each account, in the line of the runs
that use it, compares the clocks, and stores no record. What the answer says of
the account is kept for every run, as a run would: a wait, a freeze, the pace.
The request is not in the figures of any run. An account that a run of this
database uses now is not asked.

With --bundle it also writes what a report of a bug needs: the results, the
versions, the configuration without its values, the newest 200 events, and the
schema. No record, no secret and no cursor is in it.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), bundle, online) },
	}
	c.Flags().StringVar(&bundle, "bundle", "", "write what a report needs to this `file` (.tar.gz)")
	c.Flags().BoolVar(&online, "online", false, "also send one request with each account")
	return c
}

func (a *app) doctor(ctx context.Context, bundle string, online bool) error {
	d := &diagnosis{app: a, now: time.Now(), root: "/", online: online, secretFiles: map[string]bool{}}
	d.all(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a.flags.json {
		if err := jsonout.Print(a.out, d.report()); err != nil {
			return err
		}
	} else {
		fmt.Fprint(a.out, d.render(a.width(), a.caps()))
	}
	if bundle != "" {
		if err := d.bundle(bundle); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "bundle: %s\n", words.Home(bundle, a.env))
	}
	if code := d.exit(); code != problem.ExitOK {
		return &exitError{code}
	}
	return nil
}

// A diagnosis is one visit, and what it found.
type diagnosis struct {
	*app
	now  time.Time
	root string // of the file system: tests have one of their own

	online   bool // ask the providers
	unread   bool // there is a database, and what is in it is not known
	accounts []probed
	learned  map[string][]byte // of each account that a connector used last

	secretFiles map[string]bool // that other users can read, and that were said

	settings config.Settings
	state    salvage.Report
	salt     []byte
	runs     map[string]collection.Run // the newest of each connector
	recent   []collection.Run          // of all
	events   []collection.Event        // the newest of all, oldest first
	schema   string

	findings []finding
}

// all makes the checks. One that fails does not keep the others from being
// made; without settings there is nothing more to look at.
func (d *diagnosis) all(ctx context.Context) {
	if !d.checkConfig() {
		d.add(nothing, "state", "not checked: the configuration does not say which database")
		return
	}
	if d.checkState(ctx) {
		d.checkDisk()
	}
	d.checkClock()
	d.checkConnectors(ctx)
	if d.online {
		d.checkOnline(ctx)
	}
	d.checkLocks()
	d.checkSchedule(ctx)
	version, _, goVersion := build()
	d.add(well, "version", fmt.Sprintf("collect %s, SQLite %s, %s", version, d.state.Library, goVersion))
}

func (d *diagnosis) note(f finding) {
	f.Text, f.Do = words.Clean(f.Text), words.Clean(f.Do)
	d.findings = append(d.findings, f)
}

func (d *diagnosis) add(m mark, what, text string) { d.note(finding{Mark: m, What: what, Text: text}) }

// fail adds an error in the words that every command has for it.
func (d *diagnosis) fail(what string, err error, sc problem.Scene) {
	sc.Flags = d.repeat()
	p := problem.Of(err, sc)
	f := finding{Mark: broken, What: what, Text: p.Headline, exit: p.ExitCode, quotes: what != "state"}
	if p.Why != "" {
		f.Text += ": " + p.Why
	}
	if p.At != "" && !strings.Contains(f.Text, p.At) {
		f.Text = p.At + ": " + f.Text
	}
	if len(p.Do) > 0 {
		f.Do = strings.TrimSpace(p.Do[0].Say + " " + p.Do[0].Command)
	}
	d.note(f)
}

// count returns how many findings have a mark.
func (d *diagnosis) count(m mark) (n int64) {
	for _, f := range d.findings {
		if f.Mark == m {
			n++
		}
	}
	return n
}

// exit returns the code of the worst that is broken.
func (d *diagnosis) exit() int {
	var codes []int
	for _, f := range d.findings {
		if f.Mark == broken {
			codes = append(codes, f.exit)
		}
	}
	return problem.Worst(codes...)
}

// A diagnosisJSON is what --json prints.
type diagnosisJSON struct {
	Checks   []finding `json:"checks"`
	Problems int64     `json:"problems"`
	Warnings int64     `json:"warnings"`
	ExitCode int       `json:"exit_code"`
}

func (d *diagnosis) report() diagnosisJSON {
	return diagnosisJSON{d.findings, d.count(broken), d.count(look), d.exit()}
}

// render returns the findings for people.
func (d *diagnosis) render(limit int, c term.Caps) string {
	wide := 0
	for _, f := range d.findings {
		wide = max(wide, term.Width(f.What))
	}
	colors := map[mark]string{well: term.Green, look: term.Yellow, broken: term.Red}
	var b strings.Builder
	for _, f := range d.findings {
		text := f.Text
		if f.Do != "" {
			text += ". Do: " + f.Do
		}
		lead := " " + glyphs[f.Mark] + " " + term.Pad(f.What, wide, false) + "  "
		for i, line := range term.Wrap(lead, text, limit) {
			line = c.Text(line)
			if glyph := c.Text(glyphs[f.Mark]); i == 0 {
				line = " " + c.Paint(colors[f.Mark], glyph) + strings.TrimPrefix(line, " "+glyph)
			}
			b.WriteString(line + "\n")
		}
	}
	problems, warnings := d.count(broken), d.count(look)
	if problems+warnings == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s, %s.", words.Counted(problems, "problem", "problems"), words.Counted(warnings, "warning", "warnings"))
	if problems > 0 {
		b.WriteString("   For a report: collect doctor --bundle FILE" + d.repeat())
	}
	return b.String() + "\n"
}

// checkConfig reads the settings. It reports whether there are any.
func (d *diagnosis) checkConfig() bool {
	var err error
	if d.settings, err = d.app.settings(); err != nil {
		d.fail("config", err, problem.Scene{})
		return false
	}
	d.now = d.now.In(d.settings.Zone)
	if len(d.settings.Files) == 0 {
		d.add(well, "config", "no collect.yaml: the built-in values apply")
		return true
	}
	var files []string
	for _, file := range d.settings.Files {
		files = append(files, words.Home(file, d.env))
	}
	verb := " is valid"
	if len(files) > 1 {
		verb = " are valid"
	}
	d.add(well, "config", strings.Join(files, ", ")+verb)
	return true
}

// checkConnectors builds each connector that is configured, and each that was
// collected, as its next run will.
func (d *diagnosis) checkConnectors(ctx context.Context) {
	names := slices.Collect(maps.Keys(d.settings.Entries))
	for name := range d.runs {
		if _, configured := d.settings.Entries[name]; !configured {
			names = append(names, name)
		}
	}
	used, all := map[string]bool{}, true
	for _, name := range sorted(names) {
		if provider := d.checkConnector(ctx, name); provider != "" {
			used[provider] = true
		} else {
			all = false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.settings.Providers)) {
		if all && !used[name] { // a limit under a mistyped name limits nobody
			d.note(finding{Mark: look, What: "provider " + name, Text: "no connector here uses what collect.yaml says of it",
				Do: "write it as the connector file does: provider: {name: …}, or else the connector's name"})
		}
	}
}

// checkConnector returns the name of the connector's provider, or "" if it
// cannot be built.
func (d *diagnosis) checkConnector(ctx context.Context, name string) string {
	what := "connector " + name
	defer d.checkSecretFiles(ctx, name)
	target, err := d.settings.Resolve(ctx, name, engine.ParamsOf(&d.settings.Registry, d.runs[name]))
	if remembered, ok := errors.AsType[*problem.RememberedError](err); ok {
		d.note(finding{Mark: nothing, What: what, Text: "not checked: " + remembered.Error(), Do: remembered.Remedy(d.repeat()), quotes: true})
		return ""
	}
	if err != nil {
		d.fail(what, err, problem.Scene{Connector: name})
		return ""
	}
	provider := target.Connector.Provider()
	d.noteAccount(name, target)
	d.add(well, what, fmt.Sprintf("%s of %s", words.Counted(int64(len(target.Connector.Streams())), "stream", "streams"), provider.Name))
	if target.Discloses != "" {
		mark := well
		if strings.Contains(target.Discloses, registry.Unencrypted) {
			mark = look
		}
		d.note(finding{Mark: mark, What: "secrets " + name, Text: target.Discloses, quotes: true})
	}
	if provider.Credential == "" {
		return provider.Name
	}
	token := "token " + provider.Name
	text := "found in " + provider.CredentialFrom
	if len(d.salt) > 0 {
		text += ", fingerprint " + problem.Fingerprint(d.salt, provider.Credential)
	}
	d.add(well, token, text)
	return provider.Name
}

// checkSecretFiles looks at each file that may hold a secret of a connector,
// also one that another place is asked instead of: what is in it may be the
// secret all the same.
func (d *diagnosis) checkSecretFiles(ctx context.Context, name string) {
	_, spec, err := d.settings.Find(ctx, name)
	if err != nil {
		return // it was said
	}
	for _, secret := range spec.Secrets() {
		for _, file := range []string{secret.File, d.settings.SecretSource(spec.ProviderName(), secret).File} {
			path := userfile.Expand(file, d.env)
			if file == "" || d.secretFiles[path] || !openToOthers(path) {
				continue
			}
			d.secretFiles[path] = true
			d.note(finding{Mark: look, What: "secret " + secret.Name, Text: "other users can read " + words.Home(path, d.env), Do: "chmod 600 " + words.Quoted(path)})
		}
	}
}

// checkLocks says who collects now.
func (d *diagnosis) checkLocks() {
	held := false
	for _, name := range sortedKeys(d.runs) {
		run := d.runs[name]
		if run.Outcome != collection.Running {
			continue
		}
		held = true
		who := fmt.Sprintf("%s: run %s, pid %d on %s", name, run.ID, run.Holder.PID, run.Holder.Host)
		switch {
		case engine.Died(run):
			d.add(well, "lock", who+", died; the next run takes over by itself")
		case d.now.Sub(run.BeatAt) > silentAfter:
			d.add(look, "lock", who+", last gave a sign of life "+words.Ago(run.BeatAt, d.now))
		default:
			d.add(well, "lock", who+", alive "+words.Ago(run.BeatAt, d.now))
		}
	}
	if !held {
		d.add(well, "lock", "no run is under way")
	}
}

// silentAfter is how long a run may say nothing before that is worth a look:
// it may wait for a provider, but it says so every few seconds.
const silentAfter = 10 * time.Minute

// checkSchedule says whether anything starts a run.
func (d *diagnosis) checkSchedule(ctx context.Context) {
	var last time.Time
	for _, run := range d.runs {
		last = latest(last, run.StartedAt)
	}
	switch where := d.schedules(ctx); {
	case len(where) > 0:
		d.add(well, "schedule", "found in "+strings.Join(where, ", "))
	case last.IsZero():
		d.add(nothing, "schedule", "no timer or cron entry found; nothing was collected yet")
	default:
		d.add(look, "schedule", "no timer or cron entry found; the last run began "+words.Ago(last, d.now))
	}
}
