package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/connectors/usual"
	"collect/engine/author/internal/sketch"
	"collect/engine/registry"
	"collect/internal/words"
	"collect/internal/yamlfile"
)

// A Draft is asked for with the address of a list, and at most four requests.
type Draft struct {
	name     string
	tokenEnv string // the environment variable of the credential; "": there is none
	auth     string // how it is sent, as a connector file says it
	url      *url.URL
	query    url.Values // without credentials
	target   registry.Target
}

// DraftRequests is how many requests a draft sends at most.
const DraftRequests = 4

// NewDraft begins a connector file for the list at address. The bearer token is in
// the environment variable tokenEnv; "" for none. A credential in the query is one of
// the account, too.
func NewDraft(name, address, tokenEnv string, env func(string) string) (*Draft, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, errors.New("not the address of a list, such as https://api.example.com/items")
	}
	d := &Draft{name: name, url: u, query: u.Query(), tokenEnv: tokenEnv}
	token := env(tokenEnv)
	if tokenEnv != "" {
		d.auth = `{bearer: "${secrets.token}"}`
	}
	for _, param := range slices.Sorted(maps.Keys(d.query)) {
		if !sketch.SecretParam().MatchString(param) {
			continue
		}
		value := d.query.Get(param)
		if d.auth == "" && value != "" {
			d.auth = fmt.Sprintf(`{api_key: {query: %s, value: "${secrets.token}"}}`, yamlfile.Quote(param))
			d.tokenEnv, token = strings.ToUpper(name)+"_TOKEN", value
		}
		d.target.Secrets = append(d.target.Secrets, value)
		d.query.Del(param)
	}
	d.target.Secrets = append(d.target.Secrets, token)
	spec, err := declarative.Parse(name+".yaml", []byte(d.head()+"streams: {list: {get: /, key: id, page: {none: true}}}\n"))
	if err != nil {
		return nil, err
	}
	secrets := map[string]declarative.SecretValue{"token": {Value: token, From: "env " + d.tokenEnv}}
	d.target.Connector, err = spec.Build(declarative.Options{Secrets: secrets})
	return d, err
}

// Target returns the account that the list belongs to, for a [Trial] of it.
func (d *Draft) Target() registry.Target { return d.target }

// head returns the part of the file that says whom to ask, and with what credential.
func (d *Draft) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "connector: %s\n", d.name)
	if d.auth != "" {
		fmt.Fprintf(&b, "secrets: {token: {env: %s}}\n", d.tokenEnv)
	}
	fmt.Fprintf(&b, "\nprovider:\n  base_url: %s\n", collection.Origin(d.url))
	if d.auth != "" {
		fmt.Fprintf(&b, "  auth: %s\n", d.auth)
	}
	return b.String()
}

// Skeleton returns a connector file to fill in.
func Skeleton(name string) []byte {
	return fmt.Appendf(nil, `# Every key is described in docs/connectors.md. To check this file: collect check %[1]s.yaml
connector: %[1]s

# What a user may or must give: --param org=acme. Use it as ${params.org}.
# params:
#   org: {required: true}

# Where the credential comes from. It is never written into this file.
# secrets:
#   token: {env: %[2]s_TOKEN}

provider:
  base_url: https://api.example.com
  # auth: {bearer: "${secrets.token}"}
  # The most that the provider allows, if its documentation says so. Else it is learned.
  # ceiling: {per_second: 5}

streams:
  items:
    get: /items          # the path below base_url
    # records: data      # where the array of records is, if it is not the whole answer
    key: id              # what is unique to a record
    page: {none: true}   # how the list is cut into pages: link_header, next_url, cursor, number, offset, last_id
    # since: {field: updated_at, param: since, lookback: 1m}   # how to ask for changes only
`, name, strings.ToUpper(name))
}

// Write asks for the list, and perhaps for its second page, and returns a connector
// file that says what was seen, or the page with the error if there was no list. It
// ends the trial.
func (d *Draft) Write(ctx context.Context, t *Trial) (text []byte, failed *Page) {
	w := &drafter{Draft: d, trial: t}
	defer t.Close(ctx)
	first, page := w.ask(ctx, d.url)
	if page.Err == nil {
		page = w.failedBy(page, w.readList(first))
	}
	if page.Err != nil {
		return nil, &page
	}
	w.readPaging(ctx, first)
	t.Close(ctx) // now all limits were told
	return w.text(), nil
}

