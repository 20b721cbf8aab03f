// Package doctor checks what a run needs: the configuration, the connectors, the
// database, the disk, the secrets, and whether anything starts a run.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/fleet"
	"collect/internal/process"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// A Config says what to look at.
type Config struct {
	Mistake    error // why there is no configuration; nil: there is one
	Registry   *registry.Registry
	Files      []string // that were read
	State      string   // path of the database
	StateNamed bool     // somebody named it; else it is the default place

	Env     func(string) string
	Meeting string // the folder where runs share their pace; "" for none
	Units   string // the folder of the user's own systemd units; "" for none
	Flags   string // what commands repeat
	Root    string // of the file system
	Now     time.Time
	Online  bool // ask the providers

	Version  map[string]string // collect, revision, go
	Harmless any               // what of the configuration a bundle may hold
}

// A finding is the result of one check.
type Finding struct {
	Mark Mark   `json:"state"`
	What string `json:"check"`
	Text string `json:"text"`
	Do   string `json:"do,omitempty"` // a command, or what to do

	Exit   int  `json:"-"` // the exit code of a broken one
	quotes bool // Text may quote a file that a person wrote
}

// A mark says how a check came out.
type Mark string

const (
	Well       Mark = "ok"
	Look       Mark = "warning"
	Broken     Mark = "problem"
	NotChecked Mark = "not_checked"
)

// Examine makes all checks. It changes nothing but what a request with Online
// teaches of an account.
func Examine(ctx context.Context, c Config) *Diagnosis {
	d := &Diagnosis{Config: c, secretFiles: map[string]bool{}}
	d.all(ctx)
	return d
}

// A diagnosis is one visit, and what it found.
type Diagnosis struct {
	Config

	unread   bool // there is a database, and what is in it is not known
	accounts []probed
	learned  map[string][]byte // of each account that a connector used last

	secretFiles map[string]bool // that other users can read, and that were said

	state  storage.Report
	care   report.Care
	cared  bool // care is known
	fleet  fleet.View
	served bool // there is, or was, a fleet
	salt   []byte
	runs   map[string]collection.Run // the newest of each connector
	recent []collection.Run          // of all
	events []collection.Event        // the newest of all, oldest first
	schema string

	Findings []Finding
}

// all makes the checks. One that fails does not keep the others from being
// made; without settings there is nothing more to look at.
func (d *Diagnosis) all(ctx context.Context) {
	if !d.checkConfig() {
		d.add(NotChecked, "state", "not checked: the configuration does not say which database")
		return
	}
	if d.checkState(ctx) {
		d.checkDisk()
	}
	d.checkCare()
	d.checkClock()
	d.checkConnectors(ctx)
	if d.Online {
		d.checkOnline(ctx)
	}
	d.checkLocks()
	d.checkEnds()
	d.checkWorkers()
	d.checkSchedule(ctx)
	library := ""
	if d.state.Library != "" {
		library = "SQLite " + d.state.Library + ", "
	}
	d.add(Well, "version", fmt.Sprintf("collect %s, %s%s", d.Version["collect"], library, d.Version["go"]))
}

func (d *Diagnosis) note(f Finding) {
	f.Text, f.Do = words.Clean(f.Text), words.Clean(f.Do)
	d.Findings = append(d.Findings, f)
}

func (d *Diagnosis) add(m Mark, what, text string) { d.note(Finding{Mark: m, What: what, Text: text}) }

