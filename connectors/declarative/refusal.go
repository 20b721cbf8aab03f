package declarative

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/internal/yamlfile"
)

// refusal judges a page whose envelope says that something failed, although its
// status says that nothing did: GraphQL sends {"data": …, "errors": [{…}]} for
// what it could not find out, JSend {"status": "error", "message": "…"}, Slack
// {"ok": false, "error": "…"}. What is missing on such a page is told nowhere
// else.
//
// It is a bad page, unless a rule of the file accepts it. Two pages are whole,
// as far as can be told, and leave a warning: one that is a resource itself (it
// has an id), whose "status" or "error" are the resource's own and no matter of
// the request, and one with records beside a "status", a word of many meanings.
//
// Only an envelope is looked at. Where the file does not say where in the body
// the records are, the body holds records and nothing else, and in a record all
// of these are ordinary.
func (w *walk) refusal(resp *http.Response, p *paging.Page) (*collection.Warning, error) {
	name, rule, resource := paging.SaysFailed(p.Body, w.st.Records.Path)
	if name == "" || w.c.judge(collection.Response{Stream: w.at.Stream, Status: resp.StatusCode, Header: resp.Header, Body: p.Body}) != collection.NoVerdict {
		return nil, nil
	}
	said := fmt.Sprintf("`%s` on the page says that something failed, although the status is %d%s; the page has %s", name, resp.StatusCode, w.graphQLError(p), records(len(p.Elements)))
	if list := w.st.Records.Path; hasValueAt(list, p.Body) { // else there is no page that a rule could accept
		if name == "errors" { // one rule for all of them must not accept those without data, which may mean "slow down"
			rule += " && " + member(list) + " != nil"
		}
		said += fmt.Sprintf(". If that is normal for this API: on: [{status: [%d], body: %s, verdict: ok}]", resp.StatusCode, yamlfile.Quote(rule))
	}
	if resource || name == "status" && len(p.Elements) > 0 {
		return &collection.Warning{Code: collection.RefusedBeside, Text: said}, nil
	}
	return nil, paging.BadPage("%s", said)
}

// hasValueAt reports whether there is anything at a path but null.
func hasValueAt(at notation.Path, doc []byte) bool {
	value := at.In(doc)
	return value.Exists() && value.Type != gjson.Null
}

// member returns the value at a path of the body as a predicate names it.
func member(at notation.Path) string {
	var b strings.Builder
	b.WriteString("body")
	for _, step := range at.Steps {
		switch {
		case token.IsIdentifier(step):
			b.WriteString("." + step)
		case strings.Trim(step, "0123456789") == "":
			b.WriteString("[" + step + "]")
		default:
			b.WriteString("[" + strconv.Quote(step) + "]")
		}
	}
	return b.String()
}

// mostSaid is how many bytes of the words of an error are shown.
const mostSaid = 300

// graphQLError returns the words of the first error of a GraphQL answer, behind a
// message: a query that is wrong is answered with 200, and what is wrong stands
// there alone.
func (w *walk) graphQLError(p *paging.Page) string {
	if !w.st.Body.GraphQL {
		return ""
	}
	return w.quoted(", it said: ", gjson.GetBytes(p.Body, "errors.0.message").String())
}

// withWords adds the words of the first error to err, which is about records that are
// missing, where a rule accepts answers with errors.
func (w *walk) withWords(err error, p *paging.Page) error {
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		stop.Detail += w.graphQLError(p)
	}
	return err
}

// firstLine adds the first row of a table that has none of the names of columns that
// it should have to err.
func (w *walk) firstLine(err error, p *paging.Page) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok || !errors.Is(err, answer.ErrNoNames) || !w.st.Format.Header {
		return err
	}
	var row []string
	for _, value := range gjson.GetBytes(p.Body, "0").Array() {
		row = append(row, value.String())
	}
	stop.Detail += w.quoted("; the first line is: ", strings.Join(row, string(cmp.Or(w.st.Format.Separator, ','))))
	return stop
}

// quoted returns words of the provider behind intro, or "" if there are none that can
// be shown: they must hold neither the cursor nor a part of a credential.
func (w *walk) quoted(intro, text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	}), " ")
	if text == "" || w.c.secrets.partly(text) || w.scope.Page != "" && strings.Contains(text, w.scope.Page) {
		return ""
	}
	if len(text) > mostSaid {
		text = strings.ToValidUTF8(text[:mostSaid], "") + "…"
	}
	return intro + text
}

// records says how many records there are.
func records(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}