type drafter struct {
	*Draft
	trial *Trial

	records string         // path
	items   []gjson.Result // of the first page
	key     string         // path; "": no field is one
	mark    string
	page    string // the block
	why     string
	seen    []string // what else was noticed
	more    string   // what says that the list has more records than came; "": nothing does
}

// An answer is what came for an address.
type answer struct {
	header http.Header
	body   gjson.Result
}

// ask sends one request, and returns what came. The page has an Err if it is nothing
// to read.
func (w *drafter) ask(ctx context.Context, u *url.URL) (*answer, Page) {
	before := len(w.trial.recorder.Noted())
	a, err := w.trial.get(ctx, u)
	return a, w.failedBy(w.trial.answered(before), err)
}

// failedBy returns the page with err, if that is one.
func (w *drafter) failedBy(p Page, err error) Page {
	if err == nil {
		return p
	}
	return w.trial.failed(collection.Place{}, p, err)
}

// get asks for an address that is to be answered with JSON.
func (t *Trial) get(ctx context.Context, u *url.URL) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the address cannot be asked for")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which may hold a key
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if !gjson.ValidBytes(body) {
		return nil, &collection.Stop{Reason: collection.BadPage, Status: resp.StatusCode, Detail: "the answer is not JSON; write the file by hand, with `format`"}
	}
	return &answer{resp.Header, gjson.ParseBytes(body)}, nil
}

// readList finds the records, their key, and when they changed.
func (w *drafter) readList(a *answer) error {
	w.records, w.items = sketch.Longest(a.body)
	if len(w.items) == 0 {
		return &collection.Stop{Reason: collection.BadPage, Detail: "the answer has no array of objects, so that it is no list of records"}
	}
	w.readFields("", w.items)
	if w.key == "" { // each record may be in an object of its own, beside what kind it is
		for _, name := range sketch.Fields(w.items) {
			if inner := sketch.Inner(w.items, name); w.key == "" && inner != nil {
				w.readFields(sketch.Step(name), inner)
			}
		}
	}
	for _, name := range usual.TotalHeaders {
		if total := a.header.Get(name); total != "" {
			w.seen = append(w.seen, fmt.Sprintf("the header %s tells a total of %s", name, words.Clean(total)))
			n, _ := strconv.Atoi(total)
			w.compare("the header "+name, n)
		}
	}
	for _, name := range usual.Totals {
		for _, wrapper := range usual.Wrappers {
			path := strings.TrimPrefix(wrapper+"."+gjson.Escape(name), ".")
			total := a.body.Get(path)
			if !a.body.IsObject() || total.Type != gjson.Number {
				continue
			}
			if name != usual.Count {
				w.seen = append(w.seen, fmt.Sprintf("`%s` tells a total of %s", path, total.Raw))
			}
			w.compare("`"+path+"`", int(total.Int()))
		}
	}
	return nil
}

// readFields finds the key among the fields of the objects at a path of each record, and when they changed.
func (w *drafter) readFields(path string, items []gjson.Result) {
	unique := ""
	for _, name := range sketch.Fields(items) {
		switch is := sketch.Unique(items, name); {
		case is && w.key == "" && sketch.LikelyKey().MatchString(name):
			w.key = sketch.Below(path, name)
		case w.mark == "" && usual.ChangedField().MatchString(name) && times(items, name):
			w.mark = sketch.Below(path, name)
		case is && unique == "":
			unique = sketch.Below(path, name)
		}
	}
	w.key = cmp.Or(w.key, unique)
}

// compare notes that the list has more records than came, if the total says so that is
// told where by says.
func (w *drafter) compare(by string, total int) {
	if w.more == "" && total > len(w.items) {
		w.more = fmt.Sprintf("%s says %d, and %s came", by, total, words.Counted(int64(len(w.items)), "record", "records"))
	}
}

func times(items []gjson.Result, name string) bool {
	for _, item := range items {
		text := item.Get(gjson.Escape(name)).String()
		if len(text) < 10 || text[4] != '-' && strings.Trim(text, "0123456789.") != "" {
			return false
		}
	}
	return true
}

