package declarative_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/connectortest"
	"collect/connectors/declarative"
)

func gzipped(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, body); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zipped packs names and their contents.
func zipped(t *testing.T, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(entries); i += 2 {
		w, err := z.Create(entries[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, entries[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFormats: what is not JSON becomes records as the reference says, or it is a
// bad page.
func TestFormats(t *testing.T) {
	const csv, jsonl, xml = "key: id, format: csv", "key: id, format: jsonl", "key: id, format: xml, records: "
	long := strings.Repeat("x", 200)
	tests := []struct {
		stream, body string
		want         []string
		detail       string
	}{
		{csv, "id,n\n1,1.10\n2,\n", []string{`1 {"id":"1","n":"1.10"}`, `2 {"id":"2","n":""}`}, ""},
		{csv, "id,n\r\n1,\"a \"\"b\"\"\r\nc, d\"", []string{`1 {"id":"1","n":"a \"b\"\nc, d"}`}, ""},
		{csv, "\xef\xbb\xbfid\n1e400\n 123456789012345678\n", []string{`1e400 {"id":"1e400"}`, ` 123456789012345678 {"id":" 123456789012345678"}`}, ""},
		{csv, "id,n\n1,\x01\té\\\n", []string{`1 {"id":"1","n":"\u0001\té\\"}`}, ""},
		{csv, "id,n\n", nil, ""},
		{csv, "id,n\n1,2\n3\n4,5,6\n\n7,8", []string{`1 {"id":"1","n":"2"}`, `7 {"id":"7","n":"8"}`, `not_an_object ["3"]`, `not_an_object ["4","5","6"]`}, ""},
		{csv, "id,id\n1,2\n", nil, "the first row of the page does not name the columns: it is no array of different texts"},
		{csv, "id,\n1,2\n", nil, "the first row of the page does not name the columns: it is no array of different texts"},
		{csv, "Invalid API key\n", nil, "there is no column `id`"},
		{csv, "ID;n\n1;2\n", nil, "there is no column `id`"},
		{csv, "ID,n\n1,2\n", nil, "there is no column `id`; the records have: ID, n"},
		{csv, `{"error": "slow down"}`, nil, "line 1 of the page is not valid CSV: a quote stands inside a value that has none around it"},
		{csv, "<!DOCTYPE html><p>no", nil, "the page is HTML, not CSV"},
		{csv, "", nil, "the answer has no body"},
		{csv, "id,n\n1,\"cut o", nil, "line 2 of the page is not valid CSV: a value in quotes does not end, or something stands behind it"},
		{csv, "id\n\xff\n", nil, "the page is not UTF-8 text"},
		{csv, "\xff\xfei\x00d\x00\n\x00", nil, "the page is UTF-16 text, which is not read: ask the provider for UTF-8"},
		{csv, "i\x00d\x00\n\x00", nil, "the page is UTF-16 text, which is not read: ask the provider for UTF-8"},
		{csv, "id" + strings.Repeat(",", 1_000_000) + "\n", nil, "a row of the page has more than 10000 columns"},
		{csv, "id" + strings.Repeat(",\"\n\"", 1_000_000) + "\n", nil, "a row of the page has more than 10000 columns"},
		{csv + ", records: {columns: [id, n]}", "1,2\n3,4\n", []string{`1 {"id":"1","n":"2"}`, `3 {"id":"3","n":"4"}`}, ""},
		{csv + ", records: {columns: [id, n]}", "", nil, ""},
		{csv + ", records: {columns: [a, n]}", "1,2\n", nil, "there is no column `id`"},
		{"key: [id, n], format: {as: csv, separator: tab, skip: 2}", "# made\n# \"today\nid\tn\n1\t2\n", []string{`["1","2"] {"id":"1","n":"2"}`}, ""},
		{"key: id, format: {as: csv, separator: ';'}", "id;n\n1;2,5\n", []string{`1 {"id":"1","n":"2,5"}`}, ""},
		{"key: id, format: {as: csv, separator: '§'}", "id§n\n1§2\n", []string{`1 {"id":"1","n":"2"}`}, ""},
		{"key: id, format: {as: csv, skip: 9}", "id\n1\n", nil, "the answer has no body"},

		{jsonl, "{\"id\": 1.10}\r\n\n {\"id\":12345678901234567890}", []string{`1.10 {"id": 1.10}`, `12345678901234567890 {"id":12345678901234567890}`}, ""},
		{jsonl, "{\"id\":1}\n{\"id\":", nil, "line 2 of the page is not valid JSON"},
		{jsonl, "{\"id\":1}{\"id\":2}\n", nil, "line 1 of the page is not valid JSON"},
		{jsonl, "", nil, ""},
		{jsonl, "[1]\n{\"id\":2}\n", []string{`2 {"id":2}`, `not_an_object [1]`}, ""},
		{jsonl + ", records: {columns: [id, n]}", "[1,2]\n[3,4]\n", []string{`1 {"id":1,"n":2}`, `3 {"id":3,"n":4}`}, ""},
		{jsonl, "<html>", nil, "the page is HTML, not JSON lines"},

		{xml + "feed.entry", `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="u" lang='d"e'><entry a="1"><id>1</id><t>x &amp; y&#10;</t><t><![CDATA[<z>]]></t></entry><!-- - --><entry><id>2</id><n:e/></entry></feed>`,
			[]string{`1 {"@a":"1","id":"1","t":["x & y\n","<z>"]}`, `2 {"id":"2","n:e":""}`}, ""},
		{xml + "feed.entry", `<feed><entry><id>1</id></entry></feed>`, []string{`1 {"id":"1"}`}, ""},
		{xml + "feed.entry", `<feed><title>none</title></feed>`, nil, ""},
		{xml + "feed.entry", `<feed/>`, nil, ""},
		{xml + "feed.entry", `<fault>no</fault>`, nil, "the page has no `feed.entry`"},
		{xml + "'a.b[].c'", `<a><b><c><id>1</id></c><c><id>2</id></c></b></a>`, []string{`1 {"id":"1"}`, `2 {"id":"2"}`}, ""},
		{xml + "a.b", "<a><b>\n <id>1</id> some <i/> text\n</b></a>", []string{`1 {"id":"1","i":"","#text":"some  text"}`}, ""},
		{"key: id, format: xml, records: {at: a.b, value: id}", "<a><b>x</b><b/></a>", []string{`x {"id":"x"}`, `bad_key {"id":""}`}, ""},
		{"key: id, format: xml, records: {at: a, one: true}", `<a id="1"><b id="2"/></a>`, []string{` `}, "none"},
		{"key: '@id', format: xml, records: {at: a, one: true}", `<a id="1"><b id="2"/></a>`, []string{`1 {"@id":"1","b":{"@id":"2"}}`}, ""},
		{xml + "a.b", `<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><a><b>&x;</b></a>`, nil, "the page declares entities of its own (DOCTYPE), which are not read"},
		{xml + "a.b", `<!DOCTYPE a SYSTEM "file:///etc/passwd"><a><b>&x;</b></a>`, nil, "line 1 of the page is not valid XML"},
		{xml + "a.b", `<!DOCTYPE html><html><body><p>no</html>`, nil, "the page is HTML, not XML"},
		{xml + "a.b", `<a><b></a></b>`, nil, "the page is not valid XML: an element ends that did not begin"},
		{xml + "a.b", `<a><b>`, nil, "the page is not valid XML: it is cut off"},
		{xml + "a.b", `<a/><a/>`, nil, "the page is not one XML element, with at most 200 inside each other"},
		{xml + "a.b", `<a/>x`, nil, "the page is not valid XML: text stands outside of its element"},
		{xml + "a.b", `{"a":1}`, nil, "the page is not valid XML: text stands outside of its element"},
		{xml + "a.b", `<?xml version="1.0" encoding="ISO-8859-1"?><a/>`, nil, "the page is not XML in UTF-8"},
		{xml + "a.b", strings.Repeat("<a>", 100_000), nil, "the page is not one XML element, with at most 200 inside each other"},
		{xml + "a.b", "", nil, "the answer has no body"},

		{jsonl + ", archive: gzip", gzipped(t, "{\"id\":1}\n"), []string{`1 {"id":1}`}, ""},
		{jsonl + ", archive: gzip", gzipped(t, "{\"id\":1}\n") + gzipped(t, "{\"id\":2}\n"), []string{`1 {"id":1}`, `2 {"id":2}`}, ""}, // RFC 1952, 2.2
		{jsonl + ", archive: gzip", gzipped(t, "{\"id\":1}\n"+long)[:30], nil, "the gzip file is cut off"},
		{jsonl + ", archive: gzip", gzipped(t, "{\"id\":1}\n") + "more", nil, "the gzip file is cut off"},
		{jsonl + ", archive: gzip", gzipped(t, "{\"id\":1}\n") + long, nil, "the gzip file is damaged, or something stands behind its end"},
		{jsonl + ", archive: gzip", "{\"id\":1}\n", nil, "the page is no gzip file; where the answer is only sent as gzip (Content-Encoding), leave out `archive`"},
		{"key: id, archive: gzip", gzipped(t, `[{"id":1}]`), []string{`1 {"id":1}`}, ""},
		{csv + ", archive: zip", zipped(t, "dir/", "", "dir/a.csv", "id\n1\n"), []string{`1 {"id":"1"}`}, ""},
		{csv + ", archive: {as: zip, entry: '*.csv'}", zipped(t, "README", "", "../../a.csv", "x", "a.csv", "id\n1\n"), []string{`1 {"id":"1"}`}, ""},
		{csv + ", archive: zip", zipped(t, "../../etc/passwd", "id\n1\n"), []string{`1 {"id":"1"}`}, ""},
		{csv + ", archive: zip", zipped(t, "a.csv", "id\n1\n", "b.csv", "id\n2\n"), nil, "the zip file has 2 entries that may be meant: name one with `entry`"},
		{csv + ", archive: {as: zip, entry: b}", zipped(t, "a", ""), nil, "the zip file has no entry `b`"},
		{csv + ", archive: zip", zipped(t), nil, "the zip file is empty"},
		{csv + ", archive: zip", zipped(t, "a", "id\n1\n")[:40], nil, "the page is no zip file, or it is cut off"},
		{csv + ", archive: zip", zipped(t, slices.Repeat([]string{"a", ""}, 10_001)...), nil, "the zip file has more than 10000 entries"},
		{csv + ", archive: zip", strings.Replace(zipped(t, "a", "id\n1"+long+"\n"), "PK\x03\x04", "PK\x03\x05", 1), nil, "the entry of the zip file is packed in a way that is not read"},
	}
	for _, test := range tests {
		slice, err := read(t, test.stream+map[bool]string{true: "", false: ", page: {none: true}"}[strings.Contains(test.stream, "one:")], test.body)
		stop, _ := errors.AsType[*collection.Stop](err)
		at := fmt.Sprintf("%s with %.80q", test.stream, test.body)
		switch {
		case test.detail == "none":
			if len(slice.Records) > 0 {
				t.Errorf("%s: %q, want no record", at, data(slice))
			}
		case test.detail != "" && (stop == nil || stop.Reason != collection.BadPage || !strings.HasPrefix(stop.Detail, test.detail)):
			t.Errorf("%s: %v, want bad_page: %s", at, err, test.detail)
		case test.detail == "" && err != nil:
			t.Errorf("%s: %v", at, err)
		case test.detail == "" && !slices.Equal(data(slice), test.want):
			t.Errorf("%s:\n got %q\nwant %q", at, data(slice), test.want)
		}
	}
}

// TestFormatsAreBounded: a small answer cannot take much memory.
func TestFormatsAreBounded(t *testing.T) {
	blank := strings.Repeat("\n", 1<<20)
	for name, test := range map[string]struct{ stream, body string }{
		"gzip":          {"key: id, format: jsonl, archive: gzip", gzipped(t, blank)},
		"zip":           {"key: id, format: jsonl, archive: zip", zipped(t, "a", blank)},
		"rows of CSV":   {"key: id, format: csv", "id,n\n" + strings.Repeat("1,\n", 11_000)},
		"lines of JSON": {"key: id, format: jsonl", strings.Repeat("1\n", 11_000)},
	} {
		src := strings.Replace(stream(test.stream+", page: {none: true}"), `api.test"`, `api.test", limits: {body: 64KiB}`, 1)
		c := open(t, serve(t, answer(200, test.body)), src)
		for _, err := range c.Slices(t.Context(), http.DefaultClient, things0, collection.Cursor{}) {
			if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.TooLarge {
				t.Errorf("%s: %v, want too_large", name, err)
			}
		}
	}
}

// TestOpenEnd: rows whose last line does not end are whole if the answer said how
// long it is, and may be cut off if only the end of the connection ended it.
func TestOpenEnd(t *testing.T) {
	for _, test := range []struct {
		head, body, format string
		bad                bool
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n", "id\n1", "csv", false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", "4\r\nid\n1\r\n0\r\n\r\n", "csv", false},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "id\n1\n", "csv", false},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "id\n1", "csv", true},
		{"HTTP/1.0 200 OK\r\n\r\n", "{\"id\":1}\n{\"id\":2}", "jsonl", true},
		{"HTTP/1.0 200 OK\r\n\r\n", "{\"id\":1}\n{\"id\":2}\n", "jsonl", false},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, test.head+test.body)
			_ = c.Close()
		}()
		spec, err := declarative.Parse("f", []byte(stream("key: id, page: {none: true}, format: "+test.format)))
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Build(declarative.Options{Provider: declarative.Overrides{BaseURL: "http://" + listener.Addr().String()}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: &http.Transport{DisableCompression: true}}, things0, collection.Cursor{}) {
			stop, ok := errors.AsType[*collection.Stop](err)
			if test.bad != (ok && stop.Reason == collection.BadPage) || !test.bad && err != nil {
				t.Errorf("%q: %v, want a bad page: %t", test.head+test.body, err, test.bad)
			}
		}
		_ = listener.Close()
	}
}

