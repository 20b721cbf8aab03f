package paging

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collect/collection"
)

// A Sizing is how many records a page is asked for, where the file lets that change: it
// falls where a page turns out to be too much for the provider or for us, and grows
// again slowly. It belongs to a stream, is shared by its walks, and is safe for
// concurrent use. It is not kept: a cursor says where a page begins, whatever its size.
type Sizing struct {
	steps []int // from the largest to the least

	mu    sync.Mutex
	step  int
	good  int // pages of this size in a row
	wait  int // pages after which a larger one is tried
	tried bool
}

// Pages of one size before a larger one is tried: at first, and after many refusals.
const (
	firstWait = 10
	mostWait  = 1000
)

// NewSizing returns one that begins with from records, and asks for no fewer than
// least. Each step is half of the one before or, if pages of one size must end where
// a page of the other does, a divisor of it.
func NewSizing(from, least int, divides bool) *Sizing {
	s := &Sizing{steps: []int{from}, wait: firstWait}
	for size := from; ; {
		next := size / 2
		for divides && next > 0 && size%next != 0 {
			next--
		}
		if next < max(least, 1) {
			return s
		}
		s.steps, size = append(s.steps, next), next
	}
}

// Sizes returns the sizes to ask for a page with, the best one first: that of now,
// then the smaller ones.
func (s *Sizing) Sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps[s.step:]
}

// Refused notes that a page of that size was too much.
func (s *Sizing) Refused(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.steps, size); at >= s.step && at+1 < len(s.steps) {
		if s.tried {
			s.wait = min(2*s.wait, mostWait)
		}
		s.step, s.good, s.tried = at+1, 0, false
	}
}

// Had notes that a page of that size came.
func (s *Sizing) Had(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size != s.steps[s.step] || s.step == 0 {
		return
	}
	if s.good++; s.good >= s.wait {
		s.step, s.good, s.tried = s.step-1, 0, true
	}
}

// A Sized paging counts pages or records by a size that can change.
type Sized interface {
	Counted

	// Sized returns the paging with pages of n records, and the token that the page at
	// token has there; false if no page of that size begins where that one does.
	Sized(token string, n int) (pg Counted, same string, ok bool)

	// SizeAt returns the size that the page at token was to have; 0 if it may have any.
	SizeAt(token string) int
}

// Sized returns b with another limit: an offset counts records.
func (b ByOffset) Sized(token string, n int) (Counted, string, bool) {
	b.Limit = n
	return b, token, true
}

// SizeAt is 0: an offset is the place of a record.
func (b ByOffset) SizeAt(string) int { return 0 }

// BySize counts pages whose size may change. The token of page 3 of 100 records is
// "3x100". Behind a page that was shorter it is "3x100-": if the provider gives fewer
// records than it is asked for, two pages of 50 are not where that of 100 is.
type BySize struct{ ByNumber }

func (b BySize) parse(token string) (number string, size int, full bool) {
	number, rest, sized := strings.Cut(token, "x")
	rest, short := strings.CutSuffix(rest, "-")
	if size, _ = strconv.Atoi(rest); !sized || size <= 0 {
		size = b.Size
	}
	return number, size, !short
}

func (b BySize) token(number string, full bool) string {
	if number == "" {
		return ""
	}
	token := fmt.Sprintf("%sx%d", number, b.Size)
	if !full {
		token += "-"
	}
	return token
}

func (b BySize) Sized(token string, n int) (Counted, string, bool) {
	number, size, full := b.parse(token)
	b.Size = n
	if number == "" || n == size {
		return b, token, true
	}
	page, err := strconv.Atoi(number)
	before := (page - b.Start) * size
	if err != nil || !full || before%n != 0 {
		return b, token, false
	}
	return b, b.token(strconv.Itoa(before/n+b.Start), true), true
}

func (b BySize) SizeAt(token string) int {
	if number, size, _ := b.parse(token); number != "" {
		return size
	}
	return 0
}

func (b BySize) Ask(token string) []Field {
	number, _, _ := b.parse(token)
	return b.ByNumber.Ask(number)
}

func (b BySize) Next(p *Page, token string) (string, error) {
	number, _, full := b.parse(token)
	next, err := b.ByNumber.Next(p, number)
	return b.token(next, full && p.Had() >= b.Size), err
}

func (b BySize) Ahead(token string) (string, error) {
	number, _, full := b.parse(token)
	next, err := b.ByNumber.Ahead(number)
	return b.token(next, full), err
}

func (b BySize) Before(token string) (string, bool) {
	number, _, full := b.parse(token)
	before, ok := b.ByNumber.Before(number)
	return b.token(before, full), ok
}

func (b BySize) Seen(token string, n int) (int, bool) {
	number, _, full := b.parse(token)
	if number == "" {
		number = strconv.Itoa(b.Start)
	}
	records, ok := b.ByNumber.Seen(number, n)
	return records, ok && full
}

var _ = []Sized{ByOffset{}, BySize{}}

// TooMuch reports whether err says that a page was too much at once, so that a
// smaller one may be had: the provider took too long for it (504, or longer than we
// wait), or would not make it (413), or it is larger than a body may be.
func TooMuch(stop *collection.Stop) bool {
	late := stop.Status == 504 || errors.Is(stop, collection.ErrLate)
	return stop.Reason == collection.TooLarge || stop.Status == 413 || late && stop.Reason == collection.UpstreamPressure
}
