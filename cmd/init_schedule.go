package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"collect/cmd/internal/config"
	"collect/engine/setup"
	"collect/engine/storage"
	"collect/internal/userfile"
	"collect/internal/words"
	"collect/report/problem"
)

// scheduleOptions are the flags of init that are about collecting by itself.
type scheduleOptions struct {
	cron, systemd bool
	every         time.Duration
	into          string
}

func (o *scheduleOptions) addFlags(flags *pflag.FlagSet) {
	o.every = 15 * time.Minute
	flags.BoolVar(&o.cron, "cron", false, "print a line for crontab(1) that collects with all connectors of collect.yaml")
	flags.BoolVar(&o.systemd, "systemd", false, "print a service and a timer of systemd that do")
	flags.Var((*config.DurationFlag)(&o.every), "every", "of --cron and --systemd: this `duration` between two runs")
	flags.StringVar(&o.into, "into", "", "of --systemd: write the units into this `folder`, and replace none")
}

func (o *scheduleOptions) wanted() bool { return o.cron || o.systemd || o.into != "" }

// schedule prints what makes this machine collect by itself, or writes it.
func (a *app) schedule(ctx context.Context, o initOptions) error {
	switch {
	case o.connector != "":
		return problem.Usage("collect init: --cron and --systemd are for all connectors of collect.yaml; leave out %s", words.Quoted(o.connector))
	case o.schedule.cron && (o.schedule.systemd || o.schedule.into != ""):
		return problem.Usage("collect init: one of --cron and --systemd")
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if len(settings.Entries) == 0 {
		return problem.Usage("collect init: no collect.yaml names a connector yet; begin with: collect init NAME")
	}
	s, err := a.scheduleOf(ctx, o.schedule, settings)
	if err != nil {
		return err
	}
	err = s.Check()
	if err == nil && !o.schedule.cron {
		err = s.CheckUnits()
	}
	if err != nil {
		return problem.Usage("collect init: %s", err)
	}
	if _, err := os.Stat(settings.State); err != nil && storage.IsFile(settings.State) {
		a.inform("note: ", words.Home(settings.State, a.env)+" is not there yet: make a first run by hand before")
	}
	switch {
	case o.schedule.cron:
		for _, c := range s.Credentials {
			a.inform("note: ", fmt.Sprintf("cron has an environment of its own, without %s: name a file that holds the secret by `token_file` under `providers:` in collect.yaml", strings.ToUpper(c.Name)))
		}
		a.hint("add this line with: crontab -e")
		fmt.Fprint(a.out, s.Cron())
		return nil
	case o.schedule.into == "":
		for i, u := range s.Units() {
			if i > 0 {
				fmt.Fprintln(a.out)
			}
			fmt.Fprintf(a.out, "# %s\n%s", u.Name, u.Text)
		}
		a.hint("to write them: collect init --systemd --into " + words.Quoted(unitFolder(s.System)))
		return nil
	}
	return a.writeUnits(s, o.schedule.into)
}

// hint says something to a person who looks at what goes to stdout.
func (a *app) hint(text string) {
	if a.terminal {
		fmt.Fprintln(a.err, text)
	}
}

func unitFolder(system bool) string {
	if system {
		return "/etc/systemd/system"
	}
	return "~/.config/systemd/user"
}

// scheduleOf returns the schedule with the paths of this machine.
func (a *app) scheduleOf(ctx context.Context, o scheduleOptions, settings config.Settings) (s setup.Schedule, err error) {
	s = setup.Schedule{Every: o.every, System: os.Geteuid() == 0}
	if s.Program, err = os.Executable(); err != nil {
		return s, err
	}
	if s.State = settings.State; storage.IsFile(s.State) {
		if s.State, err = filepath.Abs(s.State); err != nil {
			return s, err
		}
	}
	// The folder that a run starts in is not the one of today.
	here := cmp.Or(a.flags.config, a.env("COLLECT_CONFIG"), config.FileName)
	if slices.Contains(settings.Files, here) || slices.Contains(settings.Files, filepath.Join(".", here)) || a.flags.config != "" {
		if s.Config, err = filepath.Abs(here); err != nil {
			return s, err
		}
	}
	dir := "/etc/collect"
	if !s.System {
		dir = filepath.Join(config.Xdg(a.env, "XDG_CONFIG_HOME", ".config"), "collect")
	}
	for _, name := range settings.Names() {
		if _, configured := settings.Entries[name]; !configured {
			continue
		}
		x, err := setup.Examine(ctx, &settings.Registry, name)
		if err != nil {
			return s, err
		}
		for _, secret := range x.Secrets {
			c := setup.Credential{Name: strings.ToLower(secret.Env), Path: filepath.Join(dir, strings.ToLower(secret.Env))}
			if secret.Env != "" && (!secret.Optional || secret.There) && !slices.Contains(s.Credentials, c) {
				s.Credentials = append(s.Credentials, c)
			}
		}
	}
	return s, nil
}

// writeUnits writes the units, all of them or none.
func (a *app) writeUnits(s setup.Schedule, into string) error {
	into = userfile.Expand(into, a.env)
	for _, u := range s.Units() {
		path := filepath.Join(into, u.Name)
		if was, err := os.ReadFile(path); err == nil && string(was) != u.Text {
			return problem.Usage("collect init: %s is there and is another one; it is not replaced. To see what would be written: collect init --systemd", path)
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return &problem.OutputError{Err: err}
		}
	}
	if err := os.MkdirAll(into, 0o750); err != nil {
		return &problem.OutputError{Err: err}
	}
	for _, u := range s.Units() {
		path := filepath.Join(into, u.Name)
		if err := a.writeTo(path, func(w io.Writer) error {
			_, err := io.WriteString(w, u.Text)
			return err
		}); err != nil {
			return err
		}
		fmt.Fprintln(a.err, "wrote "+words.Home(path, a.env))
	}
	for _, c := range s.Credentials {
		path := words.Quoted(c.Path)
		fmt.Fprintf(a.err, "the service does not start without the secret that is in %[1]s: printenv %[1]s | install -D -m 600 /dev/stdin %[2]s\n", strings.ToUpper(c.Name), path)
	}
	user := "--user "
	if s.System {
		user = ""
	}
	fmt.Fprintf(a.err, "next:  systemctl %[1]sdaemon-reload\n       systemctl %[1]senable --now collect.timer\n", user)
	if !s.System {
		fmt.Fprintln(a.err, "       loginctl enable-linger    so that it runs while you are not logged in")
	}
	return nil
}
