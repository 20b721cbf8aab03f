// Package transfer copies a store into another one, which may be in another kind of
// database, and proves that both are equal.
//
// The rows go over as they are, table by table in the order of their keys, and get the
// sums of the database they come to. The copy has a name of its own, under which
// nobody takes it for a store, until it is proven: then it gets the name that it is
// for, in one step.
//
// What is there already says where to go on: a copy that was killed begins behind the
// last key of each table. It belongs to one state of its source, which a stamp tells
// from all others. One of another state is thrown away, and begun anew.
package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/streams"
)

// A Side is one of the two stores, as its rows are read.
type Side struct {
	*database.Readers
	Rows Querier // one state of the store, or one that nobody else changes
}

// A Querier finds rows.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A Source is a store that is read. It holds what every run needs, so that none begins meanwhile.
type Source interface {
	// Side returns how one state of the store is read.
	Side() Side

	// Number returns the highest number that a row of a table ever got; 0 if only
	// the rows that are there say so.
	Number(ctx context.Context, t Table) (int64, error)

	// Close lets runs begin again.
	Close() error
}

// A Target is where a store is copied to.
type Target interface {
	// Name is that of the finished copy.
	Name() string

	// Open opens the copy that is not finished, and makes it if there is none. It
	// returns a *[store.OccupiedError] if the name of the finished one is taken, and
	// store.ErrInUse if somebody else is copying there.
	Open(ctx context.Context) error

	// Side returns how the copy is read, and Writer what writes to it.
	Side() Side
	Writer() *database.Writer

	// Insert stores rows of a table.
	Insert(tx database.Tx, table string, columns []string, rows [][]any) error

	// SetNumber says that rows of a table got numbers up to n.
	SetNumber(tx database.Tx, t Table, n int64) error

	// Discard removes the copy. Open makes it anew.
	Discard(ctx context.Context) error

	// Publish gives the copy its name, after mark was done in it. At every moment
	// there is no store of that name, or the whole one.
	Publish(ctx context.Context, mark func(database.Tx) error) error

	// Close closes the copy. One that was not published stays, to go on with.
	Close() error
}

// Progress says how far a copy has come.
type Progress struct {
	Comparing bool   // both are read to compare them; else rows are copied
	Table     string // which is on
	Done, Of  int64  // rows
}

// A Proof says what both stores hold.
type Proof struct {
	Anew    bool  // an older copy was of another state, and was thrown away
	Resumed int64 // rows that an older copy had brought
	Tables  []Compared
}

// Copy copies a store, proves that the copy is equal, and publishes it. Told hears of
// each step.
//
// It returns store.ErrChanging if the source was written to meanwhile, and a
// *[store.UnequalError] with the proof if the two are not equal; then nothing
// is published, and the next copy begins anew. Any other error leaves what was copied, and the
// next copy goes on from there. A *[store.SideError] says which of the two it is about.
func Copy(ctx context.Context, from Source, to Target, told func(Progress)) (Proof, error) {
	c := &copying{from: from, to: to, told: told}
	stamp, err := c.begin(ctx)
	if err != nil {
		return c.proof, err
	}
	for _, t := range Tables {
		if err := c.table(ctx, t); err != nil {
			return c.proof, err
		}
	}
	if err := c.finish(ctx); err != nil {
		return c.proof, err
	}
	if err := c.prove(ctx); err != nil {
		return c.proof, err
	}
	now, err := stampOf(ctx, from.Side().Readers)
	if err != nil {
		return c.proof, c.atSource(err)
	}
	if now != stamp {
		return c.proof, c.atSource(fmt.Errorf("store %s %w", from.Side().Name, store.ErrChanging))
	}
	return c.proof, c.atTarget(to.Publish(ctx, func(tx database.Tx) error { return mark(tx, wholeOf+stamp) }))
}

// A copying is one copy in progress.
type copying struct {
	from  Source
	to    Target
	told  func(Progress)
	now   Progress
	whole bool // an earlier copy was proven
	proof Proof
}

func (c *copying) atSource(err error) error { return at(false, c.from.Side().Name, err) }
func (c *copying) atTarget(err error) error { return at(true, c.to.Name(), err) }

// at says which store an error is about.
func at(copy bool, name string, err error) error {
	if err == nil {
		return nil
	}
	return &store.SideError{Copy: copy, Name: name, Err: err}
}

// begin opens the target, and returns the stamp of the source.
func (c *copying) begin(ctx context.Context) (stamp string, err error) {
	source := c.from.Side()
	if state, err := stateOf(ctx, source.Readers); err != nil || state != "" && !strings.HasPrefix(state, wholeOf) {
		if err == nil {
			err = &store.UnfinishedError{Name: source.Name}
		}
		return "", c.atSource(err)
	}
	if stamp, err = stampOf(ctx, source.Readers); err != nil {
		return "", c.atSource(err)
	}
	if err := c.open(ctx, stamp); err != nil {
		return "", err
	}
	for _, t := range Tables {
		n, err := count(ctx, source, t)
		if err != nil {
			return "", c.atSource(err)
		}
		have, err := count(ctx, c.to.Side(), t)
		if err != nil {
			return "", c.atTarget(err)
		}
		c.now.Of += n
		c.proof.Resumed += have
	}
	c.now.Done = c.proof.Resumed
	return stamp, nil
}

