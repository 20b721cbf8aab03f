package setup

import (
	"fmt"
	"strings"
	"time"

	"collect/internal/words"
)

// A Schedule says how a machine collects by itself.
type Schedule struct {
	Program string        // the full path of collect
	Config  string        // that of collect.yaml; "": the usual places
	State   string        // that of the database
	Every   time.Duration // between two runs: see Check

	Credentials []Credential // for secrets that are looked for in the environment
	System      bool         // units for the whole machine; else for one user
}

// A Credential is a file that systemd hands to the unit under a name.
type Credential struct{ Name, Path string }

// Check refuses a schedule that a line of crontab cannot say, or a path that no line can
// hold.
func (s Schedule) Check() error {
	minutes := int(s.Every / time.Minute)
	switch {
	case s.Every%time.Minute != 0 || minutes < 2:
		return fmt.Errorf("a run each %v: say whole minutes, 2 or more", s.Every)
	case minutes < 60 && 60%minutes != 0, minutes >= 60 && (minutes%60 != 0 || 24%(minutes/60) != 0):
		return fmt.Errorf("a run each %v: it must part an hour or a day evenly, as 5m, 15m, 30m, 1h, 6h or 24h do", s.Every)
	}
	for _, path := range append([]string{s.Program, s.Config, s.State}, s.paths()...) {
		if strings.ContainsAny(path, "\r\n") {
			return fmt.Errorf("a path with a line break in it cannot be scheduled")
		}
	}
	return nil
}

func (s Schedule) paths() (all []string) {
	for _, c := range s.Credentials {
		all = append(all, c.Path)
	}
	return all
}

// flags returns the arguments by which every command finds what this one works with.
func (s Schedule) flags() (arguments []string) {
	if s.Config != "" {
		arguments = append(arguments, "--config", s.Config)
	}
	return append(arguments, "--state", s.State)
}

// CheckUnits refuses what systemd does: a program whose path has quotes in it.
func (s Schedule) CheckUnits() error {
	if strings.ContainsAny(s.Program, "\"'\\") {
		return fmt.Errorf("systemd starts no program whose path has quotes or backslashes in it: %s", s.Program)
	}
	return nil
}

// run returns the arguments of a run that ends before the next one begins.
func (s Schedule) run(quiet ...string) []string {
	arguments := append([]string{"run", "--all"}, quiet...)
	limit := strings.TrimSuffix(strings.TrimSuffix((s.Every-time.Minute).String(), "0s"), "0m")
	return append(append(arguments, "--max-time", limit), s.flags()...)
}

// Cron returns the line of a crontab, as crontab(5) reads it: a percent sign is a line
// break unless there is a backslash before it.
func (s Schedule) Cron() string {
	when := fmt.Sprintf("*/%d * * * *", int(s.Every/time.Minute))
	if hours := int(s.Every / time.Hour); hours > 0 {
		when = fmt.Sprintf("0 */%d * * *", hours)
		if hours == 24 {
			when = "0 0 * * *"
		}
	}
	line := []string{words.Quoted(s.Program)}
	for _, argument := range s.run("-qq") {
		line = append(line, words.Quoted(argument))
	}
	return when + "  " + strings.ReplaceAll(strings.Join(line, " "), "%", `\%`) + "\n"
}

// A Unit is one file of systemd.
type Unit struct{ Name, Text string }

// Units returns the service, its timer, and what is started if the service fails.
func (s Schedule) Units() []Unit {
	var b strings.Builder
	b.WriteString("# One run of all connectors of collect.yaml. Made by: collect init --systemd\n" +
		"[Unit]\nDescription=collect: pull records from APIs into a database\n")
	if s.System {
		b.WriteString("Wants=network-online.target\nAfter=network-online.target\n")
	}
	b.WriteString("OnFailure=collect-failed.service\n\n[Service]\nType=oneshot\nExecStart=" + s.command(s.run()) + "\n")
	b.WriteString("# 75: the provider asks to wait, or another run collects. 143: stopped, after saving.\n" +
		"SuccessExitStatus=75 143\n" +
		"# For those who add Restart=: with these a person must act, and the next start ends the same way.\n" +
		"RestartPreventExitStatus=2 76 77 78\n" +
		"# A page in flight is finished and saved.\nTimeoutStopSec=90\nUMask=0077\nStateDirectory=collect\n")
	for _, c := range s.Credentials {
		fmt.Fprintf(&b, "LoadCredential=%s:%s\n", c.Name, specifier(c.Path))
	}
	return []Unit{
		{"collect.service", b.String()},
		{"collect.timer", "[Unit]\nDescription=collect, again and again\n\n[Timer]\nOnCalendar=" + s.calendar() +
			"\nRandomizedDelaySec=2m\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"},
		{"collect-failed.service", "# What is done when collect.service fails: how all connectors stand goes into the journal.\n" +
			"# Add here how you want to be told; `notify:` in collect.yaml is another way.\n" +
			"[Unit]\nDescription=collect: who must act, after a run that failed\n\n[Service]\nType=oneshot\nExecStart=" +
			s.command(append([]string{"status"}, s.flags()...)) + "\n"},
	}
}

// calendar returns the time of the timer, as systemd.time(7) reads it.
func (s Schedule) calendar() string {
	switch hours := int(s.Every / time.Hour); {
	case hours == 24:
		return "daily"
	case hours > 0:
		return fmt.Sprintf("00/%d:00", hours)
	}
	return fmt.Sprintf("*:00/%d", int(s.Every/time.Minute))
}

// command returns a command line, as systemd.service(5) reads it.
func (s Schedule) command(arguments []string) string {
	line := []string{programWord(s.Program)}
	for _, argument := range arguments {
		line = append(line, unitWord(argument))
	}
	return strings.Join(line, " ")
}

// programWord quotes the first word of ExecStart, in which $ has no meaning.
func programWord(path string) string { return strings.ReplaceAll(unitWord(path), "$$", "$") }

// unitWord quotes a word of ExecStart, where $ and % have a meaning.
func unitWord(text string) string {
	quoted := strings.ReplaceAll(specifier(text), "$", "$$")
	if strings.ContainsAny(quoted, " \t\"'\\;") || quoted == "" {
		quoted = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(quoted) + `"`
	}
	return quoted
}

// specifier keeps a percent sign from being one of systemd.unit(5).
func specifier(text string) string { return strings.ReplaceAll(text, "%", "%%") }
