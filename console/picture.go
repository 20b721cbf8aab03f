package console

import (
	"html/template"
	"io"
	"net/http"

	"collect/internal/picture"
	"collect/internal/words"
	"collect/report"
)

// A drawing is a picture in the two sizes of which a page shows one.
type drawing struct{ Wide, Narrow template.HTML }

// draw renders a picture. It escapes what it is made of itself.
func draw(p interface{ SVG(picture.Size) string }) *drawing {
	return &drawing{template.HTML(p.SVG(picture.Wide)), template.HTML(p.SVG(picture.Narrow))} // #nosec G203 -- see above
}

// stack draws where the time of a run went; nil if there is nothing to draw.
func stack(took string, parts []report.TimePart) *drawing {
	s := picture.Stack{Title: "where the " + took + " went"}
	for _, p := range parts {
		s.Parts = append(s.Parts, picture.Part{Name: p.What, Value: p.Took.Seconds(), Text: words.Span(words.Tenth(p.Took))})
	}
	if len(parts) == 0 {
		return nil
	}
	return draw(s)
}

// Sprite is the hatching of the pictures.
func (frame) Sprite() template.HTML { return template.HTML(picture.Sprite) } // #nosec G203 -- a constant

// pictureCSS serves the colours of the pictures.
func pictureCSS(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = io.WriteString(w, picture.CSS)
}
