package report

import (
	"math"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
)

// A Provider is an account of a provider with the connectors that use it.
type Provider struct {
	Domain     string // the pacing domain: provider, and account by a salted hash
	Name       string
	Account    *Account // nil: nothing is known of it
	Connectors []string
	Newest     collection.Run // of its connectors
}

// RefusedWords says how many refusals a minute its newest run met; "" if that was not
// measured.
func (p Provider) RefusedWords() string {
	perMinute, ok := RefusedPerMinute(p.Newest)
	if !ok {
		return ""
	}
	return words.Decimal(math.Round(perMinute*10) / 10)
}

// ProvidersOf groups connectors by the account that their newest run used, by name.
func ProvidersOf(all []Status) (providers []Provider) {
	for _, s := range all {
		newest := s.Newest()
		if newest.Domain == "" {
			continue
		}
		for n, domain := range newest.Domains() {
			account := s.Account
			if n < len(s.Accounts) {
				account = &s.Accounts[n]
			}
			providers = used(providers, domain, newest, account)
		}
	}
	slices.SortStableFunc(providers, func(a, b Provider) int { return strings.Compare(a.Domain, b.Domain) })
	return providers
}

// used notes that a run used an account.
func used(providers []Provider, domain string, run collection.Run, account *Account) []Provider {
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.Domain == domain })
	if i < 0 {
		name, _, _ := strings.Cut(domain, "/")
		providers = append(providers, Provider{Domain: domain, Name: words.Clean(name)})
		i = len(providers) - 1
	}
	p := &providers[i]
	p.Connectors = append(p.Connectors, run.Connector)
	if run.StartedAt.After(p.Newest.StartedAt) {
		p.Newest = run
	}
	if p.Account == nil || account != nil && account.Pace.HeardAt.After(p.Account.Pace.HeardAt) {
		p.Account = account
	}
	return providers
}

// RefusedPerMinute returns how many refusals a minute a run met on average, as of its
// last sign of life; ok is false if it sent nothing.
func RefusedPerMinute(run collection.Run) (perMinute float64, ok bool) {
	end := run.EndedAt
	if end.IsZero() {
		end = run.SeenAt()
	}
	took := end.Sub(run.StartedAt)
	if run.Tally.Requests == 0 || took <= 0 {
		return 0, false
	}
	return float64(run.Tally.Throttled) / max(took, time.Minute).Minutes(), true
}
