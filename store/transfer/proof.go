package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"collect/store"
	"collect/store/internal/database"
)

// A Compared table says what both stores hold of it. A digest is the SHA-256 of all
// values in the order of the keys, with the kind and the length of each in front. A sum
// of a record counts as whether it is right where it is stored.
type Compared struct {
	Table      string
	Rows       int64  // of the source
	Copied     int64  // rows of the copy
	Digest     string // of the source
	CopyDigest string
	First      string // where the two differ first: a number, or the name of a connector; "" if they do not
}

// Equal reports whether both hold the same.
func (c Compared) Equal() bool {
	return c.First == "" && c.Rows == c.Copied && c.Digest == c.CopyDigest
}

// prove reads both stores and holds each row against the other.
func (c *copying) prove(ctx context.Context) error {
	c.now.Done = 0
	var unequal []string
	for _, t := range Tables {
		of, err := c.compare(ctx, t)
		if err != nil {
			return err
		}
		c.proof.Tables = append(c.proof.Tables, of)
		if !of.Equal() {
			unequal = append(unequal, of.Table)
		}
	}
	if unequal == nil {
		return nil
	}
	if c.whole { // somebody uses it, by a name that we gave to none
		return c.atTarget(c.occupied())
	}
	if err := c.update(ctx, func(tx database.Tx) error { return mark(tx, refuted) }); err != nil {
		return c.atTarget(err)
	}
	return c.atTarget(&store.UnequalError{Tables: unequal})
}

// compare reads a table of both stores side by side.
func (c *copying) compare(ctx context.Context, t Table) (of Compared, err error) {
	of.Table = t.Name
	source, target := newDigest(c.from.Side(), t), newDigest(c.to.Side(), t)
	for {
		here, err := source.next(ctx)
		if err != nil {
			return of, c.atSource(err)
		}
		there, err := target.next(ctx)
		if err != nil {
			return of, c.atTarget(err)
		}
		if here == nil && there == nil {
			break
		}
		if of.First == "" && !bytes.Equal(here, there) {
			of.First = source.key()
			if here == nil {
				of.First = target.key()
			}
		}
		if here != nil && source.at == len(source.rows) {
			c.step(true, t, len(source.rows))
		}
	}
	of.Rows, of.Copied, of.Digest, of.CopyDigest = source.n, target.n, source.sum(), target.sum()
	return of, nil
}

// A digest reads the rows of a table, one after another.
type digest struct {
	of   *reader
	rows [][]any
	at   int // the row of them that is next
	hash hash.Hash
	n    int64
	text []byte
}

func newDigest(s Side, t Table) *digest { return &digest{of: newReader(s, t, nil), hash: sha256.New()} }

// next returns the values of the next row, as bytes that are valid until it is called
// again; nil at the end.
func (d *digest) next(ctx context.Context) ([]byte, error) {
	if d.at == len(d.rows) {
		rows, err := d.of.page(ctx)
		if err != nil {
			return nil, err
		}
		d.rows, d.at = rows, 0
		if len(rows) == 0 {
			return nil, nil
		}
	}
	row := d.rows[d.at]
	d.at++
	d.n++
	d.text = d.text[:0]
	if d.of.table.summed() {
		of := recordColumns(d.of.columns)
		right := int64(0)
		if row[of.sum] == of.sumIn(d.of.side, row) {
			right = 1
		}
		row = slices.Clone(row)
		row[of.sum] = right
	}
	for _, value := range row {
		d.text = appendValue(d.text, value)
	}
	d.hash.Write(d.text)
	return d.text, nil
}

// key says which row came last.
func (d *digest) key() string {
	if d.at == 0 {
		return ""
	}
	row := d.rows[d.at-1]
	first := row[slices.Index(d.of.columns, d.of.table.key[0])]
	return fmt.Sprint(first)
}

func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// appendValue appends the kind, the length and the bytes of a value.
func appendValue(b []byte, value any) []byte {
	sized := func(kind byte, text string) []byte {
		b = binary.BigEndian.AppendUint64(append(b, kind), uint64(len(text)))
		return append(b, text...)
	}
	switch v := value.(type) {
	case nil:
		return append(b, 'n')
	case int64:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v)) // #nosec G115 -- as bytes
	case string:
		return sized('t', v)
	case []byte:
		return sized('b', string(v))
	}
	return sized('?', fmt.Sprintf("%T %v", value, value))
}
