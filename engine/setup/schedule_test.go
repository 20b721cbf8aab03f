package setup_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collect/engine/setup"
)

// odd returns a schedule whose paths have all that crontab, sh and systemd act on.
func odd(t *testing.T, every time.Duration) setup.Schedule {
	dir := filepath.Join(t.TempDir(), `50% of $HOME's "data"`)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "collect")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >\""+`$(dirname "$0")`+"/args\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return setup.Schedule{
		Program: program, Config: filepath.Join(dir, "collect.yaml"), State: filepath.Join(dir, "state.db"), Every: every,
		Credentials: []setup.Credential{{Name: "acme_token", Path: filepath.Join(dir, "acme token")}},
	}
}

// TestCron: crontab(1) takes the line, and what cron gives to sh is the command that was
// meant.
func TestCron(t *testing.T) {
	for every, want := range map[time.Duration]string{
		15 * time.Minute: "*/15 * * * *  ", 2 * time.Minute: "*/2 * * * *  ", time.Hour: "0 */1 * * *  ", 6 * time.Hour: "0 */6 * * *  ", 24 * time.Hour: "0 0 * * *  ",
	} {
		s := odd(t, every)
		line := s.Cron()
		if !strings.HasPrefix(line, want) {
			t.Errorf("%v: %q, want %q in front", every, line, want)
		}
		file := filepath.Join(t.TempDir(), "crontab")
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("crontab", "-n", file).CombinedOutput(); err != nil {
			t.Fatalf("crontab -n: %v: %s: %s", err, out, line)
		}
		// As cron(8) does: up to a % that has no backslash before it, and without those
		// before others.
		_, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if strings.Count(command, "%") != strings.Count(command, `\%`) {
			t.Errorf("%v: a %% without a backslash ends the command: %s", every, command)
		}
		command = strings.ReplaceAll(command, `\%`, "%")
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(s.Program), "args"))
		limit := map[time.Duration]string{15 * time.Minute: "14m", 2 * time.Minute: "1m", time.Hour: "59m", 6 * time.Hour: "5h59m", 24 * time.Hour: "23h59m"}[every]
		if got, want := string(args), strings.Join([]string{"run", "--all", "-qq", "--max-time", limit, "--config", s.Config, "--state", s.State, ""}, "\n"); got != want {
			t.Errorf("%v: arguments %q, want %q", every, got, want)
		}
	}
}

// TestUnits: systemd takes the units, and reads the command that was meant.
func TestUnits(t *testing.T) {
	for _, system := range []bool{false, true} {
		s := odd(t, 15*time.Minute)
		s.System = system
		if err := s.CheckUnits(); err == nil {
			t.Error("a program with quotes in its path is taken, which systemd does not start")
		}
		s.Program = filepath.Join(t.TempDir(), "50% of $HOME collect")
		if err := os.WriteFile(s.Program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		var files []string
		for _, u := range s.Units() {
			path := filepath.Join(dir, u.Name)
			if err := os.WriteFile(path, []byte(u.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, path)
		}
		command := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...)
		command.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
		out, err := command.CombinedOutput()
		if err != nil || strings.Contains(string(out), dir) || strings.Contains(string(out), "collect") {
			t.Errorf("system %t: systemd-analyze verify: %v: %s", system, err, out)
		}
	}
	service := setup.Schedule{Program: "/usr/bin/collect", State: "/var/lib/collect/state.db", Every: time.Hour, Credentials: []setup.Credential{{Name: "acme_token", Path: "/etc/collect/acme_token"}}}.Units()[0]
	for _, want := range []string{
		"\nExecStart=/usr/bin/collect run --all --max-time 59m --state /var/lib/collect/state.db\n", "\nSuccessExitStatus=75 143\n",
		"\nRestartPreventExitStatus=2 76 77 78\n", "\nOnFailure=collect-failed.service\n", "\nStateDirectory=collect\n",
		"\nLoadCredential=acme_token:/etc/collect/acme_token\n", "\nTimeoutStopSec=90\n",
	} {
		if !strings.Contains(service.Text, want) {
			t.Errorf("no %q in\n%s", want, service.Text)
		}
	}
}

func TestSchedulesThatAreNone(t *testing.T) {
	for _, every := range []time.Duration{0, time.Minute, 90 * time.Second, 7 * time.Minute, 90 * time.Minute, 5 * time.Hour, 48 * time.Hour} {
		if err := (setup.Schedule{Every: every}).Check(); err == nil {
			t.Errorf("a run each %v is taken", every)
		}
	}
	if err := (setup.Schedule{Every: time.Hour, State: "/a\n/b"}).Check(); err == nil {
		t.Error("a path with a line break is taken")
	}
}

// TestTimes: systemd reads the times of the timer as they are meant.
func TestTimes(t *testing.T) {
	for every, want := range map[time.Duration]string{
		15 * time.Minute: "*-*-* *:00/15:00", time.Hour: "*-*-* 00/1:00:00", 6 * time.Hour: "*-*-* 00/6:00:00", 24 * time.Hour: "*-*-* 00:00:00",
	} {
		_, text, _ := strings.Cut(setup.Schedule{Every: every}.Units()[1].Text, "OnCalendar=")
		calendar, _, _ := strings.Cut(text, "\n")
		out, err := exec.Command("systemd-analyze", "calendar", calendar).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Normalized form: "+want+"\n") {
			t.Errorf("%v: %q: %v: %s, want %s", every, calendar, err, out, want)
		}
	}
}
