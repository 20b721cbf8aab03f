package live

import (
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/internal/words"
)

// A Together shows several runs side by side: as one block with a line for each, as
// plain lines, or as events, each with the name of its connector. It is safe for
// concurrent use.
type Together struct {
	config Config
	events *Events // nil: no events
	block  *Block  // nil: no block

	mu       sync.Mutex
	rows     []Row
	displays []*Display // nil: a run that has not begun
	stopping bool
}

// StartTogether shows the runs of the connectors with these names until it is
// closed. What is of one run in c is given to [Together.Begin].
func StartTogether(c Config, names []string) *Together {
	t := &Together{config: c, displays: make([]*Display, len(names))}
	for _, name := range names {
		t.rows = append(t.rows, Row{Name: name})
	}
	t.config.Err = &oneByOne{out: c.Err}
	switch c.Mode {
	case config.ProgressJSON:
		t.events = NewEvents(c.Out)
	case config.ProgressLive:
		t.block = startBlock(&Block{out: c.Err, size: c.Size, caps: c.Caps, frame: t.frame})
	}
	return t
}

// Events returns the writer of events; nil if there are none.
func (t *Together) Events() *Events { return t.events }

// Moved says that a run waits for its turn, or for its lease.
func (t *Together) Moved(i int, stage Stage) {
	t.mu.Lock()
	t.rows[i].Stage = stage
	name := t.rows[i].Name
	t.mu.Unlock()
	if t.config.Mode == config.ProgressPlain && stage == Queued {
		t.Say(newLine(time.Now(), t.config.Style, priorityInfo, name, "queued").String())
	}
}

// Begin shows a run that has begun. Its display ends with [Together.End].
func (t *Together) Begin(i int, streams []StreamTotal, totals func() Totals) *Display {
	c := t.config
	c.Streams, c.Totals = streams, totals
	d := newDisplay(c)
	d.events = t.events
	switch {
	case t.block != nil:
		d.shown = t.block.part(&d.view, t.rows[i].Name)
	case c.Mode == config.ProgressPlain:
		d.shown = StartPlain(c.Err, c.Style, d.every, &d.view)
	}
	t.mu.Lock()
	t.displays[i], t.rows[i].Stage = d, Working
	if t.stopping {
		d.view.Stopping()
	}
	t.mu.Unlock()
	go d.sample(time.Now())
	return d
}

// End says how a run ended, or why it did not begin: in a word, whether it needs a
// person, and what comes next.
func (t *Together) End(i int, word, why string, needs bool, next string) {
	t.mu.Lock()
	row := &t.rows[i]
	row.Stage, row.Word, row.Needs, row.Next = Over, word, needs, next
	d, name := t.displays[i], row.Name
	t.mu.Unlock()
	if d != nil {
		d.Close()
	}
	now := time.Now()
	switch {
	case t.block != nil:
		t.Say((&story{name: name}).line(now, words.WithReason(word, words.Clean(why))))
	case t.config.Mode == config.ProgressPlain:
		priority := priorityInfo
		if needs {
			priority = priorityWarning
		}
		t.Say(newLine(now, t.config.Style, priority, name, "ended").add("outcome", word).add("why", why).String())
	}
}

// Stopping says that sig asked the runs to end, and what another one does.
func (t *Together) Stopping(sig os.Signal) {
	t.mu.Lock()
	t.stopping = true
	for _, d := range t.displays {
		if d != nil {
			d.view.Stopping()
		}
	}
	t.mu.Unlock()
	t.Say("stopping each after its current page; " + again(sig) + " stops at once")
}

// Say says a line to a person who watches.
func (t *Together) Say(line string) {
	switch {
	case t.block != nil:
		t.block.Say(line)
	case t.config.Mode == config.ProgressPlain:
		io.WriteString(t.config.Err, line+"\n")
	}
}

// Write writes lines of a log where they disturb nothing else.
func (t *Together) Write(lines []byte) (int, error) {
	if t.block != nil {
		return t.block.Write(lines)
	}
	return t.config.Err.Write(lines)
}

// Now says where each run stands that has begun and is not over, to a person who asked.
func (t *Together) Now() {
	t.mu.Lock()
	var working []*Display
	for i, d := range t.displays {
		if d != nil && t.rows[i].Stage == Working {
			working = append(working, d)
		}
	}
	t.mu.Unlock()
	for _, d := range working {
		d.Now()
	}
}

// Close ends the display and leaves the terminal as it was; it may be called again.
func (t *Together) Close() {
	t.mu.Lock()
	displays := slices.Clone(t.displays)
	t.mu.Unlock()
	for _, d := range displays {
		if d != nil {
			d.Close()
		}
	}
	if t.block != nil {
		t.block.Close()
	}
}

// frame returns the block as it is now.
func (t *Together) frame(now time.Time, columns, rows int) []string {
	t.mu.Lock()
	all := make([]Row, len(t.rows))
	for i, row := range t.rows {
		if all[i] = row; t.displays[i] != nil {
			all[i].Frame = t.displays[i].view.Frame(now)
		}
	}
	stopping := t.stopping
	t.mu.Unlock()
	return togetherBlock(all, stopping, columns, rows, t.config.Caps)
}

// A part is one run of a block of several.
type part struct {
	*Block
	view *View
	tale *story
}

func (b *Block) part(v *View, name string) *part {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &part{b, v, &story{name: name}}
	b.tales = append(b.tales, p.tale)
	return p
}

// Observe takes in what happened to the run.
func (p *part) Observe(e collection.Event) {
	p.view.Observe(e)
	p.tell(p.tale, e)
}

// Close leaves the block to the other runs.
func (p *part) Close() {}

// oneByOne lets several runs write lines to one output.
type oneByOne struct {
	mu  sync.Mutex
	out io.Writer
}

func (o *oneByOne) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(b)
}
