package cmd

import (
	"strings"
	"testing"

	"collect/cmd/internal/term"
	"collect/engine/doctor"
	"collect/report/problem"
)

// TestDiagnosisFits: lines hang under their text, at every width, and the
// worst decides the exit code.
func TestDiagnosisFits(t *testing.T) {
	d := &doctor.Diagnosis{Findings: []doctor.Finding{
		{Mark: doctor.Well, What: "config", Text: "collect.yaml is valid"},
		{Mark: doctor.Broken, What: "token acme", Text: strings.Repeat("long ", 30), Do: "put it there", Exit: problem.ExitRefused},
		{Mark: doctor.Broken, What: "state", Text: "damaged", Exit: problem.ExitStorage},
		{Mark: doctor.Look, What: "schedule", Text: "none"},
	}}
	for _, limit := range []int{40, 80, 100} {
		for line := range strings.Lines(renderDiagnosis(d, limit, term.Caps{UTF8: true})) {
			if term.Width(strings.TrimSuffix(line, "\n")) > max(limit, 70) { // the last line is one command to copy
				t.Errorf("at %d columns: %q", limit, line)
			}
		}
	}
	want := " ✓ config      collect.yaml is valid\n × token acme  long"
	if got := renderDiagnosis(d, 80, term.Caps{UTF8: true}); !strings.HasPrefix(got, want) || !strings.Contains(got, "\n2 problems, 1 warning.") {
		t.Errorf("render = %q, want it to begin with %q", got, want)
	}
	if got := d.Exit(); got != problem.ExitStorage {
		t.Errorf("exit = %d, want %d", got, problem.ExitStorage)
	}
	d.Findings = d.Findings[:1]
	if got := d.Exit(); got != problem.ExitOK {
		t.Errorf("exit = %d with nothing broken, want 0", got)
	}
}
