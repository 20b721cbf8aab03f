package engine

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"collect/collection"
	"collect/engine/registry"
	"collect/report"
	"collect/report/problem"
)

// AtOnce is how many connectors a [Group] runs side by side. Each has the memory
// of a run of its own.
const AtOnce = 8

// A State says where a member of a group stands.
type State int

// The states of a member, in their order.
const (
	Queued   State = iota // it waits for its turn
	Starting              // it asks for its lease
	Working
	Over
)

// A GroupConfig says which connectors to collect, and how.
type GroupConfig struct {
	Names    []string // or connector files
	Registry *registry.Registry

	// Each is the configuration of every run. Its request cap is that of each run,
	// and its time limit that of the group: all runs end when it is up. Target, Begun
	// and Observers are of each member.
	Each Config

	Observe func(m *Member, e collection.Event) // called from several goroutines

	// Moved is called each time that a member has come to another state, by one
	// goroutine at a time. An error ends a member that is about to work.
	Moved func(m *Member) error
}

// A Group runs several connectors side by side. One that cannot begin keeps none
// of the others from running.
type Group struct {
	config  GroupConfig
	members []*Member
	moves   sync.Mutex // one call of Moved at a time

	mu       sync.Mutex
	stopping bool
}

// A Member is one connector of a group. Moved reads it; else it is to be read once
// the group is done.
type Member struct {
	Name   string // in the store; as it was given, if that cannot be told
	State  State
	Target registry.Target
	Run    *Run // nil until it begins

	Ended      Ended
	Conclusion Conclusion
	Err        error // what kept it from beginning, or from saying how it ended

	withdraw context.CancelFunc // of a run that has not got its lease yet; nil: there is none
}

// NewGroup finds the connectors, in their order, since that may take a command
// that asks a person for a secret. What is wrong with one is its own error.
func NewGroup(ctx context.Context, c GroupConfig) (*Group, error) {
	g := &Group{config: c}
	taken := map[string]string{}
	for _, given := range c.Names {
		m := &Member{Name: given}
		m.Target, m.Err = c.Registry.Resolve(ctx, given, nil)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if name, err := registry.NameOf(given); err == nil {
			m.Name = name
		}
		if m.Err == nil {
			if other, twice := taken[m.Name]; twice {
				m.Err = problem.Usage("%s and %s are both the connector %s, which one run collects at a time", other, given, m.Name)
			} else {
				taken[m.Name] = given
			}
		}
		if m.Err != nil {
			m.State = Over
		}
		g.members = append(g.members, m)
	}
	return g, nil
}

// Members returns the connectors in the order in which they were named.
func (g *Group) Members() []*Member { return g.members }

// Do runs all of them, and returns when the last one is over.
//
// At most [AtOnce] run at a time, as many accounts as there are first: runs of one
// account share its pace, so that a second one makes it no faster. Among them those
// begin first that were not asked for anything for the longest time, so that a time
// limit that is too short for all of them does not leave out the same ones each time.
func (g *Group) Do(ctx context.Context) error {
	g.config.Each.Options.Since = time.Now()
	queue, err := g.queue(ctx)
	if err != nil {
		return err
	}
	over, busy, running, told := make(chan *Member), map[string]int{}, 0, false
	for len(queue) > 0 || running > 0 {
		for running < AtOnce && len(queue) > 0 {
			i := g.next(queue, busy)
			if i < 0 {
				break
			}
			m := queue[i]
			queue = slices.Delete(queue, i, i+1)
			running++
			busy[m.account()]++
			go func() {
				g.run(ctx, m)
				over <- m
			}()
		}
		if !told { // those that no place is left for are shown as such
			for _, m := range queue {
				_ = g.move(m, Queued)
			}
			told = true
		}
		m := <-over
		running--
		busy[m.account()]--
	}
	return nil
}

// queue returns the members that can begin, in the order in which they do.
func (g *Group) queue(ctx context.Context) ([]*Member, error) {
	var queue []*Member
	asked := map[*Member]time.Time{}
	for _, m := range g.members {
		if m.State == Over { // it could not be resolved
			_ = g.move(m, Over)
			continue
		}
		last, err := newest(ctx, g.config.Each.Store, m.Name, func(run collection.Run) bool { return run.Tally.Requests > 0 })
		if err != nil {
			return nil, err
		}
		if last != nil {
			asked[m] = last.StartedAt
		}
		queue = append(queue, m)
	}
	slices.SortStableFunc(queue, func(a, b *Member) int { return asked[a].Compare(asked[b]) })
	return queue, nil
}

