package cmd

import (
	"strings"
	"time"

	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/store"
)

// An orderLine is an order that was given, as JSON: the same as people read, and what is
// kept of it.
type orderLine struct {
	V         int          `json:"v"`
	Order     string       `json:"order"` // the command: "breaker open"
	Connector string       `json:"connector"`
	Changed   bool         `json:"changed"` // false: it stood like that already, and nothing is kept
	At        jsonout.Time `json:"at"`
	Who       string       `json:"who"`
	Reason    string       `json:"reason"`
	Said      string       `json:"said"`
}

// ordered tells what an order came to: people in a sentence, and programs as JSON.
func (a *app) ordered(order string, connectors []string, changed bool, audit store.Audit, said string) error {
	if !a.flags.json {
		a.inform("", said)
		return nil
	}
	var lines []orderLine
	for _, name := range connectors {
		lines = append(lines, orderLine{
			V: jsonout.Version, Order: order, Connector: words.Clean(name), Changed: changed, At: jsonout.Time(time.Now()),
			Who: audit.Who, Reason: audit.Why, Said: strings.TrimSpace(said),
		})
	}
	return a.print(lines)
}
