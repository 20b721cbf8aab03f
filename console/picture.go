package console

import (
	"context"
	"html/template"
	"io"
	"net/http"

	"collect/internal/picture"
	"collect/internal/words"
	"collect/report"
)

// A drawing is a picture in the two sizes of which a page shows one.
type drawing struct {
	Wide, Narrow template.HTML
	Said         string // its numbers, where nothing beside it says them
}

// draw renders a picture. It escapes what it is made of itself.
func draw(p interface{ SVG(picture.Size) string }) *drawing {
	return &drawing{Wide: template.HTML(p.SVG(picture.Wide)), Narrow: template.HTML(p.SVG(picture.Narrow))} // #nosec G203 -- see above
}

// drawSaid renders a picture with its numbers in words.
func drawSaid(p interface {
	SVG(picture.Size) string
	Sentence() string
}) *drawing {
	d := draw(p)
	d.Said = p.Sentence()
	return d
}

// rate draws how fast an account was asked; nil if nothing is known of it.
func rate(past report.Past, a *report.Account) *drawing {
	r := past.Rate(a)
	if r.Empty() {
		return nil
	}
	return drawSaid(r)
}

// breaker draws when requests to an account could leave; nil if nothing is known of it.
func breaker(past report.Past, a *report.Account) *drawing {
	if a == nil {
		return nil
	}
	return drawSaid(past.Breaker(a))
}

// owing draws what connectors owed in the last two weeks, and owe now; all connectors, if none
// is named. It is nil if nothing was owed.
func (l lookup) owing(ctx context.Context, all []report.Status, connectors ...string) (*drawing, error) {
	if l.db == nil {
		return nil, nil
	}
	from := l.now.Add(-14 * day)
	moves, err := l.db.Moves(ctx, from, connectors...)
	if err != nil {
		return nil, err
	}
	b := report.BurndownOf(all, moves, from, l.now)
	if b.Peak() == 0 {
		return nil, nil
	}
	return drawSaid(b), nil
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
