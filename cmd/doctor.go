package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"collect/engine/doctor"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report/problem"
)

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
	d := doctor.Examine(ctx, a.doctorConfig(online))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := a.result(d.Report(), renderDiagnosis(d, a.width(), a.caps())); err != nil {
		return err
	}
	if bundle != "" {
		if err := a.writeTo(bundle, d.Bundle); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "bundle: %s\n", words.Home(bundle, a.env))
	}
	if code := d.Exit(); code != problem.ExitOK {
		return &exitError{code}
	}
	return nil
}

// doctorConfig says what doctor looks at.
func (a *app) doctorConfig(online bool) doctor.Config {
	settings, mistake := a.settings()
	now := time.Now()
	if settings.Zone != nil {
		now = now.In(settings.Zone)
	}
	version, revision, goVersion := build()
	c := doctor.Config{
		Mistake: mistake, Registry: &settings.Registry, Files: settings.Files, State: settings.State, StateNamed: settings.StateNamed,
		Env: a.env, Meeting: meetingPlace(a.env), Flags: a.repeat(), Root: "/", Now: now, Online: online,
		Version: map[string]string{"collect": version, "revision": revision, "go": goVersion}, Harmless: bundledConfigOf(settings),
	}
	if own := config.Xdg(a.env, "XDG_CONFIG_HOME", ".config"); own != "" {
		c.Units = filepath.Join(own, "systemd", "user")
	}
	return c
}

// glyphs stand before the words, which say the same.
var glyphs = map[doctor.Mark]string{doctor.Well: "✓", doctor.Look: "!", doctor.Broken: "×", doctor.NotChecked: "-"}

// renderDiagnosis returns the findings for people.
func renderDiagnosis(d *doctor.Diagnosis, limit int, c term.Caps) string {
	wide := 0
	for _, f := range d.Findings {
		wide = max(wide, term.Width(f.What))
	}
	colors := map[doctor.Mark]string{doctor.Well: term.Green, doctor.Look: term.Yellow, doctor.Broken: term.Red}
	var b strings.Builder
	for _, f := range d.Findings {
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
	problems, warnings := d.Count(doctor.Broken), d.Count(doctor.Look)
	if problems+warnings == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s, %s.", words.Counted(problems, "problem", "problems"), words.Counted(warnings, "warning", "warnings"))
	if problems > 0 {
		b.WriteString("   For a report: collect doctor --bundle FILE" + d.Flags)
	}
	return b.String() + "\n"
}
