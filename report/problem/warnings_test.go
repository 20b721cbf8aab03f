package problem

import (
	"reflect"
	"strings"
	"testing"

	"collect/collection"
)

func TestWarnings(t *testing.T) {
	raised := func(code collection.WarningCode, stream, text string) collection.Event {
		return collection.Event{Kind: collection.WarningRaised, Code: code, Stream: stream, Message: text}
	}
	var w Warnings
	w.Add(raised("", "", "the pace is not shared"))
	w.Add(collection.Event{Kind: collection.ErrorRaised, Message: "no warning"})
	for range 3 {
		w.Add(raised(collection.MarkIgnored, "issues", "`since` is ignored"))
	}
	if total, doubted := w.Tell(); total != 4 || doubted {
		t.Errorf("%d warnings, doubted %t, want 4 and no doubt", total, doubted)
	}
	w.Add(raised(collection.FarFewer, "repos", "20 records"))
	if total, doubted := w.Tell(); total != 5 || !doubted {
		t.Errorf("%d warnings, doubted %t, want 5 and a doubt", total, doubted)
	}
	saved := "every record that was sent"
	want := []Problem{
		{Code: "W0612", Level: LevelWarning, Headline: "`since` is ignored", At: "tickets/issues",
			Note: "3 warnings of this run say so in this stream; this is the first", Saved: saved, Needs: NeedsOperator},
		{Code: "W0604", Level: LevelWarning, Headline: "20 records", At: "tickets/repos", Saved: saved, Needs: NeedsOperator},
	}
	if got := w.Problems(Scene{Connector: "tickets"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for i := range 2 * mostWarned {
		w.Add(raised(collection.FarFewer, strings.Repeat("x", i), "n"))
	}
	if n := len(w.Problems(wholeScene)); n >= mostWarned {
		t.Errorf("%d kinds of warnings are told, want fewer than %d", n, mostWarned)
	}
}