// fail adds an error in the words that every command has for it.
func (d *Diagnosis) fail(what string, err error, sc problem.Scene) {
	sc.Flags = d.Flags
	p := problem.Of(err, sc)
	f := Finding{Mark: Broken, What: what, Text: p.Headline, Exit: p.ExitCode, quotes: what != "state"}
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

// Count returns how many findings have a mark.
func (d *Diagnosis) Count(m Mark) (n int64) {
	for _, f := range d.Findings {
		if f.Mark == m {
			n++
		}
	}
	return n
}

// Exit returns the code of the worst that is broken.
func (d *Diagnosis) Exit() int {
	var codes []int
	for _, f := range d.Findings {
		if f.Mark == Broken {
			codes = append(codes, f.Exit)
		}
	}
	return problem.Worst(codes...)
}

// A diagnosisJSON is what --json prints.
type Report struct {
	Checks   []Finding `json:"checks"`
	Problems int64     `json:"problems"`
	Warnings int64     `json:"warnings"`
	ExitCode int       `json:"exit_code"`
}

// Report returns what was found, for programs.
func (d *Diagnosis) Report() Report {
	return Report{d.Findings, d.Count(Broken), d.Count(Look), d.Exit()}
}

// checkConfig reads the settings. It reports whether there are any.
func (d *Diagnosis) checkConfig() bool {
	if d.Mistake != nil {
		d.fail("config", d.Mistake, problem.Scene{})
		return false
	}
	if len(d.Files) == 0 {
		d.add(Well, "config", "no collect.yaml: the built-in values apply")
		return true
	}
	var files []string
	for _, file := range d.Files {
		files = append(files, words.Home(file, d.Env))
	}
	verb := " is valid"
	if len(files) > 1 {
		verb = " are valid"
	}
	d.add(Well, "config", strings.Join(files, ", ")+verb)
	return true
}

// checkConnectors builds each connector that is configured, and each that was
// collected, as its next run will.
func (d *Diagnosis) checkConnectors(ctx context.Context) {
	names := slices.Collect(maps.Keys(d.Registry.Entries))
	for name := range d.runs {
		if _, configured := d.Registry.Entries[name]; !configured {
			names = append(names, name)
		}
	}
	used, all := map[string]bool{}, true
	for _, name := range slices.Sorted(slices.Values(names)) {
		if provider := d.checkConnector(ctx, name); provider != "" {
			used[provider] = true
		} else {
			all = false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Registry.Providers)) {
		if all && !used[name] { // a limit under a mistyped name has no effect
			d.note(Finding{Mark: Look, What: "provider " + name, Text: "no connector here uses what collect.yaml says of it",
				Do: "write it as the connector file does: provider: {name: …}, or else the connector's name"})
		}
	}
}

// checkConnector returns the name of the connector's provider, or "" if it
// cannot be built.
func (d *Diagnosis) checkConnector(ctx context.Context, name string) string {
	what := "connector " + name
	defer d.checkSecretFiles(ctx, name)
	target, err := d.Registry.Resolve(ctx, name, engine.ParamsOf(d.Registry, d.runs[name]))
	if remembered, ok := errors.AsType[*problem.RememberedError](err); ok {
		d.note(Finding{Mark: NotChecked, What: what, Text: "not checked: " + remembered.Error(), Do: remembered.Remedy(d.Flags), quotes: true})
		return ""
	}
	if err != nil {
		d.fail(what, err, problem.Scene{Connector: name})
		return ""
	}
	provider := target.Connector.Provider()
	d.noteAccount(name, target)
	d.add(Well, what, fmt.Sprintf("%s of %s", words.Counted(int64(len(target.Connector.Streams())), "stream", "streams"), provider.Name))
	if target.Discloses != "" {
		Mark := Well
		if strings.Contains(target.Discloses, registry.Unencrypted) {
			Mark = Look
		}
		d.note(Finding{Mark: Mark, What: "secrets " + name, Text: target.Discloses, quotes: true})
	}
	if ends, soon := provider.CertificateEnds(time.Now()); soon {
		d.add(Look, "certificate "+provider.Name, engine.CertificateEnds(ends))
	}
	if provider.Account() == "" {
		return provider.Name
	}
	token := "token " + provider.Name
	for _, one := range provider.Each() {
		text := "found in " + one.CredentialFrom
		if len(d.salt) > 0 {
			text += ", fingerprint " + problem.Fingerprint(d.salt, one.Account())
		}
		d.add(Well, token, text)
	}
	for _, left := range target.LeftOut {
		d.note(Finding{Mark: Look, What: token, Text: "takes no turn: " + left, Do: "put it there, or take it out of the list", quotes: true})
	}
	return provider.Name
}

// checkSecretFiles looks at each file that may hold a secret of a connector,
// also one that another place is asked instead of: what is in it may be the
// secret all the same.
func (d *Diagnosis) checkSecretFiles(ctx context.Context, name string) {
	_, spec, err := d.Registry.Find(ctx, name)
	if err != nil {
		return // it was said
	}
	for _, secret := range spec.Secrets() {
		places := append(secret.Each(), d.Registry.SecretSource(spec.ProviderName(), secret).Each()...)
		for _, place := range places {
			file := place.File
			path := userfile.Expand(file, d.Env)
			if file == "" || d.secretFiles[path] || !openToOthers(path) {
				continue
			}
			d.secretFiles[path] = true
			d.note(Finding{Mark: Look, What: "secret " + secret.Name, Text: "other users can read " + words.Home(path, d.Env), Do: "chmod 600 " + words.Quoted(path)})
		}
	}
}

// checkLocks says who collects now.
func (d *Diagnosis) checkLocks() {
	if d.unread {
		d.add(NotChecked, "lock", "not measured: the database cannot be read")
		return
	}
	held := false
	for _, name := range slices.Sorted(maps.Keys(d.runs)) {
		run := d.runs[name]
		if run.Outcome != collection.Running {
			continue
		}
		held = true
		who := fmt.Sprintf("%s: run %s, pid %d on %s", name, run.ID, run.Holder.PID, run.Holder.Host)
		switch {
		case process.Died(run):
			d.add(Well, "lock", who+", died; the next run takes over by itself")
		case d.Now.Sub(run.BeatAt) > silentAfter:
			d.add(Look, "lock", who+", last gave a sign of life "+words.Ago(run.BeatAt, d.Now))
		default:
			d.add(Well, "lock", who+", alive "+words.Ago(run.BeatAt, d.Now))
		}
	}
	if !held {
		d.add(Well, "lock", "no run is under way")
	}
}

// silentAfter is how long a run may say nothing before that is worth a look:
// it may wait for a provider, but it says so every few seconds.
const silentAfter = 10 * time.Minute

// checkEnds says which connectors' newest run an error ended, and which.
func (d *Diagnosis) checkEnds() {
	for _, name := range slices.Sorted(maps.Keys(d.runs)) {
		if why := report.BrokeWords(d.runs[name]); why != "" {
			d.note(Finding{Mark: Look, What: "last run", Text: fmt.Sprintf("%s failed %s: %s", name, words.Ago(d.runs[name].EndedAt, d.Now), why),
				Do: problem.Command("run-view", name, d.Flags)})
		}
	}
}

// checkWorkers says how the workers stand, where there are or were some.
func (d *Diagnosis) checkWorkers() {
	if !d.served {
		return
	}
	mark := Well
	if d.fleet.Alive() == 0 && len(d.fleet.Waits)+len(d.fleet.Schedules) > 0 {
		mark = Look
	}
	d.add(mark, "workers", d.fleet.Sentence())
}

// checkSchedule says whether anything starts a run.
func (d *Diagnosis) checkSchedule(ctx context.Context) {
	var last time.Time
	for _, run := range d.runs {
		if run.StartedAt.After(last) {
			last = run.StartedAt
		}
	}
	where := d.schedules(ctx)
	if n := int64(len(d.fleet.Schedules)); n > 0 {
		where = append(where, "`collect schedule list`, which has "+words.Counted(n, "connector", "connectors"))
	}
	switch {
	case len(where) > 0:
		d.add(Well, "schedule", "found in "+strings.Join(where, ", "))
	case d.unread:
		d.add(NotChecked, "schedule", "no timer or cron entry found; schedules of a fleet, and when the last run began, are not measured: the database cannot be read")
	case last.IsZero():
		d.add(NotChecked, "schedule", "no timer or cron entry found; nothing was collected yet")
	default:
		d.add(Look, "schedule", "no timer or cron entry found; the last run began "+words.Ago(last, d.Now)+". To make one: collect init --cron, or --systemd")
	}
}