// open opens the copy of the state that a stamp says, and makes it if there is none.
func (c *copying) open(ctx context.Context, stamp string) error {
	for {
		if err := c.to.Open(ctx); err != nil {
			return c.atTarget(err)
		}
		state, err := stateOf(ctx, c.to.Side().Readers)
		if err != nil {
			return c.atTarget(err)
		}
		switch {
		case state == copyingOf+stamp:
			return nil
		case state == wholeOf+stamp: // it was killed before the copy got its name
			c.whole = true
			return nil
		case state == "":
			return c.atTarget(c.first(ctx, stamp))
		case strings.HasPrefix(state, wholeOf): // somebody may use it
			return c.atTarget(c.occupied())
		}
		c.proof.Anew = true
		if err := c.to.Discard(ctx); err != nil {
			return c.atTarget(err)
		}
	}
}

// first marks a copy that has nothing yet.
func (c *copying) first(ctx context.Context, stamp string) error {
	for _, name := range []string{"leases", "streams", "events"} {
		n, err := count(ctx, c.to.Side(), Table{Name: name})
		if err != nil {
			return err
		}
		if n > 0 {
			return c.occupied()
		}
	}
	return c.update(ctx, func(tx database.Tx) error {
		if err := tx.Exec(`DELETE FROM meta`); err != nil { // the salt is that of the source
			return err
		}
		return mark(tx, copyingOf+stamp)
	})
}

// occupied says that what is there is not ours to throw away.
func (c *copying) occupied() error {
	return &store.OccupiedError{Name: c.to.Side().Name, What: "a store that is not an unfinished copy"}
}

// update changes the target.
func (c *copying) update(ctx context.Context, do func(database.Tx) error) error {
	return c.to.Writer().Update(ctx, do, func(database.Tx) (bool, error) { return false, nil })
}

// table copies what the target lacks of a table.
func (c *copying) table(ctx context.Context, t Table) error {
	last, err := lastKey(ctx, c.to.Side(), t)
	if err != nil {
		return c.atTarget(err)
	}
	source := newReader(c.from.Side(), t, last)
	for {
		rows, err := source.page(ctx)
		if err == nil {
			err = c.renewSums(t, source.columns, rows)
		}
		if err != nil {
			return c.atSource(err)
		}
		if len(rows) == 0 {
			return nil
		}
		last := source.after
		err = c.to.Writer().Update(ctx, func(tx database.Tx) error { return c.to.Insert(tx, t.Name, source.columns, rows) },
			func(tx database.Tx) (bool, error) { return stored(tx, t, last) })
		if err != nil {
			return c.atTarget(err)
		}
		c.step(false, t, len(rows))
	}
}

// step tells that rows of a table are done.
func (c *copying) step(comparing bool, t Table, rows int) {
	c.now.Table, c.now.Comparing = t.Name, comparing
	c.now.Done += int64(rows)
	c.told(c.now)
}

// renewSums gives records the sums of the target. It returns a *[store.ChangedError]
// for one that is not what was stored in the source.
func (c *copying) renewSums(t Table, columns []string, rows [][]any) error {
	if !t.summed() {
		return nil
	}
	of := recordColumns(columns)
	for _, row := range rows {
		if row[of.sum] != of.sumIn(c.from.Side(), row) {
			id, _ := row[of.id].(int64)
			return &store.ChangedError{Record: id}
		}
		row[of.sum] = of.sumIn(c.to.Side(), row)
	}
	return nil
}

// finish makes in the target what is not in its rows: the numbers of the next ones,
// and the views.
func (c *copying) finish(ctx context.Context) error {
	numbers := map[string]int64{}
	for _, t := range Tables {
		if !t.numbered {
			continue
		}
		n, err := c.from.Number(ctx, t)
		if err != nil {
			return c.atSource(err)
		}
		numbers[t.Name] = n
	}
	return c.atTarget(c.update(ctx, func(tx database.Tx) error {
		for _, t := range Tables {
			if !t.numbered {
				continue
			}
			var highest int64
			if err := tx.Row(fmt.Sprintf(`SELECT coalesce(max(%s), 0) FROM %s`, t.key[0], t.Name)).Scan(&highest); err != nil {
				return err
			}
			if err := c.to.SetNumber(tx, t, max(highest, numbers[t.Name])); err != nil {
				return err
			}
		}
		return streams.RenewViews(tx)
	}))
}

// stored reports whether a table has the row of a key.
func stored(tx database.Tx, t Table, key []any) (bool, error) {
	var conditions []string
	for _, column := range t.key {
		conditions = append(conditions, column+" = ?")
	}
	var one int
	err := tx.Row(`SELECT 1 FROM `+t.Name+` WHERE `+strings.Join(conditions, " AND "), key...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
