package model_test

import (
	"fmt"
	"slices"
	"strings"
)

// A model is a protocol as states and the steps between them.
type model[S comparable] struct {
	start S

	// steps calls add with every step that is possible in a state: who takes
	// it, what they do, and the state after it.
	steps func(s S, add func(who, what string, to S))

	// promises must hold for every step that is ever taken.
	promises []promise[S]

	// end, if it is set, must stay within reach of every state.
	end func(S) bool
}

// A promise holds for a step unless broken says otherwise.
type promise[S comparable] struct {
	name   string
	broken func(from, to S) bool
}

// outOfReach is the name of the promise that the end stays within reach.
const outOfReach = "the end stays within reach"

// only returns the model with some of its promises.
func (m model[S]) only(names ...string) model[S] {
	m.promises = slices.DeleteFunc(slices.Clone(m.promises), func(p promise[S]) bool { return !slices.Contains(names, p.name) })
	if !slices.Contains(names, outOfReach) {
		m.end = nil
	}
	return m
}

// A finding is what exploring a model came to.
type finding struct {
	states, steps, depth int

	broken string   // the promise that does not hold; "" if all do
	trace  []string // the fewest steps that break it
}

func (f finding) String() string {
	size := fmt.Sprintf("%d states, %d steps, depth %d", f.states, f.steps, f.depth)
	if f.broken == "" {
		return size
	}
	return fmt.Sprintf("%s broken in %d steps (%s)", f.broken, len(f.trace), size)
}

// story tells the steps that break a promise, one a line.
func (f finding) story() string { return "\t" + strings.Join(f.trace, "\n\t") }

// An explorer has visited states in the order of their distance from the
// start, which is why the first broken promise is broken in the fewest steps.
type explorer[S comparable] struct {
	model[S]
	visited []S
	from    []int32 // the state before each, on a shortest way; -1 before the start
	index   map[S]int32
	edges   [][2]int32 // kept if the model has an end
	steps   int
}

// explore visits every state that can be reached, or stops at the first
// promise that is broken.
func (m model[S]) explore() finding {
	e := &explorer[S]{model: m, index: map[S]int32{}}
	e.visit(m.start, -1)
	deepest := 0
	for at := int32(0); int(at) < len(e.visited); at++ {
		broken := ""
		from := e.visited[at]
		e.model.steps(from, func(who, what string, to S) {
			if broken != "" || to == from {
				return
			}
			e.steps++
			e.visit(to, at)
			for _, p := range m.promises {
				if p.broken(from, to) {
					broken = p.name
					e.refute(at, to)
					return
				}
			}
		})
		if broken != "" {
			return e.finding(broken, int32(len(e.visited)-1))
		}
		deepest = int(at)
	}
	if lost, ok := e.lost(); ok {
		return e.finding(outOfReach, lost)
	}
	f := e.finding("", int32(deepest))
	f.trace = nil
	return f
}

// visit notes a step to a state.
func (e *explorer[S]) visit(to S, from int32) {
	i, known := e.index[to]
	if !known {
		i = int32(len(e.visited))
		e.index[to] = i
		e.visited = append(e.visited, to)
		e.from = append(e.from, from)
	}
	if e.end != nil && from >= 0 {
		e.edges = append(e.edges, [2]int32{from, i})
	}
}

// refute makes a step that breaks a promise the last one that was visited,
// also if the state was known before.
func (e *explorer[S]) refute(from int32, to S) {
	e.visited = append(e.visited, to)
	e.from = append(e.from, from)
}

// lost returns the first state from which the end cannot be reached.
func (e *explorer[S]) lost() (int32, bool) {
	if e.end == nil {
		return 0, false
	}
	first := make([]int32, len(e.visited)+1) // where the steps into a state begin in before
	for _, edge := range e.edges {
		first[edge[1]+1]++
	}
	for i := range e.visited {
		first[i+1] += first[i]
	}
	before, free := make([]int32, len(e.edges)), slices.Clone(first)
	for _, edge := range e.edges {
		before[free[edge[1]]] = edge[0]
		free[edge[1]]++
	}
	ends := make([]bool, len(e.visited))
	var queue []int32
	for i, s := range e.visited {
		if e.end(s) {
			ends[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range before[first[at]:first[at+1]] {
			if !ends[from] {
				ends[from] = true
				queue = append(queue, from)
			}
		}
	}
	i := slices.Index(ends, false)
	return int32(i), i >= 0
}

// finding tells the way to a state.
func (e *explorer[S]) finding(broken string, last int32) finding {
	way := []int32{last}
	for e.from[way[0]] >= 0 {
		way = slices.Insert(way, 0, e.from[way[0]])
	}
	f := finding{states: len(e.index), steps: e.steps, depth: len(way) - 1, broken: broken}
	for i := range way[1:] {
		f.trace = append(f.trace, e.told(e.visited[way[i]], e.visited[way[i+1]]))
	}
	return f
}

// told says which step leads from one state to another.
func (e *explorer[S]) told(from, to S) (step string) {
	e.model.steps(from, func(who, what string, s S) {
		if s == to && step == "" {
			step = who + " " + what
		}
	})
	return step
}
