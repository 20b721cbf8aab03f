package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"collect/e2e/services"
)

func openDesk(t *testing.T, d services.Desk, err error, ticket func(json.RawMessage) (services.Ticket, error)) *desk {
	t.Helper()
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return &desk{d, openDoor(t, d.URL()), ticket}
}

func plainTicket(record json.RawMessage) (ticket services.Ticket, err error) {
	err = json.Unmarshal(record, &ticket)
	return ticket, err
}

func TestWordPress(t *testing.T) {
	t.Parallel()
	w, err := services.StartWordPress(t.TempDir())
	d := openDesk(t, w, err, func(record json.RawMessage) (services.Ticket, error) {
		var post struct {
			ID       int
			Title    struct{ Rendered string }
			Modified string `json:"modified_gmt"`
		}
		err := json.Unmarshal(record, &post)
		return services.Ticket{ID: post.ID, Title: post.Title.Rendered, Updated: post.Modified + "Z"}, err
	})
	const (
		number = "page: {number: {param: page, size_param: per_page, size: 20}}"
		end    = `on: [{status: [400], body: 'body.code == "rest_post_invalid_page_number"', verdict: ok}]`
	)
	for _, h := range []hour{
		{"number", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /wp-json/wp/v2/posts
    key: id
    since: {field: modified_gmt, param: modified_after, order: none, lookback: 1m}
    ` + number + `
    ` + end + `
`, []typo{
			{"key: id", "key: modified_gmt"},
			{"key: id", "key: author"},
			{"param: page,", "param: pg,"},
			{"size_param: per_page", "size_param: perpage"},
			{"size: 20", "size: 2000"},
			{"param: modified_after", "param: updated_after"},
			{"param: modified_after", "param: modified_before"},
			{"field: modified_gmt", "field: modified_at"},
			{"field: modified_gmt", "field: date_gmt"},
			{"number: {param: page", "number: {param: page, start: 0"},
			{"number: {param: page", "number: {param: page, start: 2"},
			{number, "page: {offset: {param: page, limit_param: per_page, limit: 20}}"},
			{number, "page: {none: true}"},
		}},
		{"link", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /wp-json/wp/v2/posts
    query: {per_page: 20}
    key: id
    page: {link_header: next}
`, []typo{
			{"link_header: next", "link_header: nxt"},
			{"link_header: next", `link_header: "https://api.w.org/"`},
			{"page: {link_header: next}", "page: {none: true}"},
			{"page: {link_header: next}", "page: {cursor: {from: next, param: page}}"},
			{"page: {link_header: next}", "page: {offset: {param: offset, limit: 100}}"},
			{"page: {link_header: next}", "page: {number: {param: paged}}"},
		}},
	} {
		t.Run(h.name, func(t *testing.T) { d.play(t, h) })
	}

	// MariaDB may order the posts of one second otherwise for each page, so that
	// some are on none; it does for those of Debian's WordPress.
	ascending := `
streams:
  tickets:
    get: /wp-json/wp/v2/posts
    query: {orderby: modified, order: asc}
    key: id
    since: {field: modified_gmt, param: modified_after, order: asc}
    ` + number + `
    ` + end + `
`
	t.Run("unordered", func(t *testing.T) {
		must(t, d.Fill(firstDay()))
		u := d.user(t, ascending)
		for _, step := range []string{"first run", "second run"} {
			d.door.after(0, nil)
			w := d.run(t, u)
			now := d.stored(t)
			if whole := d.judge(t, step, u, w, now, now); whole != (w.code == 0) {
				t.Errorf("%s: exit %d, whole: %t", step, w.code, whole)
			}
		}
		d.edit(t, u, strings.NewReplacer("orderby: modified", "orderby: id", "order: asc}\n    page", "order: none, lookback: 1m}\n    page").Replace(ascending))
		d.reset(t, u)
		d.door.after(0, nil)
		d.whole(t, "by id", u, d.run(t, u))
	})
}

