package share

// A Lead says who leads an account, as a [Directory] remembers it. Its methods
// are pure: whoever keeps it runs them one after the other, and writes what they
// return before anything relies on it. Times are microseconds of one clock, that of
// the server which keeps it.
//
// The server may forget: a standby that became the primary may not have the last
// writes. So the lead has the life of its server, and in another life nobody
// takes the lead for one lease: by then a leader that was forgotten has ended by
// its own clock. (Only an account that is new, and whose very first lead was forgotten, is
// free at once: the forgotten leader finds that out with its next renewal.)
type Lead struct {
	ID   string `json:"id,omitempty"`   // of the process that leads; "": it ended by itself
	Life string `json:"life,omitempty"` // of the server that wrote this
	Ends int64  `json:"ends,omitempty"` // of the lease, in microseconds
	Old  bool   `json:"old,omitempty"`  // the state beside it may not be the last that was saved
	Host string `json:"host,omitempty"` // of the process that led last, for people
	PID  int    `json:"pid,omitempty"`
}

// Take makes id lead for lasts microseconds from now, unless another process
// leads: then the returned lead has its ID, or none while nobody may lead. killed says
// that the leader before did not end by itself, or may not have.
func (l Lead) Take(id, life string, now, lasts int64) (next Lead, taken, killed bool) {
	if l.Life != life && l.Life != "" {
		l.Life, l.Ends, l.Old = life, now+lasts, true
		return l, false, false
	}
	l.Ends = min(l.Ends, now+lasts) // the clock was set back
	if now < l.Ends {
		return l, false, false
	}
	return Lead{ID: id, Life: life, Ends: now + lasts}, true, l.ID != "" || l.Old
}

// Renew lets id lead for lasts microseconds from now, if nobody took the lead from it.
func (l Lead) Renew(id, life string, now, lasts int64) (next Lead, leads bool) {
	if l.ID != id {
		return l, false
	}
	return Lead{ID: id, Life: life, Ends: now + lasts, Host: l.Host, PID: l.PID}, true
}

// Leave ends the lead of id, unless another process may have it that was forgotten.
func (l Lead) Leave(id string) Lead {
	if l.ID == id && !l.Old {
		l.ID, l.Ends = "", 0
	}
	return l
}