// TestAnotherFormatThanExpected: what came is named, or quoted where it is the words
// of an error, but never with a credential in it.
func TestAnotherFormatThanExpected(t *testing.T) {
	for _, test := range []struct{ stream, body, want string }{
		{"format: csv", "error: invalid api key\n", "there is no column `id`; the first line is: error: invalid api key"},
		{"format: csv", "error:\tno\x1b[31m access  to this\n1,2\n", "there is no column `id`; the first line is: error: no [31m access to this"},
		{"format: csv", strings.Repeat("no access ", 100), "there is no column `id`; the first line is: " + strings.Repeat("no access ", 30) + "…"},
		{"format: csv", "no access with s3cr3t-t0ken\n", "there is no column `id`"},
		{"format: csv", "code,name\n1,a\n", "there is no column `id`; the records have: code, name"},
		{"format: {as: csv, separator: ';'}", "no access; ask us\n", "there is no column `id`; the first line is: no access; ask us"},
		{"records: items", "id,name\n1,a\n2,b\n", "the page is not valid JSON; it looks like CSV: format: csv"},
		{"records: items", "id;name\n1;a\n", "the page is not valid JSON; it looks like CSV: format: {as: csv, separator: ';'}"},
		{"records: items", "id\tname\n1\ta\n", "the page is not valid JSON; it looks like CSV: format: {as: csv, separator: tab}"},
		{"records: items", "{\"id\":1}\n{\"id\":2}\n", "the page is not valid JSON; it looks like lines of JSON: format: jsonl"},
		{"records: items", "no, you may not\nnever\n", "the page is not valid JSON"},
		{"records: items", "{\"id\":1,\n\"a\":2", "the page is not valid JSON"},
	} {
		src := "connector: test\nsecrets: {t: {env: T}}\nprovider: {base_url: \"https://api.test\", auth: {bearer: \"${secrets.t}\"}}\nstreams: {things: {get: /things, key: id, page: {none: true}, " + test.stream + "}}\n"
		spec, err := declarative.Parse("f", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Build(declarative.Options{Secrets: map[string]declarative.SecretValue{"t": {Value: "s3cr3t-t0ken"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: direct{answer(200, test.body)}}, things0, collection.Cursor{}) {
			if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.BadPage || stop.Detail != test.want {
				t.Errorf("%q: %v\nwant %s", test.body, err, test.want)
			}
		}
	}
}

// TestFormatsOfAFile: what a format cannot have is a mistake at its place.
func TestFormatsOfAFile(t *testing.T) {
	const none = ", page: {none: true}"
	for text, want := range map[string]string{
		"format: cvs" + none:                                         "unknown value `cvs`",
		"format: {as: xml, separator: ';'}" + none:                   "only CSV has a separator",
		"format: {as: csv, separator: ab}" + none:                    "a separator is one character, or `tab`",
		"format: csv, records: rows" + none:                          "a page of csv is its rows and nothing else: `records` can name its `columns`",
		"format: jsonl, records: {one: true}":                        "a page of jsonl is its rows and nothing else",
		"format: csv, page: {cursor: {from: next, param: c}}":        "`page` looks for `next`, and a page of csv is its rows and nothing else",
		"format: csv, page: {delta: {next: a, param: c, resume: b}}": "`page` looks for `a`, and a page of csv is its rows and nothing else",
		"format: csv, page: {delta: {param: c, resume: b}}":          "`page` looks for `b`, and a page of csv is its rows and nothing else",
		"format: csv, query: {c: '${page}'}, page: {relay: data.x}":  "`page` looks for `data.x.pageInfo.endCursor`, and a page of csv is its rows and nothing else",
		"format: csv, page: {number: {param: c, total_pages: n}}":    "`page` looks for `n`, and a page of csv is its rows and nothing else",
		"format: csv, total: n" + none:                               "`total` is a path, and a page of csv",
		"archive: rar" + none:                                        "unknown value `rar`",
		"archive: {as: gzip, entry: a}" + none:                       "only a zip file has entries",
		"archive: {as: zip, entry: '[a'}" + none:                     "not a pattern for the name of an entry",
		"archive: {entry: a}" + none:                                 "an archive needs `as`: gzip or zip",
	} {
		_, err := declarative.Parse("test.yaml", []byte(stream("key: id, "+text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestEveryFormatInPages walks lists in other formats and shapes, page by page.
func TestEveryFormatInPages(t *testing.T) {
	rows := func(from int, row string) string {
		var b strings.Builder
		for id := from + 1; id <= min(from+5, total); id++ {
			b.WriteString(strings.ReplaceAll(row, "ID", fmt.Sprint(id)))
		}
		return b.String()
	}
	for text, body := range map[string]func(from int) string{
		"format: csv, page: {number: {param: page, total_pages: {header: X-Pages}}}": func(from int) string { return "id,name\r\n" + rows(from, "ID,\"n, ID\"\r\n") },
		"format: csv, page: {offset: {param: offset, limit_param: limit, limit: 5}}": func(from int) string { return "id\n" + rows(from, "ID\n") },
		"format: jsonl, page: {link_header: next}":                                   func(from int) string { return rows(from, "{\"id\":ID}\n") },
		"format: xml, records: r.item, page: {cursor: {from: r.next, param: offset, more: r.more}}": func(from int) string {
			return fmt.Sprintf("<r><more>%t</more><next>%d</next>%s</r>", from+5 < total, from+5, rows(from, "<item><id>ID</id></item>"))
		},
		"records: {at: all, map: id}, page: {cursor: {from: next, param: offset}}": func(from int) string {
			next := "null"
			if from+5 < total {
				next = fmt.Sprint(from + 5)
			}
			return `{"next":` + next + `,"all":{` + strings.TrimSuffix(rows(from, `"ID":{"n":1},`), ",") + `}}`
		},
		"records: {columns: [id, n]}, page: {last_id: {param: offset, field: id}}": func(from int) string {
			return `[` + strings.TrimSuffix(rows(from, `[ID,2],`), ",") + `]`
		},
		"records: '[].m', page: {number: {param: page}}": func(from int) string {
			return `[{"m":[` + strings.TrimSuffix(rows(from, `{"id":ID},`), ",") + `]}]`
		},
	} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			from := number(r, "offset", 5*(number(r, "page", 1)-1))
			w.Header().Set("X-Pages", "5")
			if strings.Contains(text, "link_header") && from+5 < total {
				w.Header().Set("Link", fmt.Sprintf(`</things?offset=%d>; rel="next"`, from+5))
			}
			_, _ = io.WriteString(w, body(from))
		})
		c := open(t, server, stream("key: id, "+text))
		connectortest.Test(t, c, server.Client())
		seen := map[string]bool{}
		for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, r := range slice.Records {
				seen[r.Key] = true
			}
		}
		if len(seen) != total {
			t.Errorf("%s: %d records, want %d", text, len(seen), total)
		}
	}
}