func TestDatasette(t *testing.T) {
	t.Parallel()
	ds, err := services.StartDatasette(filepath.Join("..", ".cache", "pypi"), t.TempDir())
	d := openDesk(t, ds, err, plainTicket)
	const cursor = "page: {cursor: {from: next, param: _next}}"
	for _, h := range []hour{
		{"cursor", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /desk/tickets.json
    query: {_shape: objects, _size: 20, _sort: updated}
    records: rows
    key: id
    since: {field: updated, param: updated__gte, order: asc}
    ` + cursor + `
`, []typo{
			{"key: id", "key: updated"},
			{"records: rows", "records: row"},
			{"records: rows", "records: columns"},
			{"records: rows", "records: expanded_columns"},
			{"from: next,", "from: next_page,"},
			{"from: next,", "from: next_url,"},
			{"from: next,", "from: next_page, optional: true,"},
			{"param: updated__gte", "param: updated__gt"},
			{"field: updated", "field: modified"},
			{"field: updated", "field: title"},
			{", _sort: updated", ""},
			{cursor, "page: {none: true}"},
			{cursor, "page: {number: {param: _page, total_pages: pages}}"},
			{cursor, "page: {cursor: {from: next, param: _next, more: truncated}}"},
		}},
		{"url", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /desk/tickets.json
    query: {_shape: objects, _size: 20}
    records: rows
    key: id
    since: {field: updated, param: updated__gte, order: none, lookback: 1m}
    page: {next_url: next_url}
`, []typo{
			{"records: rows", "records: primary_keys"},
			{"next_url: next_url", "next_url: next"},
			{"next_url: next_url", "next_url: links.next"},
			{"next_url: next_url", "next_url: {path: nexturl, optional: true}"},
			{"param: updated__gte", "param: updated"},
		}},
		{"link", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /desk/tickets.json
    query: {_shape: array, _size: 20}
    key: id
    page: {link_header: next}
`, []typo{
			{"link_header: next", "link_header: nxt"},
			{"page: {link_header: next}", "page: {none: true}"},
			{"page: {link_header: next}", "page: {offset: {param: offset, limit_param: limit, limit: 100}}"},
		}},
		{"last", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /desk/tickets.json
    query: {_shape: array, _size: 20, _sort: id}
    key: id
    page: {last_id: {param: id__gt, field: id}}
`, []typo{
			{"param: id__gt", "param: id__gte"},
		}},
		{"graphql", "days delete move tie swap killed resized again", `
streams:
  tickets:
    post: /graphql
    graphql:
      query: |
        query($after: String, $since: String) {
          tickets(first: 20, after: $after, sort: updated, filter: {updated: {gte: $since}}) {
            totalCount
            pageInfo { hasNextPage endCursor }
            nodes { id title updated }
          }
        }
      variables: {after: "${page}", since: "${since}"}
    records: data.tickets.nodes
    key: id
    page: {relay: data.tickets}
    since: {field: updated, order: asc}
`, []typo{
			{"key: id", "key: updated"},
			{"records: data.tickets.nodes", "records: data.tickets"},
			{"records: data.tickets.nodes", "records: tickets.nodes"},
			{"relay: data.tickets", "relay: data.ticket"},
			{"relay: data.tickets", "relay: tickets"},
			{"after: $after, ", ""},
			{`after: "${page}", `, ""},
			{"page: {relay: data.tickets}", "page: {none: true}"},
			{"page: {relay: data.tickets}", "page: {cursor: {from: data.tickets.pageInfo.endCursor, param: after}}"},
			{"hasNextPage endCursor", "endCursor"},
			{"hasNextPage endCursor", "hasNextPage"},
			{"sort: updated", "sort: title"},
			{"filter: {updated: {gte: $since}}", "filter: {updated: {lte: $since}}"},
		}},
	} {
		t.Run(h.name, func(t *testing.T) { d.play(t, h) })
	}
}

func TestJSONServer(t *testing.T) {
	t.Parallel()
	j, err := services.StartJSONServer(filepath.Join("..", ".cache", "npm"))
	d := openDesk(t, j, err, plainTicket)
	for _, h := range []hour{
		{"ascending", "days delete move tie swap killed resized", `
streams:
  tickets:
    get: /tickets
    query: {_sort: updated}
    key: id
    since: {field: updated, param: updated_gte, order: asc}
    page: {offset: {param: _start, limit_param: _limit, limit: 20}}
`, []typo{
			{"key: id", "key: updated"},
			{"param: _start", "param: start"},
			{"param: _start", "param: _page"},
			{"limit_param: _limit", "limit_param: limit"},
			{"param: updated_gte", "param: updated_since"},
			{"field: updated", "field: updatedAt"},
			{"{_sort: updated}", "{_sort: id}"},
			{"{_sort: updated}", "{_sort: updated, _order: desc}"},
		}},
		{"offset", "days delete move tie swap killed resized again", `
streams:
  tickets:
    get: /tickets
    key: id
    page: {offset: {param: _start, limit_param: _limit, limit: 20}}
`, []typo{
			{"param: _start", "param: _page"},
			{"limit_param: _limit", "limit_param: limit"},
		}},
		{"number", "days delete move tie killed resized again", `
streams:
  tickets:
    get: /tickets
    key: id
    since: {field: updated, param: updated_gte, order: none, lookback: 1m}
    page: {number: {param: _page, size_param: _limit, size: 20}}
`, []typo{
			{"size_param: _limit", "size_param: _size"},
			{"param: _page", "param: page"},
			{"param: _page", "param: _page, start: 0"},
			{"param: _page", "param: _page, start: 2"},
		}},
		{"link", "days delete move tie killed resized again", `
streams:
  tickets:
    get: /tickets
    query: {_page: 1, _limit: 20}
    key: id
    page: {link_header: next}
`, []typo{
			{"link_header: next", "link_header: nxt"},
			{"link_header: next", "link_header: last"},
			{"link_header: next", "link_header: first"},
			{"_page: 1", "page: 1"},
			{"page: {link_header: next}", "page: {none: true}"},
			{"_page: 1, _limit: 20}\n    key: id\n    page: {link_header: next}", "_limit: 20}\n    key: id\n    page: {none: true}"},
		}},
	} {
		t.Run(h.name, func(t *testing.T) { d.play(t, h) })
	}
}
