package live

import (
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
)

// sampleEvery is how often a display takes in the totals. Rates come from it.
const sampleEvery = time.Second

// A Config says how a run is shown, and asks what its events do not carry.
type Config struct {
	Mode  string        // as [Mode] returns it
	Every time.Duration // between lines, or events, of progress; 0: a minute

	Out   io.Writer // for events
	Err   io.Writer // for the block and for lines
	Size  func() (columns, rows int)
	Caps  term.Caps
	Style Style

	Streams []StreamTotal // as they are stored when the run begins
	Totals  func() Totals // as they are now; Streams are added to them
}

// A Display shows one run: as a block or lines, as events, or not at all. It is
// safe for concurrent use.
type Display struct {
	view   View
	shown  Progress // nil: nothing while it runs
	events *Events  // nil: no events
	totals func() Totals
	every  time.Duration
	err    io.Writer
	style  Style

	mu      sync.Mutex
	streams []StreamTotal
	stop    chan struct{}
	stopped chan struct{}
}

var _ Progress = (*Display)(nil)

// Start shows a run until the display is closed.
func Start(c Config) *Display {
	d := newDisplay(c)
	switch c.Mode {
	case config.ProgressJSON:
		d.events = NewEvents(c.Out)
	case config.ProgressLive:
		d.shown = StartBlock(c.Err, c.Size, c.Caps, &d.view)
	case config.ProgressPlain:
		d.shown = StartPlain(c.Err, c.Style, d.every, &d.view)
	}
	go d.sample(time.Now())
	return d
}

func newDisplay(c Config) *Display {
	d := &Display{
		totals: c.Totals, every: c.Every, err: c.Err, style: c.Style, streams: slices.Clone(c.Streams),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if d.every <= 0 {
		d.every = config.PlainEvery
	}
	return d
}

// Events returns the writer of events; nil if there are none.
func (d *Display) Events() *Events { return d.events }

// Observe takes in an event of the run.
func (d *Display) Observe(e collection.Event) {
	d.count(e)
	if d.shown != nil {
		d.shown.Observe(e)
	} else {
		d.view.Observe(e)
	}
	if d.events != nil {
		d.events.Observe(e)
	}
}

// count adds a committed slice to the totals of its stream.
func (d *Display) count(e collection.Event) {
	if e.Slice == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.streams {
		s := &d.streams[i]
		if s.Stream != e.Stream {
			continue
		}
		s.Records += int64(e.Slice.Changed)
		if e.Slice.Done && e.Partition != "" {
			s.Done++
		}
		if e.Slice.Done && e.Partition == "" {
			s.Complete = true
		}
	}
}

// counted returns the totals of all streams. The records of one stream are the
// partitions of those whose parent it is.
func (d *Display) counted(passed map[string]int64) []StreamTotal {
	d.mu.Lock()
	defer d.mu.Unlock()
	streams := slices.Clone(d.streams)
	for i := range streams {
		child := &streams[i]
		child.Passed = passed[child.Stream]
		for _, parent := range streams {
			if parent.Stream == child.Parent {
				child.Parents, child.Final = parent.Records, parent.Complete
			}
		}
	}
	return streams
}

// sample takes in the totals until the display is closed, and writes an event
// of progress as often as there would be a line.
func (d *Display) sample(start time.Time) {
	defer close(d.stopped)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	next := start.Add(d.every)
	for {
		select {
		case <-d.stop:
			return
		case now := <-tick.C:
			totals := d.totals()
			totals.Streams = d.counted(totals.Passed)
			d.view.Sample(now, totals)
			if d.events != nil && now.After(next) {
				next = now.Add(d.every)
				d.events.Progress(d.view.Frame(now))
			}
		}
	}
}

// Stopping says that sig asked the run to end, and what another one does.
func (d *Display) Stopping(sig os.Signal) {
	d.view.Stopping()
	d.Say("stopping after the current page; " + again(sig) + " stops at once")
}

// again says what a person does who sends a signal a second time.
func again(sig os.Signal) string {
	if sig != os.Interrupt {
		return "another signal"
	}
	return "ctrl-c again"
}

// Say says a line to a person who watches.
func (d *Display) Say(line string) {
	if d.shown != nil {
		d.shown.Say(line)
	}
}

// Write writes lines of a log where they disturb nothing else.
func (d *Display) Write(lines []byte) (int, error) {
	if d.shown != nil {
		return d.shown.Write(lines)
	}
	return d.err.Write(lines)
}

// Now says where the run stands, to a person who asked, however quiet it is else.
func (d *Display) Now() {
	frame := d.view.Frame(time.Now())
	switch {
	case d.events != nil:
		d.events.Progress(frame)
	case d.shown != nil:
		d.shown.Say(frame.Line(d.style))
	default:
		_, _ = io.WriteString(d.err, frame.Line(d.style)+"\n")
	}
}

// Close ends the display; it may be called again.
func (d *Display) Close() {
	d.mu.Lock()
	select {
	case <-d.stop:
		d.mu.Unlock()
		return
	default:
	}
	close(d.stop)
	d.mu.Unlock()
	<-d.stopped
	if d.shown != nil {
		d.shown.Close()
	}
}