// readPaging finds out how the list is cut, with one more request if that shows it.
func (w *drafter) readPaging(ctx context.Context, a *answer) {
	if link := a.header.Get("Link"); strings.Contains(strings.ReplaceAll(link, `"`, ""), "rel=next") {
		w.page, w.why = "{link_header: next}", "the answer has a Link to the next page"
		return
	}
	if a.body.IsObject() {
		if path := sketch.NextURL(a.body); path != "" {
			w.page, w.why = fmt.Sprintf("{next_url: {path: %s, optional: true}}", yamlfile.Quote(path)), fmt.Sprintf("`%s` is the address of the next page", path)
			return
		}
		for _, known := range usual.NextTokens {
			path := known.Path
			if token := a.body.Get(path); (token.Type == gjson.String || token.Type == gjson.Number) && token.String() != "" {
				param := known.Param
				w.page = fmt.Sprintf("{cursor: {from: %s, param: %s, optional: true}}", path, param)
				w.why = fmt.Sprintf("`%s` has a token", path) + w.second(ctx, param, token.String())
				return
			}
		}
		for _, more := range usual.Mores {
			if a.body.Get(more).Bool() {
				w.page, w.why = fmt.Sprintf("{last_id: {param: starting_after, field: %s, more: %s}}", yamlfile.Quote(cmp.Or(w.key, "id")), more), fmt.Sprintf("`%s` is true, and there is no token: look up the parameter", more)
				return
			}
		}
	}
	size, limit := w.given(usual.SizeParams), ""
	if param := w.given(usual.OffsetParams); param != "" {
		if size != "" {
			limit = fmt.Sprintf(", limit_param: %s, limit: %s", size, w.query.Get(size))
		}
		w.page, w.why = fmt.Sprintf("{offset: {param: %s%s}}", param, limit), "the address has an offset"
		w.query.Del(param)
		w.query.Del(size)
		return
	}
	if size != "" {
		limit = fmt.Sprintf(", size_param: %s, size: %s", size, w.query.Get(size))
	}
	if param, start, tried := w.readNumber(ctx); param != "" {
		w.page, w.why = fmt.Sprintf("{number: {param: %s%s%s}}", param, start, limit), "by number"+tried
		w.query.Del(param)
		w.query.Del(size)
		return
	}
	if asked := w.query.Get(size); w.more == "" && size != "" && asked == strconv.Itoa(len(w.items)) {
		w.more = fmt.Sprintf("`%s` is %s, and as many records came", size, asked)
	}
	if w.more != "" {
		w.readOffset(ctx, size)
		return
	}
	w.page, w.why = "{none: true}", fmt.Sprintf("nothing leads to another page than this one of %s", words.Counted(int64(len(w.items)), "record", "records"))
}

// readNumber tries whether pages have numbers. If the address names none, page 1 may be the second one, as at Discourse: then the
// first is page 0. It returns the parameter, "" if they have none, the start if that is not 1, and what came.
func (w *drafter) readNumber(ctx context.Context) (param, start, tried string) {
	const zero = ", start: 0"
	others := func(number string) bool {
		tried = w.second(ctx, param, number)
		return strings.Contains(tried, "other records")
	}
	if param = w.given(usual.NumberParams); param == "" {
		param = usual.NumberParams[0]
		if others("1") {
			return param, zero, tried
		}
	} else if w.query.Get(param) == "0" && others("1") {
		return param, zero, tried
	}
	if others("2") {
		return param, "", tried
	}
	return "", "", tried
}

// readOffset tries whether the rest of a list, of which more was announced than came and which
// has no second page by number, is asked for by an offset. If not, how it is asked for is left to
// the author: a page by number that repeats the first one ends a run, so that the rest is not
// taken for had. size is the parameter of the address that says how many records a page has; "" for none.
func (w *drafter) readOffset(ctx context.Context, size string) {
	if tried := w.second(ctx, usual.OffsetParams[0], strconv.Itoa(len(w.items))); strings.Contains(tried, "other records") {
		limit := ""
		if size != "" {
			limit = fmt.Sprintf(", limit_param: %s, limit: %s", size, w.query.Get(size))
			w.query.Del(size)
		}
		w.page, w.why = fmt.Sprintf("{offset: {param: %s%s}}", usual.OffsetParams[0], limit), "by offset"+tried
		return
	}
	w.page = fmt.Sprintf("{number: {param: %s}}", usual.NumberParams[0])
	w.why = fmt.Sprintf("a guess that did not bring a second page, and neither did `%s`; but %s: look up how the next page is asked for", usual.OffsetParams[0], w.more)
}

