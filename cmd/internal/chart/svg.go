package chart

import (
	"encoding/xml"
	"fmt"
	"strings"

	"collect/internal/words"
)

// The places in the SVG picture, in its pixels. It is shown at this size:
// scaled, its text would be too small or too large to read.
const (
	svgWidth, svgHeight = 720, 300
	svgLeft, svgRight   = 64, 704
	svgTop, svgBottom   = 56, 232
	svgMarks            = 240 // top of the row of refusals
)

// svgStyle has the colors for a light and for a dark page. Each thing differs
// from the others in form as well.
const svgStyle = `<style>
svg{color-scheme:light dark;font:12px system-ui,sans-serif}
.page{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.axis{stroke:#59636e}
.answered{fill:#8ab4f8}.limit{fill:none;stroke:#1f2328;stroke-width:1.5;stroke-dasharray:5 3}.refused{stroke:#c4320a;stroke-width:2}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#e6edf3}.soft{fill:#9198a1}.axis{stroke:#9198a1}
.answered{fill:#2f5d9e}.limit{stroke:#e6edf3}.refused{stroke:#ff8a65}}
</style>
`

// svg draws p as a picture that stands alone: no script, no font and no
// file of somebody else's.
func (p picture) svg() string {
	n, most := len(p.Moments), p.most()
	x := func(i int) float64 { return svgLeft + float64(svgRight-svgLeft)*float64(i)/float64(max(1, n)) }
	y := func(rate float64) float64 { return svgBottom - (svgBottom-svgTop)*min(1, rate/most) }
	var answered, limit, refused strings.Builder
	fmt.Fprintf(&answered, "M%d %d", svgLeft, svgBottom)
	for i, m := range p.Moments {
		fmt.Fprintf(&answered, "V%.1fH%.1f", y(m.Answered), x(i+1))
		verb := "V"
		if i == 0 {
			verb = fmt.Sprintf("M%d ", svgLeft)
		}
		fmt.Fprintf(&limit, "%s%.1fH%.1f", verb, y(m.Capacity), x(i+1))
		if m.Refused > 0 {
			height := 3 + min(m.Refused, 9)
			fmt.Fprintf(&refused, "M%.1f %dv%d", (x(i)+x(i+1))/2, svgMarks, height)
		}
	}
	fmt.Fprintf(&answered, "V%dZ", svgBottom)

	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d" role="img" aria-labelledby="t d">`,
		svgWidth, svgHeight, svgHeight)
	line(`<title id="t">%s</title>`, escapeXML(p.Title))
	line(`<desc id="d">%s. %s refused in %s; the highest limit is %s.</desc>`, escapeXML(p.About),
		words.Counted(int64(p.refused()), "request was", "requests were"), words.Span(p.length()), words.Rate(most))
	b.WriteString(svgStyle)
	text := func(x, y int, class, anchor, s string) {
		line(`<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, escapeXML(s))
	}
	line(`<rect class="page" width="%d" height="%d"/>`, svgWidth, svgHeight)
	text(16, 22, "ink", "start", p.Title)
	text(16, 40, "soft", "start", p.About)
	line(`<path class="answered" d="%s"/>`, answered.String())
	line(`<path class="limit" d="%s"/>`, limit.String())
	line(`<path class="refused" d="%s"/>`, refused.String())
	line(`<path class="axis" fill="none" d="M%d %dV%dH%d"/>`, svgLeft, svgTop, svgBottom, svgRight)
	text(svgLeft-6, svgTop+4, "soft", "end", words.Rate(most))
	text(svgLeft-6, svgBottom, "soft", "end", "0")
	text(svgLeft-6, svgMarks+10, "soft", "end", "refused")
	text(svgLeft, svgMarks+30, "soft", "start", "0")
	text(svgRight, svgMarks+30, "soft", "end", words.Span(p.length()))
	text(svgLeft, svgMarks+50, "soft", "start", "area: answered. dashes: the limit. strokes: refused, longer for more.")
	b.WriteString("</svg>\n")
	return b.String()
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}
