package live

import (
	"fmt"
	"io"
	"sync"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
)

// linesPerBeat bounds the lines for events between two heartbeats: a thousand
// gaps are one story, not a thousand.
const linesPerBeat = 60

// A Plain shows a run as lines: one for each event that changes something, one
// heartbeat every so often, and never one per request. The lines have the form
//
//	time connector event key=value ...
type Plain struct {
	out   io.Writer
	style Style
	view  *View

	mu      sync.Mutex
	lines   int   // due for events since the last heartbeat
	unsaid  int64 // lines that were not written
	last    inOrder
	closed  bool
	stop    chan struct{}
	stopped chan struct{}
}

var _ Progress = (*Plain)(nil)

// StartPlain writes lines about v to out until it is closed, with a heartbeat
// every so often; 0 means once a minute.
func StartPlain(out io.Writer, style Style, every time.Duration, v *View) *Plain {
	if every <= 0 {
		every = config.PlainEvery
	}
	p := &Plain{out: out, style: style, view: v, stop: make(chan struct{}), stopped: make(chan struct{})}
	go p.beat(every)
	return p
}

func (p *Plain) beat(every time.Duration) {
	defer close(p.stopped)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			p.heartbeat(now)
		}
	}
}

// Observe takes in what happened, and writes its line if it has one. Between
// two heartbeats it writes a limited number of lines; the heartbeat counts
// the others.
func (p *Plain) Observe(e collection.Event) {
	p.view.Observe(e)
	if plainLine(e, p.style) == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Time = p.last.at(e.Time)
	line := plainLine(e, p.style)
	if p.lines++; p.lines > linesPerBeat {
		p.unsaid++
		return
	}
	io.WriteString(p.out, line+"\n")
}

func (p *Plain) heartbeat(now time.Time) {
	frame := p.view.Frame(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	frame.Now = p.last.at(now)
	line := frame.Line(p.style)
	if p.unsaid > 0 {
		line += fmt.Sprintf(" events_not_shown=%d", p.unsaid)
	}
	p.lines, p.unsaid = 0, 0
	io.WriteString(p.out, line+"\n")
}

// Say writes a line as it is.
func (p *Plain) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.out, line+"\n")
}

// Write writes lines of a log between the others.
func (p *Plain) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(lines)
}

// Close ends the heartbeat. What is said after it is still written.
func (p *Plain) Close() {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if !closed {
		close(p.stop)
		<-p.stopped
	}
}
