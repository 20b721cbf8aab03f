package term

import "testing"

// TestTableOnNoTerminalIsWhole: what is cut in a file or a pipe is lost.
func TestTableOnNoTerminalIsWhole(t *testing.T) {
	table := Table{Head: []string{"NAME", "NEXT"}, Rows: [][]string{{"tickets", "until 12:00 UTC: the provider asked to wait"}}, Give: []int{1}}
	const whole = "NAME     NEXT\ntickets  until 12:00 UTC: the provider asked to wait\n"
	if got := table.Render(40, Caps{Wide: true}); got != whole {
		t.Errorf("without a terminal:\n%s\nwant\n%s", got, whole)
	}
	if got := table.Render(40, Caps{}); got == whole {
		t.Errorf("a terminal of 40 columns gets the whole line\n%s", got)
	}
}
