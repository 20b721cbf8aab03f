package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"collect/collection"
	"collect/engine/storage"
	"collect/fleet"
	"collect/internal/freespace"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// checkState examines the database and reads what the other checks need of
// it. It reports whether there is a file, whose
// disk can be full.
func (d *Diagnosis) checkState(ctx context.Context) bool {
	path := d.State
	sc := problem.Scene{State: path}
	file, ok := storage.FileOf(path)
	if !ok {
		if err := d.read(ctx); err != nil {
			d.unread = !errors.Is(err, store.ErrMissing)
			d.fail("state", err, sc)
			return false
		}
		d.add(Well, "state", words.Clean(path)+" answers, and its tables are of this version; the server's own tools examine and back it up")
		return false
	}
	d.checkBeside(path)
	var err error
	d.state, err = file.Examine(ctx)
	switch {
	case errors.Is(err, store.ErrMissing) && !d.StateNamed && !problem.CopyBegun(err):
		d.add(NotChecked, "state", "there is no database yet: the first run makes "+words.Home(path, d.Env))
		return false
	case errors.Is(err, store.ErrOlder):
		d.add(Look, "state", words.Home(path, d.Env)+" was made by an older version: the next run upgrades it")
		return true
	case err != nil:
		d.unread = !errors.Is(err, store.ErrMissing)
		if ctx.Err() == nil {
			d.fail("state", err, sc)
		}
		return false
	}
	for i, damage := range d.state.Problems {
		if i == problemsShown {
			d.note(Finding{Mark: Broken, What: "state", Text: fmt.Sprintf("and %d more", len(d.state.Problems)-i), Exit: problem.ExitStorage})
			break
		}
		f := Finding{Mark: Broken, What: "state", Text: "damaged: " + damage, Exit: problem.ExitStorage}
		if i == 0 {
			f.Text = words.Home(path, d.Env) + " is " + f.Text
			f.Do = "collect restore FILE" + d.Flags + " --reason WHY, or collect export NAME STREAM --salvage" + d.Flags
		}
		d.note(f)
	}
	if len(d.state.Problems) == 0 {
		text := fmt.Sprintf("%s, %s, schema %d, %s, every one checked", words.Home(path, d.Env), words.Size(d.state.Size),
			d.state.Schema, words.Counted(d.state.Records, "record", "records"))
		if d.state.Log > 0 {
			text += fmt.Sprintf("; %s not merged yet", words.Size(d.state.Log))
		}
		d.add(Well, "state", text)
	}
	d.checkLibrary()
	if openToOthers(path) {
		d.note(Finding{Mark: Look, What: "state", Text: "other users can read the database", Do: "chmod 600 " + words.Quoted(path)})
	}
	d.unread = d.read(ctx) != nil // what keeps it from being opened was said
	return true
}

// checkBeside looks at the files that the users of the database share: one that
// was left by another user, or by a run that might not write, keeps every later
// run from writing.
func (d *Diagnosis) checkBeside(path string) {
	main, err := os.Stat(path)
	if err != nil {
		return
	}
	for _, end := range []string{"-wal", "-shm"} {
		info, err := os.Lstat(path + end)
		switch {
		case err != nil:
			continue
		case !info.Mode().IsRegular():
			err = errors.New("is not a regular file")
		case userfile.OwnerOf(info) != userfile.OwnerOf(main):
			err = errors.New("has another owner than the database")
		case info.Mode().Perm()&0o200 == 0 && main.Mode().Perm()&0o200 != 0:
			err = fmt.Errorf("has the mode %#o, so that no run can write to it", info.Mode().Perm())
		default:
			continue
		}
		d.note(Finding{Mark: Broken, What: "state", Text: words.Home(path+end, d.Env) + " " + err.Error(), Exit: problem.ExitStorage,
			Do: "when no run uses the database: give the file the owner and the mode of the database; do not delete a -wal, which holds commits"})
	}
}

// problemsShown is how many kinds of damage a person is shown; the bundle and
// --json have all.
const problemsShown = 5

// checkLibrary refuses a SQLite that can lose commits when its log begins anew
// while a reader merges it: that was mended in 3.51.3.
func (d *Diagnosis) checkLibrary() {
	var major, minor, patch int
	_, err := fmt.Sscanf(d.state.Library, "%d.%d.%d", &major, &minor, &patch)
	have := []int{major, minor, patch}
	if err != nil || slices.Compare(have, []int{3, 51, 3}) < 0 {
		text := fmt.Sprintf("SQLite %s can lose commits", d.state.Library)
		d.note(Finding{Mark: Broken, What: "sqlite", Text: text, Do: "install a build with SQLite 3.51.3 or newer", Exit: problem.ExitBug})
	}
}

