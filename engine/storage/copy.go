package storage

import (
	"context"
	"errors"

	"collect/store"
	"collect/store/postgres"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
	"collect/store/transfer"
)

// A Proof says what a store and its copy hold.
type Proof = transfer.Proof

// A Progress says how far a copy has come.
type Progress = transfer.Progress

// Copy copies a whole store to another name, which may be of another kind; see
// [transfer.Copy]. A *[store.SideError] says which of the two an error is about, by the
// name that was given here.
func Copy(ctx context.Context, from, to string, told func(Progress)) (proof Proof, err error) {
	source, err := sourceOf(ctx, from)
	if err != nil {
		return proof, &store.SideError{Name: from, Err: err}
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := targetOf(to)
	if err != nil {
		return proof, &store.SideError{Copy: true, Name: to, Err: err}
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	proof, err = transfer.Copy(ctx, source, target, told)
	if there, ok := errors.AsType[*store.OccupiedError](err); ok && !there.Folder {
		there.Copied = copied(ctx, source, to)
	}
	if side, ok := errors.AsType[*store.SideError](err); ok {
		if side.Name = from; side.Copy {
			side.Name = to
		}
	}
	return proof, err
}

// copied reports whether a store is the finished copy of what a source has now. One that cannot be
// looked at is none.
func copied(ctx context.Context, source transfer.Source, name string) bool {
	there, err := sourceOf(ctx, name)
	if err != nil {
		return false
	}
	same, err := transfer.Copied(ctx, source.Side(), there.Side())
	return errors.Join(err, there.Close()) == nil && same
}

func sourceOf(ctx context.Context, name string) (transfer.Source, error) {
	if !IsFile(name) {
		if err := postgres.Check(name); err != nil {
			return nil, err
		}
		return postgres.Source(ctx, name)
	}
	if err := salvage.CheckLog(name); err != nil {
		return nil, err
	}
	return sqlite.Source(ctx, name)
}

func targetOf(name string) (transfer.Target, error) {
	if !IsFile(name) {
		if err := postgres.Check(name); err != nil {
			return nil, err
		}
		return postgres.Target(name)
	}
	if err := inFolder(name); err != nil {
		return nil, err
	}
	return sqlite.Target(name)
}
