package dst_test

import (
	"time"

	"collect/collection"
)

// What happens to a process, as its session says: at a time, or at a request.

// schedule arranges for what happens at a time.
func (p *process) schedule() (stop func()) {
	guard := time.AfterFunc(longestRun, func() {
		p.h.violate("I13: %s does not end in %v", p.name, longestRun)
		p.kill("too long")
	})
	killer := func() bool { return true }
	if p.session.killAt > 0 {
		killer = time.AfterFunc(p.session.killAt, func() {
			p.h.count("killed at a time")
			p.kill("at a time")
		}).Stop
	}
	return func() { guard.Stop(); killer() }
}

// onRequest makes happen what the session has in mind for a request.
func (p *process) onRequest() {
	p.mu.Lock()
	p.requests++
	n := int(p.requests)
	p.mu.Unlock()
	select {
	case p.asked <- struct{}{}:
	default:
	}
	switch n {
	case p.session.interrupt:
		p.h.count("interrupted")
		p.budget.Interrupt()
	case p.session.cancel:
		p.h.count("cancelled")
		p.cancel()
	case p.session.killRequest:
		p.h.count("killed in flight")
		p.kill("in flight")
	case mostRequests:
		p.h.violate("I13: %s sent %d requests", p.name, n)
		p.kill("too many requests")
	}
	if n == p.session.step {
		p.h.stepClock(p, p.session.stepBy)
	}
	if n == p.session.second {
		p.startAnother()
	}
	if n == p.session.stop {
		p.sleep(p.session.asleep)
	}
}

// sleep stops the process, as SIGSTOP or a lid that is closed does: until it
// wakes, it takes no step that anybody could see. Its clock goes on.
func (p *process) sleep(d time.Duration) {
	p.h.count("stopped")
	p.h.note("%s is stopped for %v", p.name, d)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wakes = time.Now().Add(d)
}

// awake returns when the process is not stopped, or not any more, and it is the
// turn of a step.
func (p *process) awake(step ...string) {
	p.mu.Lock()
	wakes := p.wakes
	p.mu.Unlock()
	if !time.Now().Before(wakes) {
		return
	}
	select {
	case <-time.After(time.Until(wakes)):
		p.h.order.wait(sumOf("order ", p.name, " wakes and ").with(step...))
	case <-p.over:
	}
}

// slept reports whether the process was ever stopped.
func (p *process) slept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.wakes.IsZero()
}

// startAnother starts a second process beside p. Where it steals, somebody has
// removed the file of the lock: the kernel no longer keeps them apart, and the
// epoch must.
func (p *process) startAnother() {
	if p.session.steal {
		p.h.count("lock stolen")
		p.mu.Lock()
		p.zombie = true
		p.mu.Unlock()
		p.h.stage.unlock()
	}
	other := session{mode: collection.Forward, lane: collection.Incremental, concurrency: 1}
	if len(p.session.others) > 0 {
		other = p.session.others[0]
	}
	p.others.Go(func() {
		p.h.order.wait(sumOf("order ", p.name, " starts another"))
		time.Sleep(other.pause)
		e := p.h.execute(other, !p.session.steal || other.pause > 0)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.after = &e
	})
}

// beside counts a trouble of a process that is not alone: another one began
// after it, or had begun before it.
func (p *process) beside(trouble string) {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	if len(p.h.running) > 1 {
		p.h.counts[trouble+" beside another run"]++
	}
}

// kill ends the process: nothing it does has an effect any more.
func (p *process) kill(why string) {
	p.h.note("%s killed %s", p.name, why)
	p.beside("killed")
	p.mu.Lock()
	if !p.dead {
		p.dead, p.gone = true, time.Now().Add(longestStep)
		close(p.over)
	}
	p.mu.Unlock()
	p.cancel()
}
