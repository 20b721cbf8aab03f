package declarative

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// sizedPage fetches the page at a cursor, and returns the cursor as the paging of that
// size writes it. A page that was too much at once is asked for with fewer records:
// once for each answer that says so, down to the least size.
func (w *walk) sizedPage(ctx context.Context, at collection.Cursor) (*paging.Page, collection.Cursor, error) {
	if w.st.Size == nil {
		p, err := w.page(ctx, at.Token)
		return p, at, err
	}
	sizes, bound := w.sizesAt(at.Token)
	for i, size := range sizes {
		last := i == len(sizes)-1
		asks := ctx
		if !last {
			asks = collection.WithSmaller(ctx)
		}
		token := w.ofSize(at.Token, size)
		p, err := w.page(asks, token)
		if err == nil {
			w.st.Size.Had(size)
			at.Token = token
			return p, at, nil
		}
		stop, ok := errors.AsType[*collection.Stop](err)
		if !ok || !paging.TooMuch(stop) || errors.Is(stop, collection.ErrDeclared) {
			return nil, at, err
		}
		w.st.Size.Refused(size)
		if last {
			return nil, at, tooMuch(stop, size, bound)
		}
	}
	return nil, at, nil // not reached: there is at least one size
}

// tooMuch says why no smaller page was asked for.
func tooMuch(stop *collection.Stop, size int, bound bool) error {
	why := fmt.Sprintf("a page of %s is the least that `size` allows", records(size))
	if bound {
		why = fmt.Sprintf("its size cannot be less than %d here, because a page before it had fewer records than it was asked for: page numbers of another size would pass records by", size)
	}
	again := *stop
	if again.Detail != "" {
		why = again.Detail + "; " + why
	}
	again.Detail = why
	return &again
}

// sizesAt returns the sizes with which the page at token may be asked for. bound
// reports whether a smaller one is not among them because of where the page begins.
func (w *walk) sizesAt(token string) (sizes []int, bound bool) {
	pg, ok := w.kind.(paging.Sized)
	for _, size := range w.st.Size.Sizes() {
		if bound = false; ok {
			_, _, begins := pg.Sized(token, size)
			bound = !begins
		}
		if !bound {
			sizes = append(sizes, size)
		}
	}
	if len(sizes) == 0 {
		sizes = []int{pg.SizeAt(token)}
	}
	return sizes, bound
}

// ofSize has pages of size records asked for from now on, and returns the token of
// the page at token among them.
func (w *walk) ofSize(token string, size int) string {
	w.size = size
	text := strconv.Itoa(size)
	w.scope.Vars["size"], w.scope.Raw["size"] = text, json.RawMessage(text)
	if pg, ok := w.kind.(paging.Sized); ok {
		w.st.Page, token, _ = pg.Sized(token, size)
	}
	return token
}
