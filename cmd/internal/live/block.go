package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
)

const (
	// framesPerSecond is fast enough for a countdown, and slow enough for a
	// remote terminal.
	framesPerSecond = 2
	// linesPerFrame bounds what scrolls above the block in one frame.
	linesPerFrame = 20
)

// Control sequences: the private modes of synchronized output and of the
// cursor (DEC), and erasing a line (ECMA-48, EL). To the end of the screen (ED)
// nothing is erased: from its first row on, a terminal such as tmux moves what
// was there into its history, where each frame would be found again.
const (
	syncBegin  = "\x1b[?2026h"
	syncEnd    = "\x1b[?2026l"
	cursorHide = "\x1b[?25l"
	cursorShow = "\x1b[?25h"
	eraseLine  = "\x1b[2K"
)

// A Block is the block at the bottom of a terminal. It redraws itself twice a
// second; lines scroll above it.
type Block struct {
	out   io.Writer
	size  func() (columns, rows int)
	caps  term.Caps
	view  *View // nil: the block is of several runs
	frame func(now time.Time, columns, rows int) []string

	mu      sync.Mutex
	tales   []*story
	said    []string
	unsaid  int // lines that did not fit into the frame
	logged  []byte
	drawn   []int // widths of the lines of the block on the screen
	closed  bool
	stop    chan struct{}
	stopped chan struct{}
}

var _ Progress = (*Block)(nil)

// StartBlock draws v on out, which is a terminal, until it is closed.
func StartBlock(out io.Writer, size func() (columns, rows int), c term.Caps, v *View) *Block {
	return startBlock(&Block{
		out: out, size: size, caps: c, view: v, tales: []*story{{}},
		frame: func(now time.Time, columns, rows int) []string { return v.Frame(now).Block(columns, rows, c) },
	})
}

func startBlock(b *Block) *Block {
	b.stop, b.stopped = make(chan struct{}), make(chan struct{})
	io.WriteString(b.out, cursorHide)
	go b.redraw()
	return b
}

func (b *Block) redraw() {
	defer close(b.stopped)
	tick := time.NewTicker(time.Second / framesPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case now := <-tick.C:
			b.draw(now)
		}
	}
}

// Observe takes in what happened.
func (b *Block) Observe(e collection.Event) {
	b.view.Observe(e)
	b.tell(b.tales[0], e)
}

// tell writes what a story has to say of e.
func (b *Block) tell(tale *story, e collection.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range tale.tell(e) {
		b.say(line)
	}
}

// Say writes a line above the block.
func (b *Block) Say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		fmt.Fprintln(b.out, b.caps.Text(line))
		return
	}
	b.say(line)
}

// Write writes lines above the block, all of them: those of a log.
func (b *Block) Write(lines []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.out.Write(lines)
	}
	b.logged = append(b.logged, lines...)
	return len(lines), nil
}

func (b *Block) say(line string) {
	if len(b.said) >= linesPerFrame {
		b.unsaid++
		return
	}
	b.said = append(b.said, line)
}

// Close erases the block, writes what was said and shows the cursor again.
func (b *Block) Close() {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.closed = true
	b.mu.Unlock()

	close(b.stop)
	<-b.stopped
	b.draw(time.Now())
}

// draw replaces the block on the screen by what was said and a new block; when
// closed, by nothing and a visible cursor.
func (b *Block) draw(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	columns, rows := b.size()

	var text strings.Builder
	text.WriteString(syncBegin)
	text.WriteString(erase(min(b.height(columns), rows-1)))
	for _, tale := range b.tales {
		b.said = append(b.said, tale.due(now)...)
		if b.closed {
			b.said = append(b.said, tale.rest(now)...)
		}
	}
	text.Write(b.logged)
	for _, line := range b.said {
		text.WriteString(b.caps.Text(line) + "\n")
	}
	if b.unsaid > 0 {
		fmt.Fprintf(&text, "          and %s\n", words.Counted(int64(b.unsaid), "more line", "more lines"))
	}
	b.logged, b.said, b.unsaid, b.drawn = nil, nil, 0, nil
	if b.closed {
		text.WriteString(cursorShow)
	} else {
		for _, line := range b.frame(now, columns, rows) {
			text.WriteString(line + "\n")
			b.drawn = append(b.drawn, term.Width(words.Escapes().ReplaceAllString(line, "")))
		}
	}
	text.WriteString(syncEnd)
	io.WriteString(b.out, text.String())
}

// erase returns what empties the rows above the cursor and goes to the first of
// them.
func erase(rows int) string {
	if rows <= 0 {
		return "\r"
	}
	up := fmt.Sprintf("\r\x1b[%dA", rows)
	return up + strings.Repeat(eraseLine+"\x1b[1B", rows) + up
}

// height returns the rows that the block takes on the screen now: a terminal
// that became narrower has wrapped its lines.
func (b *Block) height(columns int) int {
	rows := 0
	for _, w := range b.drawn {
		rows += max(1, (w+columns-1)/max(1, columns))
	}
	return rows
}
