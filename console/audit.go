package console

import (
	"context"
	"strings"

	"collect/collection"
	"collect/internal/words"
	"collect/report"
)

// ordersOnPage is how many orders are shown at once.
const ordersOnPage = 100

// An auditPage is what people ordered, newest first.
type auditPage struct {
	Orders []ordered
	From   int
	Older  int
}

// An ordered is one order for the record.
type ordered struct {
	collection.Event
	Who, Why, What string
}

func audit(ctx context.Context, l lookup) (any, error) {
	page := auditPage{From: offset(l)}
	if l.db == nil {
		return page, nil
	}
	all, err := l.db.Orders(ctx, "", page.From+ordersOnPage+1)
	if err != nil {
		return nil, err
	}
	for _, e := range all[min(page.From, len(all)):] {
		who, why, _ := strings.Cut(e.Message, ": ")
		e.Message = ""
		page.Orders = append(page.Orders, ordered{e, words.Clean(who), words.Clean(why), report.EventWords(e)})
	}
	if len(page.Orders) > ordersOnPage {
		page.Orders, page.Older = page.Orders[:ordersOnPage], page.From+ordersOnPage
	}
	return page, nil
}
