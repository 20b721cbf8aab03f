package dst_test

import (
	"net/http"

	"collect/collection"
	"collect/connectors"
	"collect/store"
)

// A bug is a fault of the product that is planted to see it found. The zero
// value changes nothing.
type bug struct {
	name        string
	near        uint64                                    // the seed near which it is found, if that is not one of the first
	onLedger    func(*process, store.Ledger) store.Ledger // what the runner does wrong
	onStore     func(*process, store.Ledger) store.Ledger // what the store does wrong
	onWire      func(http.RoundTripper) http.RoundTripper
	onConnector func(connectors.Connector) connectors.Connector
	onLearned   func([]byte) []byte
	onOwed      func(collection.Gap) bool // whether the verdict sees a gap
	onKeeper    func(*process, keeper) keeper
}

func (b bug) keeper(p *process, k keeper) keeper {
	if b.onKeeper == nil {
		return k
	}
	return b.onKeeper(p, k)
}

func (b bug) above(p *process, l store.Ledger) store.Ledger {
	if b.onLedger == nil {
		return l
	}
	return b.onLedger(p, l)
}

func (b bug) below(p *process, l store.Ledger) store.Ledger {
	if b.onStore == nil {
		return l
	}
	return b.onStore(p, l)
}

func (b bug) transport(t http.RoundTripper) http.RoundTripper {
	if b.onWire == nil {
		return t
	}
	return b.onWire(t)
}

func (b bug) connector(c connectors.Connector) connectors.Connector {
	if b.onConnector == nil {
		return c
	}
	return b.onConnector(c)
}

func (b bug) sees(gap collection.Gap) bool { return b.onOwed == nil || b.onOwed(gap) }

func (b bug) learned(state []byte) []byte {
	if b.onLearned == nil {
		return state
	}
	return b.onLearned(state)
}
