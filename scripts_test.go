package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A script that is asked for help explains itself, and does nothing else.
func TestScriptsExplainThemselves(t *testing.T) {
	for script, want := range map[string]string{"scripts/test": "Runs all tests", "scripts/check": "Checks what needs no running", "scripts/release": ""} {
		out, err := exec.Command("bash", script, "--help").CombinedOutput()
		if text := string(out); err != nil || !strings.HasPrefix(text, want) || len(text) < 40 || strings.Contains(text, "shellcheck") || strings.Contains(text, "set -euo") {
			t.Errorf("%s --help: %v, %q", script, err, text)
		}
		if out, err := exec.Command("bash", script, "--no-such").CombinedOutput(); err == nil || !strings.Contains(string(out), "--help") {
			t.Errorf("%s takes what it does not know: %v, %q", script, err, out)
		}
	}
}
