package pacing

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"collect/internal/lazy"
)

// mostSaid is how many bytes of the words of a refusal are kept; mostParsed is how
// many bytes of its body are searched for them.
const (
	mostSaid   = 300
	mostParsed = 64 << 10
)

// said returns what a refusal of out says for people, in one line that begins
// with "it said: "; "" if it says nothing that can be shown. It holds no
// credential, not even a part of one, no query of a URL and no cursor. codeAt is
// where the body has the code that the words begin with; see [collection.Stop].
func (g *guard) said(out *http.Request, header http.Header, body []byte) (text, codeAt string) {
	if len(body) == 0 || len(body) > mostParsed {
		return "", ""
	}
	var decoded any
	if json.Unmarshal(body, &decoded) == nil {
		text, codeAt = errorText(decoded, "body", 0)
	} else if strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "text/plain") {
		text = string(body)
	}
	text = g.redacted(out, oneLine(text))
	if text == "" || g.holdsSecret(text) {
		return "", ""
	}
	if len(text) > mostSaid {
		text = strings.ToValidUTF8(text[:mostSaid-len("…")], "") + "…"
	}
	return "it said: " + text, codeAt
}

// errorMembers are where APIs say in words what is wrong, the plainest first.
// ("detail" and "title" are those of RFC 9457, "error_description" is that of
// RFC 6749, "error_message" that of Stack Exchange and Google Maps, "value" that of OData.)
var errorMembers = []string{"message", "error", "error_description", "error_message", "detail", "errors", "title", "value", "Message"}

// errorText returns the words of a decoded answer, which stands at a place, from the
// member that says them; "" if there are none. An error that is a word, such as
// invalid_request, stands back behind a description. codeAt is where the code stands
// that the words begin with.
func errorText(v any, at string, depth int) (text, codeAt string) {
	switch v := v.(type) {
	case string:
		if depth > 0 {
			return v, ""
		}
	case []any:
		if len(v) > 0 && depth < 4 {
			return errorText(v[0], at+"[0]", depth+1)
		}
	case map[string]any:
		if code, isWord := v["error"].(string); isWord {
			for _, name := range []string{"message", "error_description", "error_message"} {
				if words, ok := v[name].(string); ok && words != "" {
					return coded(v, at, words, "")
				}
			}
			return code, ""
		}
		for _, name := range errorMembers {
			if depth < 4 {
				if text, codeAt := errorText(v[name], at+"."+name, depth+1); text != "" {
					return coded(v, at, text, codeAt)
				}
			}
		}
	}
	return "", ""
}

// codes are words that stand for an error, as in the documentation of an API.
var codes = lazy.Regexp(`^[A-Za-z][\w.\-]{2,59}$`)

// coded returns the words of the error v at a place behind its code, by which a rule can
// tell it from others: rest_post_invalid_page_number of WordPress. The words begin with
// the code at codeAt, if that is not "".
func coded(v map[string]any, at, words, codeAt string) (text, begins string) {
	if code, ok := v["code"].(string); ok && codes().MatchString(code) && !strings.Contains(words, code) {
		return code + ": " + words, at + ".code"
	}
	return words, codeAt
}

// escapes are the sequences that make a terminal do something (ECMA-48).
var escapes = lazy.Regexp("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|.)")

// oneLine returns text without escapes and control characters.
func oneLine(text string) string {
	text = escapes().ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}), " ")
}

var (
	queries = lazy.Regexp(`\?[^\s"'<>]*=[^\s"'<>]*`)
	words   = lazy.Regexp(`[\w\-.+/=%~*•…]+`)
	masks   = lazy.Regexp(`[*•…]+|\.{2,}|[xX]{3,}`) // what a provider hides the middle of a token with
)

// leastToken is the shortest value of a query that is taken for a token, and
// leastSegment the shortest part of a path.
const (
	leastToken   = 12
	leastSegment = 20
)

// redacted returns text without queries, without what this request was sent with
// that may be a cursor, and without words that begin or end as a credential does.
func (g *guard) redacted(out *http.Request, text string) string {
	text = queries().ReplaceAllString(text, "?…")
	tokens := tokensSent(out)
	secrets := g.secretsSent()
	return words().ReplaceAllStringFunc(text, func(word string) string {
		if slices.ContainsFunc(tokens, func(token string) bool {
			return strings.Contains(word, token) || strings.Contains(token, word) && len(word) >= leastToken
		}) {
			return "…"
		}
		for _, piece := range append(masks().Split(word, -1), word) {
			for _, secret := range secrets {
				if len(piece) >= 4 && (strings.HasPrefix(secret, piece) || strings.HasSuffix(secret, piece) || strings.Contains(piece, secret)) {
					return "…"
				}
			}
		}
		return word
	})
}

// tokensSent returns what may be a cursor in a request: long values without a
// space of its query, its body and the headers that are not the client's, and what
// of its path has a digit in it and is as long as no name.
func tokensSent(out *http.Request) (tokens []string) {
	add := func(value string) {
		if len(value) >= leastToken && !strings.Contains(value, " ") {
			tokens = append(tokens, value)
		}
	}
	sent := []url.Values{out.URL.Query()}
	if out.GetBody != nil {
		if from, err := out.GetBody(); err == nil {
			body, _ := io.ReadAll(from)
			var decoded any
			if json.Unmarshal(body, &decoded) == nil {
				eachText(decoded, add)
			} else if form, err := url.ParseQuery(string(body)); err == nil {
				sent = append(sent, form)
			}
		}
	}
	for name, values := range out.Header {
		if !slices.Contains(ordinary, name) {
			sent = append(sent, url.Values{name: values})
		}
	}
	for _, values := range sent {
		for _, value := range values {
			for _, v := range value {
				add(v)
			}
		}
	}
	for segment := range strings.SplitSeq(out.URL.Path, "/") {
		if len(segment) >= leastSegment && strings.ContainsAny(segment, "0123456789") {
			add(segment)
		}
	}
	return tokens
}

// ordinary are headers whose values are no cursors. The credential is looked for
// by itself.
var ordinary = []string{"Accept", "Accept-Encoding", "Authorization", "Content-Type", "User-Agent"}

// eachText calls add with each text in a decoded document.
func eachText(v any, add func(string)) {
	switch v := v.(type) {
	case string:
		add(v)
	case []any:
		for _, e := range v {
			eachText(e, add)
		}
	case map[string]any:
		for _, e := range v {
			eachText(e, add)
		}
	}
}

// leastPassword is the shortest word that is looked for by itself: a shorter
// one is found in what has nothing to do with it.
const leastPassword = 8

// secretsSent returns the credential in each form in which requests carry it,
// word by word, where a part of it can be told from ordinary text.
func (g *guard) secretsSent() []string {
	texts := append([]string{g.provider.Credential}, g.provider.Secrets...)
	if g.provider.Renewal != nil {
		texts = append(texts, g.provider.Renewal.Secrets()...)
	}
	if g.besides != nil {
		texts = append(texts, g.besides()...)
	}
	if g.provider.Authorize != nil {
		bare := &http.Request{Header: http.Header{}, URL: &url.URL{}}
		g.provider.Authorize(bare)
		for _, values := range bare.Header {
			texts = append(texts, values...)
		}
		for _, values := range bare.URL.Query() {
			texts = append(texts, values...)
		}
	}
	var secrets []string
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ':' }) {
			if len(word) >= leastPassword {
				secrets = append(secrets, word)
			}
		}
	}
	return secrets
}