// next returns the place in the queue of the member whose turn it is: the first
// one whose account is not in use, or else the first one. Without a place where runs
// share their pace, the runs of an account come one after the other, and it returns
// -1 if none of them may begin now.
func (g *Group) next(queue []*Member, busy map[string]int) int {
	free := slices.IndexFunc(queue, func(m *Member) bool { return busy[m.account()] == 0 })
	if free < 0 && (Place{g.config.Each.Meeting, g.config.Each.Store}).exists() {
		return 0
	}
	return free
}

// account tells the accounts of this group apart. It has the credential in it, and
// goes nowhere.
func (m *Member) account() string {
	p := m.Target.Connector.Provider()
	return strings.Join(append([]string{p.Name, p.Credential}, p.Origins...), "\n")
}

// run does the run of one member, and gathers what there is to say of it. A bug in
// one is the end of that one.
func (g *Group) run(ctx context.Context, m *Member) {
	defer func() {
		if value := recover(); value != nil {
			m.Err = &problem.PanicError{Value: value, Stack: debug.Stack()}
		}
		_ = g.move(m, Over) // there is nothing left to end
	}()
	c := g.config.Each
	c.Target = m.Target
	c.Observers = []func(collection.Event){func(e collection.Event) { g.config.Observe(m, e) }}
	c.Begun = func() error {
		g.mu.Lock()
		m.withdraw = nil
		g.mu.Unlock()
		return g.move(m, Working)
	}
	work, withdraw := context.WithCancel(ctx)
	defer withdraw()
	g.mu.Lock()
	m.Run, m.withdraw = New(c), withdraw
	stopping := g.stopping
	g.mu.Unlock()
	if stopping {
		m.Err = context.Canceled
		return
	}
	if m.Err = g.move(m, Starting); m.Err != nil {
		return
	}
	if m.Ended, m.Err = m.Run.Do(work); m.Err == nil {
		m.Conclusion, m.Err = m.Run.Conclude(context.WithoutCancel(ctx), m.Ended)
	}
}

// move tells that a member has come to a state.
func (g *Group) move(m *Member, to State) error {
	g.moves.Lock()
	defer g.moves.Unlock()
	m.State = to
	return g.config.Moved(m)
}

// Interrupt ends each run with the page in flight. What has no lease yet does not
// begin.
func (g *Group) Interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopping = true
	for _, m := range g.members {
		if m.Run != nil {
			m.Run.Interrupt()
		}
		if m.withdraw != nil {
			m.withdraw()
		}
	}
}

// End returns how a member that is over ended.
func (g *Group) End(m *Member) report.End {
	if m.Err != nil {
		p := problem.Of(m.Err, g.scene(m))
		if signal := g.config.Each.Signal; p.ExitCode == problem.ExitInterrupt && signal != nil {
			p.ExitCode = signal()
		}
		return report.End{
			Summary:  report.Summary{Connector: m.Name, ExitCode: p.ExitCode, Flags: g.config.Each.Flags},
			Problems: ofMember(m, p),
		}
	}
	return report.End{Began: true, Summary: m.Conclusion.Summary, Problems: ofMember(m, m.Conclusion.Problems...)}
}

// Hear returns what must be heard of a member that is over, as [Run.Hear] does.
func (g *Group) Hear(m *Member) Hearing {
	if m.Err != nil {
		return HearRefusal(m.Name, g.End(m).Problems[0])
	}
	h := m.Run.Hear(m.Conclusion)
	h.Problems = ofMember(m, h.Problems...)
	return h
}

// ofMember returns problems that say whose they are: they are told among those of
// other connectors.
func ofMember(m *Member, problems ...problem.Problem) []problem.Problem {
	all := slices.Clone(problems)
	for i := range all {
		all[i].At = cmp.Or(all[i].At, m.Name)
	}
	return all
}

// scene is what is known of the situation in which the error of a member is
// explained.
func (g *Group) scene(m *Member) problem.Scene {
	if m.Run != nil {
		return m.Run.Scene()
	}
	return problem.Scene{Connector: m.Name, State: g.config.Each.State, Flags: g.config.Each.Flags}
}
