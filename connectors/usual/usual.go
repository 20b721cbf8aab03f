// Package usual lists what APIs mostly call the things that lists of theirs have in
// common: totals, next pages, the parameters that ask for one, and the times of records.
package usual

import "collect/internal/lazy"

// TotalHeaders tell how many records a list has: those of WordPress, of json-server and
// many others, of Kinto, of Discourse and others, and of Yii.
var TotalHeaders = []string{"X-WP-Total", "X-Total-Count", "Total-Records", "X-Total", "X-Pagination-Total-Count"}

// PageHeaders tell how many pages a list has: those of WordPress, of GitLab and
// others, and of Yii.
var PageHeaders = []string{"X-WP-TotalPages", "X-Total-Pages", "X-Pagination-Page-Count"}

// Totals are members of a body that are named for the number of records of a list: of
// GitHub and Redmine, of many that spell it otherwise, of SCIM (RFC 7644), of
// PocketBase, of Spring, of OData 4 and of Hydra. Count is one, too, where it is not
// the number of records on a page.
var Totals = []string{"total_count", "totalCount", "total_results", "totalResults", "totalItems", "totalElements", "@odata.count", "hydra:totalItems", "total", Count}

// Count is the last of Totals.
const Count = "count"

// Wrappers are the members that hold what a body says of its list; "" is the body.
var Wrappers = []string{"", "meta", "pagination", "paging", "page", "_meta"}

// Mores are members that are true while there is more.
var Mores = []string{"has_more", "hasMore", "more", "has_next_page", "hasNextPage"}

// NextURLs are the paths of the address of the next page.
var NextURLs = []string{"next", "links.next", "_links.next.href", "paging.next", "pagination.next", "pagination.next_url", "next_page_url", "next_url", "meta.next", `@odata\.nextLink`, "nextLink", "nextRecordsUrl"}

// Links are the members of an object that stands where the address or the token of the next
// page does, in the order in which they are looked for: {"next": {"href": "/items?page=2"}}.
// HubSpot has a token and an address there: {"next": {"after": "100", "link": "https://…"}}.
var Links = []string{"href", "url", "after", "link"}

// A Token is the path of the token of the next page, and the parameter that takes it.
type Token struct{ Path, Param string }

// NextTokens are in the order in which they are looked for: what may be something else
// comes last. That of Reddit is data.after.
var NextTokens = []Token{
	{"next_cursor", "cursor"}, {"nextCursor", "cursor"}, {"meta.next_cursor", "cursor"}, {"pagination.next_cursor", "cursor"},
	{"response_metadata.next_cursor", "cursor"}, {"nextPageToken", "pageToken"}, {"next_page_token", "page_token"}, {"nextToken", "nextToken"},
	{"meta.next_token", "pagination_token"}, {"paging.cursors.after", "after"}, {"paging.next.after", "after"}, {"data.after", "after"}, {"cursor", "cursor"}, {"next", "cursor"},
}

// The parameters that take the number of a page, the number of records before it, and
// how many it has at most.
var (
	NumberParams = []string{"page", "page_number", "pageNumber", "p"}
	OffsetParams = []string{"offset", "skip", "startAt", "start"}
	SizeParams   = []string{"per_page", "limit", "page_size", "pageSize", "size", "count", "maxResults", "max_results"}
)

// ChangedField matches the fields of a record that tell when it changed.
var ChangedField = lazy.Regexp(`(?i)^(date_)?(updated|modified|changed|last_?modified|last_?updated)(_?(at|on|time|date|gmt))?$`)
