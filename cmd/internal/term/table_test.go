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

// TestProseStandsLastInAFile: a long sentence does not move the columns behind it to the right.
func TestProseStandsLastInAFile(t *testing.T) {
	table := Table{
		Head: []string{"NAME", "NEXT", "OWED"}, Right: []int{2}, Give: []int{1}, Prose: []int{1},
		Rows: [][]string{{"tickets", "until 12:00 UTC: the provider asked to wait", "2"}, {"orders", "now", "13"}},
	}
	const want = "NAME     OWED  NEXT\ntickets     2  until 12:00 UTC: the provider asked to wait\norders     13  now\n"
	if got := table.Render(40, Caps{Wide: true}); got != want {
		t.Errorf("without a terminal:\n%s\nwant\n%s", got, want)
	}
	const cut = "NAME     NEXT                       OWED\ntickets  until 12:00 UTC: the pro~     2\norders   now                          13\n"
	if got := table.Render(40, Caps{}); got != cut {
		t.Errorf("in a terminal:\n%s\nwant\n%s", got, cut)
	}
}
