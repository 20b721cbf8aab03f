package wire

import (
	"strconv"
	"strings"
	"sync"

	"collect/internal/lazy"
)

var (
	translated sync.Map // statements by those they were; their number is fixed

	// hints tell SQLite how to go about a query.
	hints = lazy.Regexp(`(?i)\s+(NOT INDEXED|INDEXED BY \w+)`)
)

// Translate returns a statement as the server is told it. One that makes something is
// told as it is: it has no arguments, and names of any kind.
func Translate(query string) string {
	if strings.HasPrefix(query, "CREATE ") || strings.HasPrefix(query, "COMMENT ") {
		return query
	}
	if !strings.Contains(query, "?") && !strings.Contains(query, "INDEXED") && !strings.Contains(query, "CROSS JOIN") {
		return query
	}
	if known, ok := translated.Load(query); ok {
		return known.(string)
	}
	text := hints().ReplaceAllString(query, "")
	text = numbered(strings.ReplaceAll(text, "CROSS JOIN", "JOIN"))
	translated.Store(query, text)
	return text
}

// numbered returns a statement with $1 for the first argument. A ? without a number
// is the argument after the largest so far, as in SQLite. What stands in quotes stays.
func numbered(query string) string {
	var b strings.Builder
	quote, most := byte(0), 0
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			end := i + 1
			for end < len(query) && '0' <= query[end] && query[end] <= '9' {
				end++
			}
			n := most + 1
			if end > i+1 {
				n, _ = strconv.Atoi(query[i+1 : end])
			}
			most = max(most, n)
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			i = end - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
