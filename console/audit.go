package console

import (
	"context"
	"slices"
	"strings"

	"collect/collection"
	"collect/fleet"
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
	until := page.From + ordersOnPage + 1
	events, err := l.db.Orders(ctx, "", until)
	if err != nil {
		return nil, err
	}
	var all []ordered
	for _, e := range events {
		who, why, _ := strings.Cut(e.Message, ": ")
		e.Message = ""
		all = append(all, ordered{e, words.Clean(who), words.Clean(why), report.EventWords(e)})
	}
	if l.server.fleet.Load() {
		given, err := fleet.Orders(ctx, l.db, until)
		if err != nil {
			return nil, err
		}
		for _, o := range given {
			all = append(all, ordered{collection.Event{Time: o.At, Connector: o.Connector}, words.Clean(o.Who), words.Clean(o.Why), words.Clean(o.Words())})
		}
		slices.SortStableFunc(all, func(a, b ordered) int { return b.Time.Compare(a.Time) })
	}
	page.Orders = all[min(page.From, len(all)):]
	if len(page.Orders) > ordersOnPage {
		page.Orders, page.Older = page.Orders[:ordersOnPage], page.From+ordersOnPage
	}
	return page, nil
}