func (w *drafter) given(names []string) string {
	for _, name := range names {
		if digits := w.query.Get(name); digits != "" && strings.Trim(digits, "0123456789") == "" {
			return name
		}
	}
	return ""
}

// second asks for the second page, and says what came.
func (w *drafter) second(ctx context.Context, param, value string) string {
	u := *w.url
	query := u.Query()
	query.Set(param, value)
	u.RawQuery = query.Encode()
	a, page := w.ask(ctx, &u)
	if page.Err != nil {
		return fmt.Sprintf("; but with `%s` there was no second page: look up the parameter", param)
	}
	_, items := sketch.Longest(a.body)
	for _, item := range items {
		if slices.ContainsFunc(w.items, func(had gjson.Result) bool { return had.Raw == item.Raw }) {
			return fmt.Sprintf("; but with `%s` the same records came again: look up the parameter", param)
		}
	}
	if len(items) == 0 {
		return fmt.Sprintf("; with `%s` there was no second page", param)
	}
	return fmt.Sprintf("; with `%s` there came %d other records", param, len(items))
}

// longSecret is the length, in bytes, from which on a secret is looked for in names. A
// shorter one, such as "demo", may also be the name of a field or a folder: then the name
// does not give the secret away.
const longSecret = 8

// text returns the file. What the provider has said, and what was typed as a value,
// is without secrets. So are names that came from outside, unless a secret may be one.
func (w *drafter) text() []byte {
	value := w.trial.scrubber().Text
	name := scrubberOf(w.trial.connector.Provider(), w.trial.secrets, longSecret).Text
	var b strings.Builder
	fmt.Fprintf(&b, "# Drafted from %s to %s. What was guessed says why: compare it with the documentation.\n", words.Counted(w.trial.Requests(), "request", "requests"), collection.Origin(w.url))
	b.WriteString(w.head())
	for _, l := range w.trial.Limits() {
		fmt.Fprintf(&b, "  # it announces a limit of %s; collect keeps to it by itself\n", words.Limit(&l))
	}
	fmt.Fprintf(&b, "\nstreams:\n  %s:\n    get: %s\n", sketch.StreamName(name(w.url.Path)), yamlfile.Quote(strings.ReplaceAll(name(w.url.EscapedPath()), "${", "%24%7B")))
	if names := slices.Sorted(maps.Keys(w.query)); len(names) > 0 {
		b.WriteString("    query:\n")
		for _, param := range names {
			fmt.Fprintf(&b, "      %s: %s\n", yamlfile.Quote(name(param)), yamlfile.Quote(value(w.query.Get(param))))
		}
	}
	if w.records != "" {
		fmt.Fprintf(&b, "    records: %s  # an array of %s\n", yamlfile.Quote(name(w.records)), words.Counted(int64(len(w.items)), "object", "objects"))
	}
	if w.key == "" {
		b.WriteString("    key: id  # a guess: no field is in all records that came, and never twice\n")
	} else {
		fmt.Fprintf(&b, "    key: %s  # in all of the %s that came, and never twice\n", yamlfile.Quote(name(w.key)), words.Counted(int64(len(w.items)), "record", "records"))
	}
	fmt.Fprintf(&b, "    page: %s  # %s\n", name(w.page), w.why)
	if w.mark != "" {
		fmt.Fprintf(&b, "    # `%[1]s` is a time in all records. If the API can be asked for what changed since, look up by which parameter:\n    # since: {field: %[1]s, param: since, lookback: 1m}\n", name(w.mark))
	}
	for _, text := range w.seen {
		fmt.Fprintf(&b, "    # %s\n", value(text))
	}
	return []byte(b.String())
}
