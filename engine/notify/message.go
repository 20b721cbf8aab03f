package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// A Message is what somebody is told of the runs of one command. Its JSON is what a
// command reads and what a webhook gets; fields are only ever added.
type Message struct {
	Version    int          `json:"v"`
	ID         string       `json:"id"` // the same for all who are told by one command, and if it is sent again
	Time       jsonout.Time `json:"ts"`
	Host       string       `json:"host"`
	Turn       report.Turn  `json:"event"`   // the first of broke, still, recovered that an item has; or test
	Subject    string       `json:"subject"` // in one line
	Items      []Item       `json:"items"`
	LeftOut    int          `json:"items_left_out"`
	sent       time.Time
	connectors []string
}

// An Item is what is told of one connector.
type Item struct {
	Connector string            `json:"connector"` // "": the command could not begin at all
	Turn      report.Turn       `json:"event"`
	Since     jsonout.Time      `json:"since"` // it was told for the first time
	Run       *string           `json:"run_id"`
	ExitCode  int               `json:"exit_code"`
	Text      string            `json:"text"` // in one line
	Problems  []problem.Problem `json:"problems"`
}

// Bounds of a message: what a person reads, and what a service takes.
const (
	mostItems    = 50
	mostProblems = 10 // of one item
)

// newMessage makes a message of what is due.
func newMessage(due []Due, now time.Time, id, host string) Message {
	m := Message{Version: 1, ID: id, Time: jsonout.Time(now), Host: words.Clean(host), Items: []Item{}, sent: now}
	for _, turn := range []report.Turn{Test, report.Broke, report.Still, report.Recovered} {
		of := slices.DeleteFunc(slices.Clone(due), func(d Due) bool { return d.Turn != turn })
		if len(of) > 0 && m.Turn == "" {
			m.Turn = turn
		}
		for _, d := range of {
			if turn == Test {
				continue
			}
			if len(m.Items) == mostItems {
				m.LeftOut++
				continue
			}
			m.Items = append(m.Items, itemOf(d, now))
			if d.Connector != "" {
				m.connectors = append(m.connectors, words.Clean(d.Connector))
			}
		}
	}
	m.Subject = m.subject()
	return m
}

func itemOf(d Due, now time.Time) Item {
	i := Item{Connector: words.Clean(d.Connector), Turn: d.Turn, ExitCode: d.ExitCode, Problems: []problem.Problem{}}
	i.Run = jsonout.Text(d.Run)
	if d.Turn == report.Recovered {
		i.Since, i.Text = jsonout.Time(d.Before.Since), words.Clean(d.Before.Over(called(d.Connector), now))
		return i
	}
	i.Since, i.Problems = jsonout.Time(d.After.Since), append(i.Problems, d.Problems[:min(len(d.Problems), mostProblems)]...)
	i.Text = words.Clean(d.Line)
	if i.Text == "" {
		i.Text = words.Clean(called(d.Connector) + ": " + d.Trouble.Words)
	}
	return i
}

// called names a connector, or the command that knows none.
func called(connector string) string {
	if connector == "" {
		return "collect"
	}
	return connector
}

// subject says the message in a line.
func (m Message) subject() string {
	if m.Turn == Test {
		return fmt.Sprintf("collect on %s: a test; this is how a message arrives", m.Host)
	}
	text := m.Items[0].Text
	if more := len(m.Items) + m.LeftOut - 1; more > 0 {
		text += fmt.Sprintf(" (and %s more)", words.Counted(int64(more), "connector", "connectors"))
	}
	if m.Turn == report.Still {
		text = "still: " + text
	}
	return fmt.Sprintf("collect on %s: %s", m.Host, text)
}

// text returns the message as people read it in a mail.
func (m Message) text() string {
	var b strings.Builder
	if m.Turn == Test {
		b.WriteString(m.Subject + "\n")
	}
	for _, i := range m.Items {
		b.WriteString(i.Text + "\n")
		for _, p := range i.Problems {
			fmt.Fprintf(&b, "  %s[%s]: %s\n", p.Level, p.Code, words.Clean(p.Headline))
			for _, part := range [][2]string{{"at", p.At}, {"why", p.Why}, {"saved", p.Saved}, {"next", p.Next}} {
				if part[1] != "" {
					fmt.Fprintf(&b, "    %-5s  %s\n", part[0], words.Clean(part[1]))
				}
			}
			for _, do := range p.Do {
				fmt.Fprintf(&b, "    do     %s\n", strings.TrimSpace(words.Clean(do.Say)+" "+words.Clean(do.Command)))
			}
		}
		if i.Turn == report.Still {
			fmt.Fprintf(&b, "  since %s\n", time.Time(i.Since).UTC().Format("2006-01-02 15:04 MST"))
		}
		b.WriteString("\n")
	}
	if m.LeftOut > 0 {
		fmt.Fprintf(&b, "and %s more: collect status\n", words.Counted(int64(m.LeftOut), "connector", "connectors"))
	}
	return b.String()
}
