package collection

// A WarningCode says what kind a warning is: W0604. The codes are a contract, as
// those of errors are.
type WarningCode string

// The warnings about what was collected. What each is about is stored all the
// same, and the walk goes on.
const (
	FarFewer      WarningCode = "W0604" // less than half of the records that the walk before had
	MaybeOnePage  WarningCode = "W0605" // as many records as a page, or a whole list of some providers, has at most
	Overwritten   WarningCode = "W0611" // many records of one walk replaced another one of it, or one that another parent may still have
	MarkIgnored   WarningCode = "W0612" // the provider sends records that are older than the run asked for
	RefusedBeside WarningCode = "W0613" // a page with records that says that something failed
	FetchedOnce   WarningCode = "W0619" // parents that changed after their partitions were collected, which are collected once
	OrderChanges  WarningCode = "W0620" // records that came on two pages, where none that were added explain it
)

// MeetsApart is the warning of a run that other runs of its account find only if
// they have the same temporary folder. It is about no data.
const MeetsApart WarningCode = "W0614"

// CertificateEnds is the warning of a run whose client certificate ends soon. It is
// about no data.
const CertificateEnds WarningCode = "W0615"

// AccountLeftOut is the warning of a run that goes on without one of several accounts.
// It is about no data.
const AccountLeftOut WarningCode = "W0616"

// PaceAway is the warning of a run of several machines that no request leaves, since the
// store where they share the pace of an account does not answer, and PaceShared says
// that it is over. They are about no data.
const (
	PaceAway   WarningCode = "W0617"
	PaceShared WarningCode = "W0618"
)

// Contradicts reports whether a warning is about data that may not be what the
// provider has, so that a run which has to be sure of it is no success.
func (c WarningCode) Contradicts() bool {
	switch c {
	case FarFewer, MaybeOnePage, RefusedBeside, Overwritten, OrderChanges:
		return true
	}
	return false
}

// A Warning is what a connector noticed on a page that it takes for whole.
type Warning struct {
	Code WarningCode
	Text string // one line for people: no secrets, URLs, cursors or bodies
}
