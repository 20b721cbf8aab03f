package term

import "strings"

// A Page is text for a person that grows line by line.
type Page struct {
	Columns int // that a line may take
	Label   int // columns of a label and the space behind it
	lines   []string
	drawn   map[int]bool // lines that are in the letters of the output already
}

// Say adds text.
func (p *Page) Say(text string) { p.lines = append(p.lines, Wrap("", text, p.Columns)...) }

// Fact adds text with what it is about, or without it under the one before. It
// adds nothing if the text is "".
func (p *Page) Fact(label, text string) {
	if text != "" {
		p.lines = append(p.lines, Wrap("  "+Pad(label, p.Label-1, false)+" ", text, p.Columns)...)
	}
}

// Indented adds text without a label.
func (p *Page) Indented(text string) { p.lines = append(p.lines, Wrap("  ", text, p.Columns)...) }

// Add adds lines as they are.
func (p *Page) Add(lines ...string) { p.lines = append(p.lines, lines...) }

// Drawn adds a line of a picture, which is in letters that the output can show.
func (p *Page) Drawn(line string) {
	if p.drawn == nil {
		p.drawn = map[int]bool{}
	}
	p.drawn[len(p.lines)] = true
	p.lines = append(p.lines, line)
}

// Render returns the page for an output that can show c.
func (p *Page) Render(c Caps) string {
	var b strings.Builder
	for i, line := range p.lines {
		if line = strings.TrimRight(line, " "); !p.drawn[i] {
			line = c.Text(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
