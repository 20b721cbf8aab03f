package coordinator

import (
	"context"
	"time"
)

// Run reports until ctx ends, and then that the node leaves. It returns when
// that was told, or could not be within the time between two reports. Run is
// called once.
//
// One report is on its way at a time, so that a grant that comes too late to be
// waited for is never applied. A report is sent early, at most one each
// Debounce, if a grant changed the share (which is acknowledged by a report),
// if requests beyond a lowered share have drained, or if others hold a part of
// the fair share; while they hold it, the time between reports doubles up to
// Beat.
func (n *Node) Run(ctx context.Context) {
	answers := make(chan answer, 1)
	next, fence := time.NewTimer(0), time.NewTimer(n.cfg.Lease)
	defer next.Stop()
	defer fence.Stop()
	var sent time.Time // the last report
	var due time.Time  // of the next, if none is on its way
	flying, early, capped := false, false, 0
	for {
		select {
		case <-ctx.Done():
			if flying {
				<-answers // it ends with ctx
			}
			n.leave(ctx)
			return
		case <-n.early:
			early = true
		case <-next.C:
			sent, flying = time.Now(), true
			n.lapse(sent) // after a suspended machine, the timers are late
			go func() { answers <- n.beat(ctx) }()
			continue
		case a := <-answers:
			flying = false
			due = sent.Add(n.cfg.Beat)
			capped = n.settle(a, capped)
			if wait := n.cfg.Debounce << min(capped, 20); capped > 0 && wait < n.cfg.Beat {
				due = sent.Add(wait)
			}
			if a.err == nil {
				fence.Reset(time.Until(n.end()))
			}
		case <-fence.C:
			n.lapse(time.Now())
		}
		if early && !flying {
			early = false
			if soon := sent.Add(n.cfg.Debounce); soon.Before(due) {
				due = soon
			}
		}
		if !flying {
			next.Reset(time.Until(due))
		}
	}
}

// An answer is what became of a report.
type answer struct {
	grant Grant
	sent  time.Time
	err   error
}

// beat sends a report. All of it is of one moment, before anything is awaited.
func (n *Node) beat(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Beat)
	defer cancel()
	r, sent := n.report(false)
	g, err := n.coordinator.Beat(ctx, n.cfg.Key, r)
	if err == nil {
		err = ctx.Err() // too late, even so
	}
	return answer{grant: g, sent: sent, err: err}
}

func (n *Node) report(leaving bool) (Report, time.Time) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seq++
	if leaving {
		n.standing = closed
	}
	share := n.grant.Share
	if n.standing != leased && n.cfg.Outage != LastShare || n.standing == closed {
		share = 0
	}
	return Report{
		ID:       n.cfg.ID,
		Seq:      n.seq,
		Limit:    n.cfg.Local.Limit(),
		InFlight: n.cfg.Local.InFlight(),
		Share:    share,
		Gen:      n.grant.Gen,
		Lease:    n.cfg.Lease,
		Leaving:  leaving,
	}, now
}

// settle applies a grant, or notes that there is none. It returns how many
// grants in a row were capped by what is reserved for others.
func (n *Node) settle(a answer, capped int) int {
	now := time.Now()
	n.mu.Lock()
	n.err = a.err
	until := a.sent.Add(n.cfg.Lease - n.cfg.Margin)
	if a.err != nil || !now.Before(until) || a.grant.Gen < n.grant.Gen {
		first := n.standing == joining
		n.mu.Unlock()
		if first {
			n.fence()
		}
		return 0
	}
	was := n.standing
	changed := a.grant.Gen != n.grant.Gen
	n.grant, n.until, n.standing = a.grant, until, leased
	n.mu.Unlock()
	if changed {
		n.hurry()
	}
	if was == fenced && n.cfg.OnRestored != nil {
		n.cfg.OnRestored()
	}
	if a.grant.Share >= a.grant.Fair {
		return 0
	}
	return capped + 1
}

// end is when the lease ends, less the margin.
func (n *Node) end() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.until
}

// lapse fences a node whose lease has ended.
func (n *Node) lapse(now time.Time) {
	n.mu.Lock()
	ended := n.standing == leased && !n.leaseRuns(now)
	n.mu.Unlock()
	if ended {
		n.fence()
	}
}

// fence is called by Run only, which alone changes how a node stands.
func (n *Node) fence() {
	n.mu.Lock()
	n.standing = fenced
	n.mu.Unlock()
	if n.cfg.OnFenced != nil {
		n.cfg.OnFenced()
	}
}

// leave reports that the node sends nothing more. What it has in flight stays
// reserved until its lease ends.
func (n *Node) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.Beat)
	defer cancel()
	r, _ := n.report(true)
	_, err := n.coordinator.Beat(ctx, n.cfg.Key, r)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}
