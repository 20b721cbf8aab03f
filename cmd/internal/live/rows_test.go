package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
)

func TestTogetherBlock(t *testing.T) {
	after := 6.0
	working := func(name string) Frame {
		return Frame{Run: "01", Connector: name, Provider: name + "co", Stream: "issues", Saved: 12345, RateNow: 3.4}
	}
	waits := working("tickets")
	waits.Waiting, waits.Cause, waits.Throttle = 38*time.Second, collection.WaitRetryAfter, collection.ThrottleInfo{Signal: "429", RetryAfter: &after}
	frozen := working("mailbox")
	frozen.Frozen = true
	rows := []Row{
		{Name: "prices", Stage: Over, Word: "complete", Frame: working("prices")},
		{Name: "issues", Stage: Working, Frame: working("issues")},
		{Name: "tickets", Stage: Working, Frame: waits},
		{Name: "mailbox", Stage: Working, Frame: frozen},
		{Name: "orders", Stage: Over, Word: "blocked", Needs: true, Next: "you: see below", Frame: working("orders")},
		{Name: "new", Stage: Starting},
		{Name: "chain", Stage: Queued},
	}
	unicode := term.Caps{UTF8: true}
	for _, test := range []struct {
		columns, height int
		stopping        bool
		caps            term.Caps
		want            string
	}{
		{80, 24, false, unicode, `
 CONNECTOR  STATE        SAVED   RATE  NEXT
 prices     complete    12,345      -
 issues     collecting  12,345  3.4/s  issues
 tickets    waiting     12,345  3.4/s  38 s: ticketsco asked us to (429, Retry…
 mailbox    frozen      12,345  3.4/s  mailboxco answered 403, all calls are s…
 orders     blocked     12,345      -  you: see below
 new        starting         -      -  waits for its lease
 chain      queued           -      -  waits for its turn
 all: 2 need you · 1 waiting · 1 collecting · 1 starting · 1 queued · 1 over
 ctrl-c stops each after its current page`},
		{80, 12, true, unicode, `
 CONNECTOR  STATE        SAVED   RATE  NEXT
 mailbox    frozen      12,345  3.4/s  mailboxco answered 403, all calls are s…
 orders     blocked     12,345      -  you: see below
 tickets    waiting     12,345  3.4/s  38 s: ticketsco asked us to (429, Retry…
 issues     collecting  12,345  3.4/s  issues
 and 1 starting · 1 queued · 1 over
 all: 2 need you · 1 waiting · 1 collecting · 1 starting · 1 queued · 1 over
 stopping each after its current page; ctrl-c again stops now`},
		{50, 24, false, term.Caps{}, `
 CONNECTOR  STATE        SAVED  NEXT
 prices     complete    12,345
 issues     collecting  12,345  issues
 tickets    waiting     12,345  38 s: ticketsco ~
 mailbox    frozen      12,345  mailboxco answer~
 orders     blocked     12,345  you: see below
 new        starting         -  waits for its le~
 chain      queued           -  waits for its tu~
 all: 2 need you - 1 waiting - 1 collecting - 1 ~
 ctrl-c stops each after its current page`},
		{49, 24, false, unicode, `
 2 need you · 1 waiting · 1 collecting · 1 star…`},
		{80, 8, false, unicode, `
 2 need you · 1 waiting · 1 collecting · 1 starting · 1 queued · 1 over`},
	} {
		got := "\n" + strings.Join(togetherBlock(rows, test.stopping, test.columns, test.height, test.caps), "\n")
		if got != test.want {
			t.Errorf("%d by %d:\n%s\nwant:\n%s", test.columns, test.height, got, test.want)
		}
	}
}

// TestTogetherBlockFits: whatever the size of the terminal, no line is as wide, and
// there are fewer lines than rows.
func TestTogetherBlockFits(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and a minute under the race detector")
	}
	var rows []Row
	for i := range 40 {
		rows = append(rows, Row{Name: fmt.Sprintf("a-connector-with-a-long-name-%d", i), Stage: Stage(i % 4), Word: "complete as it is", Needs: i%3 == 0, Next: strings.Repeat("long ", 30),
			Frame: Frame{Run: "01", Provider: strings.Repeat("provider", 10), Saved: 1 << 40, RateNow: 1000, Waiting: time.Duration(i%2) * time.Hour}})
	}
	for columns := 1; columns < 200; columns++ {
		for height := 1; height < 60; height++ {
			lines := togetherBlock(rows, false, columns, height, term.Caps{UTF8: true, Color: true})
			if len(lines) > max(1, height-1) {
				t.Fatalf("%d by %d: %d lines", columns, height, len(lines))
			}
			for _, line := range lines {
				if w := term.Width(words.Escapes().ReplaceAllString(line, "")); w > max(1, columns-1) {
					t.Fatalf("%d by %d: %d columns: %q", columns, height, w, line)
				}
			}
		}
	}
}
