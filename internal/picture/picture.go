// Package picture draws what a terminal and a web page both show. A picture is made
// once from data, and rendered twice: as text in a number of columns, and as SVG in
// one of two sizes.
//
// A picture in SVG has no style attribute, so that a strict Content-Security-Policy
// allows it. Its colours are classes of [CSS], and its hatching refers to [Sprite],
// which a page has once. It is not scaled: a page shows [Wide] or [Narrow], whichever
// fits, and text has the same size in both.
package picture

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// A Size is the width of a picture in SVG, in pixels of CSS.
type Size int

// The sizes: for a page of at least 760 pixels, and for one of at least 340.
const (
	Wide   Size = 720
	Narrow Size = 320
)

// The sizes of text, in pixels: a reader sees 10.5 at least, and 16 at most.
const (
	textSize  = 12.0
	smallText = 11.0
)

// Sprite has the hatching of all pictures. A page holds it once, before the first
// picture, and never hides it with display:none: patterns vanish with it.
const Sprite = `<svg class="pic-sprite" width="0" height="0" aria-hidden="true" focusable="false"><defs>` +
	`<pattern id="pic-hatch" width="6" height="6" patternUnits="userSpaceOnUse"><path class="pic-line" d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5"/></pattern>` +
	`<pattern id="pic-cross" width="7" height="7" patternUnits="userSpaceOnUse"><path class="pic-alarm-line" d="M1 1L6 6M6 1L1 6"/></pattern>` +
	`<pattern id="pic-dots" width="5" height="5" patternUnits="userSpaceOnUse"><circle class="pic-dot" cx="2.5" cy="2.5" r="0.8"/></pattern>` +
	`<pattern id="pic-bars" width="4" height="4" patternUnits="userSpaceOnUse"><path class="pic-line" d="M1 0V4"/></pattern>` +
	`<pattern id="pic-rows" width="4" height="4" patternUnits="userSpaceOnUse"><path class="pic-line" d="M0 1H4"/></pattern>` +
	`<pattern id="pic-grid" width="5" height="5" patternUnits="userSpaceOnUse"><path class="pic-line" d="M0 1H5M1 0V5"/></pattern>` +
	`</defs></svg>`

// CSS has the colours of all pictures, for a light and for a dark page.
const CSS = `.pic{color-scheme:light dark;display:block;font-family:system-ui,sans-serif}
.pic text{fill:currentColor}.pic .pic-soft{fill:light-dark(#59636e,#9198a1)}
.pic-full{fill:light-dark(#3b6ea5,#6fa3d8)}.pic-half{fill:light-dark(#8ab4d8,#3c6187)}
.pic-open{fill:none;stroke:light-dark(#59636e,#9198a1)}
.pic-edge{stroke:light-dark(#59636e,#9198a1);stroke-width:1}
.pic-line{fill:none;stroke:light-dark(#1f2328,#e6edf3);stroke-width:1.2}
.pic-alarm{stroke:light-dark(#b3261e,#ff8a80);stroke-width:1}
.pic-alarm-line{fill:none;stroke:light-dark(#b3261e,#ff8a80);stroke-width:1.4}
.pic-dot{fill:light-dark(#59636e,#9198a1)}
.pic-axis{fill:none;stroke:light-dark(#59636e,#9198a1)}
.pic-limit{fill:none;stroke:light-dark(#1f2328,#e6edf3);stroke-width:1.5;stroke-dasharray:5 3}
.pic-step{fill:none;stroke:light-dark(#1f2328,#e6edf3);stroke-width:1.5}
@media (forced-colors:active){.pic-full,.pic-half{fill:CanvasText}.pic-open,.pic-edge,.pic-line,.pic-axis,.pic-limit,.pic-step,.pic-alarm,.pic-alarm-line{stroke:CanvasText}.pic-dot{fill:CanvasText}}
`

// A canvas is a picture in SVG that grows element by element.
type canvas struct {
	strings.Builder
	width  int
	height int
}

// draw adds an element, or a part of one.
func (c *canvas) draw(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text adds text whose baseline is at y. anchor is start, middle or end.
func (c *canvas) text(x, y, size float64, class, anchor, text string) {
	c.draw(`<text x="%.1f" y="%.1f" font-size="%g" class="%s" text-anchor="%s">%s</text>`, x, y, size, class, anchor, escape(text))
}

// box adds a rectangle with what a pointer over it is told.
func (c *canvas) box(x, y, width, height float64, look, told string) {
	c.draw(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s><title>%s</title></rect>`, x, y, width, height, look, escape(told))
}

// svg returns the picture. sentence says what it shows to a person who does not see it.
func (c *canvas) svg(sentence string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="pic" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%s">%s</svg>`,
		c.width, c.height, escape(sentence), c.String())
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}

// room is about the width of text in pixels: letters of a font for screens are three
// fifths as wide as high, or narrower.
func room(text string, size float64) float64 { return float64(len([]rune(text))) * size * 0.6 }

// fit returns text cut to a width in pixels.
func fit(text string, size, width float64) string {
	letters := []rune(text)
	if room(text, size) <= width {
		return text
	}
	return string(letters[:max(0, int(width/size/0.6)-1)]) + "…"
}

// A key says what a look stands for.
type key struct {
	look, word string
	path       string // that is drawn with the look, from the corner of a square of 12; "": the square
}

// legend adds keys from left to right, on as many lines as they need, and returns
// where the next line is.
func (c *canvas) legend(left, y float64, keys []key) float64 {
	x := left
	for _, k := range keys {
		k.word = fit(k.word, textSize, float64(c.width)-left-18)
		need := 18 + room(k.word, textSize) + 16
		if x > left && x+need-16 > float64(c.width) {
			x, y = left, y+20
		}
		if k.path == "" {
			c.draw(`<rect x="%.1f" y="%.1f" width="12" height="12" %s/>`, x, y, k.look)
		} else {
			c.draw(`<path d="M%.1f %.1f%s" %s/>`, x, y, k.path, k.look)
		}
		c.text(x+18, y+10.5, textSize, "pic-word", "start", k.word)
		x += need
	}
	return y + 20
}

// glyphs returns the runes of the alphabet that an output can show.
func glyphs(utf8 bool, full, plain string) []rune {
	if utf8 {
		return []rune(full)
	}
	return []rune(plain)
}