// read takes what the other checks need out of the database. Of a damaged one
// it takes what it can: what is damaged was said. The error is that of opening it.
func (d *Diagnosis) read(ctx context.Context) error {
	d.runs, d.learned = map[string]collection.Run{}, map[string][]byte{}
	db, err := storage.Look(ctx, d.State)
	if err != nil {
		return err
	}
	defer db.Close()
	if d.care, err = storage.CareOf(ctx, d.State, db); err == nil {
		d.cared = true
	}
	d.fleet, d.served, _ = fleet.Look(ctx, db)
	d.salt, _ = db.Salt(ctx)
	d.recent, _ = db.Runs(ctx, "", recentRuns)
	if made, ok := db.(storage.Describer); ok {
		d.schema, _ = made.Schema(ctx)
	}
	names, _ := db.Connectors(ctx)
	for _, name := range names {
		if runs, err := db.Runs(ctx, name, 1); err == nil && len(runs) == 1 {
			d.runs[name] = runs[0]
			for _, domain := range runs[0].Domains() {
				d.learned[domain], _ = db.Provider(ctx, domain)
			}
		}
		if pause, err := db.Paused(ctx, name); err == nil && !pause.At.IsZero() {
			s := report.Status{Name: name, Flags: d.Flags, Pause: pause}
			why, end := s.Order(d.Now)
			d.note(Finding{Mark: Look, What: "pause", Text: name + " is " + why, Do: end})
		}
		events, _ := db.Events(ctx, name, bundledEvents)
		d.events = append(d.events, events...)
	}
	slices.SortStableFunc(d.events, func(a, b collection.Event) int { return a.Time.Compare(b.Time) })
	d.events = d.events[max(0, len(d.events)-bundledEvents):]
	return nil
}

// checkCare says when the database was backed up, and a backup was tried.
func (d *Diagnosis) checkCare() {
	if !d.cared {
		return // why it cannot be read was said
	}
	f := Finding{Mark: Well, What: "backup", Text: d.care.Sentence(d.Now)}
	switch c := d.care.Copies; {
	case c == nil:
		f.Mark = NotChecked
	case c.BackedUp.IsZero():
		f.Mark, f.Do = NotChecked, "collect backup FILE"+d.Flags
	case c.Drilled.IsZero():
		f.Do = "collect restore FILE --drill" + d.Flags
	}
	d.note(f)
}

// recentRuns is how many runs the growth of the database is estimated from.
const recentRuns = 1000

// Where the disk begins to be a problem.
const (
	fewDays  = 30       // left at the usual growth
	fewBytes = 64 << 20 // a merge of the log, a vacuum or a backup needs room
)

// checkDisk says how much room is left, and for how long if the runs of the
// last month tell.
func (d *Diagnosis) checkDisk() {
	dir := filepath.Dir(d.State)
	free, err := freespace.Of(dir)
	if err != nil {
		d.add(NotChecked, "disk", "not measured: "+problem.PlainText(err))
		return
	}
	text := fmt.Sprintf("%s free at %s", words.Size(free), words.Home(dir, d.Env))
	days, known := float64(0), false
	switch perDay, measured := d.growth(); {
	case !measured:
		text += "; for how long is not known before there are runs of two days"
	case perDay > 0:
		days, known = float64(free)/perDay, true
		text += fmt.Sprintf(", about %s at the usual growth", words.Span(time.Duration(min(days, 10_000)*24*float64(time.Hour))))
	}
	switch {
	case free < fewBytes:
		d.note(Finding{Mark: Broken, What: "disk", Text: text, Do: "free some space", Exit: problem.ExitStorage})
	case known && days < fewDays:
		d.add(Look, "disk", text)
	default:
		d.add(Well, "disk", text)
	}
}

// growth returns the bytes that the database gains a day, by the records that
// the runs of the last 30 days stored. It is not known if they span less than two
// days: the first run collects everything there is, and says nothing of the next ones.
func (d *Diagnosis) growth() (perDay float64, known bool) {
	const month = 30 * 24 * time.Hour
	var changed int64
	first := d.Now
	for _, run := range d.recent {
		if d.Now.Sub(run.StartedAt) < month {
			changed += run.Tally.Changed
			if run.StartedAt.Before(first) {
				first = run.StartedAt
			}
		}
	}
	days := d.Now.Sub(first).Hours() / 24
	if days < 2 || d.state.Records == 0 {
		return 0, false
	}
	return float64(changed) / days * float64(d.state.Size) / float64(d.state.Records), true
}

// openToOthers reports whether anybody but its owner can read a file.
func openToOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o077 != 0
}
