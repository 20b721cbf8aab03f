package cmd

import (
	"strings"
	"testing"

	"collect/cmd/internal/term"
	"collect/collection"
)

func TestWarnings(t *testing.T) {
	raised := func(code collection.WarningCode, stream, text string) collection.Event {
		return collection.Event{Kind: collection.WarningRaised, Code: code, Stream: stream, Message: text}
	}
	var w warnings
	w.add(raised("", "", "the pace is not shared"))
	w.add(collection.Event{Kind: collection.ErrorRaised, Message: "no warning"})
	for range 3 {
		w.add(raised(collection.MarkIgnored, "issues", "`since` is ignored"))
	}
	var end ending
	if w.tell(&end); end.Warnings != 4 || end.Doubted {
		t.Errorf("%d warnings, doubted %t, want 4 and no doubt", end.Warnings, end.Doubted)
	}
	w.add(raised(collection.FarFewer, "repos", "20 records"))
	if w.tell(&end); end.Warnings != 5 || !end.Doubted {
		t.Errorf("%d warnings, doubted %t, want 5 and a doubt", end.Warnings, end.Doubted)
	}
	var got strings.Builder
	for _, p := range w.problems(here) {
		got.WriteString(p.render(80, term.Caps{}))
	}
	want := "warning[W0612]: `since` is ignored\n" +
		"  at     tickets/issues\n" +
		"  note   3 warnings of this run say so in this stream; this is the first\n" +
		"  saved  every record that was sent\n" +
		"warning[W0604]: 20 records\n" +
		"  at     tickets/repos\n" +
		"  saved  every record that was sent\n"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	for i := range 2 * mostWarned {
		w.add(raised(collection.FarFewer, strings.Repeat("x", i), "n"))
	}
	if n := len(w.problems(here)); n >= mostWarned {
		t.Errorf("%d kinds of warnings are told, want fewer than %d", n, mostWarned)
	}
}
