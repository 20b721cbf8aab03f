package answer_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"collect/connectors/declarative/internal/answer"
)

// FuzzRows: whatever a page of CSV or JSON lines has, it is refused, or it is rows
// that are the same ones however they are cut into parts, with the same digest.
func FuzzRows(f *testing.F) {
	for _, body := range []string{"id,name\n1,\"a\n\"\"b\"\"\"\n2,c", "{\"a\":1}\n\n[1.0]\n", "\xef\xbb\xbfa;b\r\n1;2\r\n", "a,\"b", "\"\",x\ny\"z", "1\n2\n3\n\xff"} {
		for kind := range 4 {
			f.Add(body, kind, 3)
		}
	}
	f.Fuzz(func(t *testing.T, body string, kind, size int) {
		format := []answer.Format{{Kind: answer.CSV}, {Kind: answer.CSV, Header: true}, {Kind: answer.CSV, Separator: ';', Skip: 1}, {Kind: answer.JSONL}}[kind&3]
		if size < 0 || len(body) > 1<<16 {
			return
		}
		whole, err := format.Document([]byte(body), false, 1<<20, 1<<20)
		if err == nil && whole != nil && !json.Valid(whole) {
			t.Fatalf("%q became %q", body, whole)
		}
		open := func() *answer.Rows {
			rows, err := format.Rows(strings.NewReader(body), false, 1<<20, 1<<20)
			if err != nil {
				return nil
			}
			return rows
		}
		rows := open()
		if (rows == nil) && err == nil {
			t.Fatalf("%q: rows are refused, and the whole is not", body)
		}
		if rows == nil {
			return
		}
		if _, _, _, checked := rows.Check(0); (checked == nil) != (err == nil) {
			t.Fatalf("%q: checked %v, read %v", body, checked, err)
		}
		if err != nil {
			return
		}
		parts, all := open(), []string{}
		for last := false; !last; {
			var doc []byte
			if doc, last, err = parts.Document(int64(size), int64(size%7+1)); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			var items []json.RawMessage
			if doc != nil && json.Unmarshal(doc, &items) != nil {
				t.Fatalf("%q became %q", body, doc)
			}
			for i, item := range items {
				if i > 0 || !format.Header || len(all) == 0 {
					all = append(all, string(item))
				}
			}
		}
		once := open()
		if _, _, err := once.Document(math.MaxInt64, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		n, digest := parts.At()
		m, want := once.At()
		if n != m || digest != want {
			t.Fatalf("%q: %d rows %s in parts, %d %s at once", body, n, digest, m, want)
		}
		if whole != nil && !bytes.Equal(whole, []byte("["+strings.Join(all, ",")+"]")) {
			t.Fatalf("%q: in parts %q, at once %q", body, all, whole)
		}
		_, at, reached, err := open().Check(n)
		if err != nil || !reached || at != digest {
			t.Fatalf("%q: checked %s at row %d, want %s", body, at, n, digest)
		}
	})
}

// FuzzXML: whatever a page of XML has, it is refused or becomes one JSON object.
func FuzzXML(f *testing.F) {
	for _, body := range []string{`<a b="c">x<d/><d>1</d></a>`, "<?xml version=\"1.0\"?><!-- c --><a:b xmlns:a='u'>&lt;&#1;</a:b>", "<a><b></a></b>", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "<a>]]></a>"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := answer.Format{Kind: answer.XML}.Document(body, false, 1<<20, 1<<20)
		if err == nil && doc != nil && (!json.Valid(doc) || doc[0] != '{' && doc[0] != '"') {
			t.Fatalf("%q became %q", body, doc)
		}
	})
}
