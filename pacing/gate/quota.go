package gate

import (
	"slices"
	"time"

	"collect/pacing/gate/internal/route"
	"collect/pacing/law"
	"collect/pacing/response"
)

// The constants of quotas that are used up.
const (
	quotaFirst = time.Minute      // the wait for one of which neither a wait nor a period is told,
	quotaHold  = time.Hour        // and the longest, unless the provider asks for a longer one
	quotaBrief = 10 * time.Minute // one that ends sooner is a pace, whatever it is called
	mostQuotas = 8                // those that are told apart
)

// A quota is what a provider calls used up. That it is one is a hypothesis:
// Salesforce has one code for the day's requests and for too many at once, and
// what is granted again within seconds must not be left alone for an hour. So a
// quota whose end is not known is asked for after a minute, and then whenever it
// has lasted for twice as long. If it ends within minutes, its next refusal is
// one of the pace, until it lasts for longer again.
type quota struct {
	code  string     // the provider's; "": none
	key   string     // of the requests that it is of; "": of all
	brief bool       // it ended within minutes, the last time
	open  bool       // it is used up, as far as is known,
	since law.Moment // since then
}

// suppose returns what o, the outcome of f, means after what is known of quotas,
// and notes what it says of them. It reports whether that is news.
func (g *Gate) suppose(f *flight, o *Outcome, now law.Moment) (meant *Outcome, news bool) {
	if !o.QuotaUsed {
		if o.Signal == law.Succeeded || o.Signal == law.Answered {
			for _, q := range g.quotas {
				news = q.end(f.left, f.way.Key(), now) || news
			}
		}
		return o, news
	}
	if o.tellsEnd() {
		return o, false
	}
	c, q := *o, g.quotaOf(o)
	was := *q
	c.Hold = q.refuse(o, now)
	if q.brief {
		c.QuotaUsed, c.Signal, c.Hold = false, law.Throttled, o.Hold
	}
	return &c, *q != was
}

// tellsEnd reports whether a limit is announced that is used up, and until when.
func (o *Outcome) tellsEnd() bool {
	return slices.ContainsFunc(o.Windows, func(q response.Quota) bool {
		return q.Remaining == 0 && q.Reset >= 0 && max(q.Window, q.Reset) >= response.BudgetFrom
	})
}

// quotaOf returns the quota that o calls used up.
func (g *Gate) quotaOf(o *Outcome) *quota {
	key := o.Key
	if o.Wide {
		key = ""
	}
	for _, q := range g.quotas {
		if q.code == o.Code && q.key == key {
			return q
		}
	}
	if len(g.quotas) < mostQuotas {
		g.quotas = append(g.quotas, &quota{code: o.Code, key: key})
	}
	return g.quotas[len(g.quotas)-1]
}

// refuse notes a refusal, and returns for how long to leave the quota alone.
func (q *quota) refuse(o *Outcome, now law.Moment) time.Duration {
	if !q.open {
		q.open, q.since = true, now
	}
	lasts := now - q.since
	if lasts > quotaBrief {
		q.brief = false
	}
	first := quotaFirst
	switch {
	case o.Hold > 0:
		first = o.Hold
	case o.Period > quotaHold:
		first = quotaHold
	}
	return max(first, min(lasts, quotaHold))
}

// end notes that a request was answered that left at a moment.
func (q *quota) end(left law.Moment, key string, now law.Moment) (news bool) {
	if !q.open || left <= q.since || q.key != "" && q.key != key {
		return false
	}
	q.open, q.brief = false, q.brief || now-q.since <= quotaBrief
	return true
}

// probes reports whether a quota of the account is used up, so that one request
// at a time asks whether it still is.
func (g *Gate) probes() bool {
	return slices.ContainsFunc(g.quotas, func(q *quota) bool { return q.open && !q.brief && q.key == "" })
}

// A keptQuota is the saved form of a quota.
type keptQuota struct {
	Code  string    `json:"code,omitempty"`
	Key   string    `json:"key,omitempty"`
	Brief bool      `json:"brief,omitempty"`
	Since time.Time `json:"used_up_since,omitzero"` // zero: it is not
}

func (g *Gate) keepQuotas() (all []keptQuota) {
	for _, q := range g.quotas {
		k := keptQuota{Code: q.code, Key: q.key, Brief: q.brief}
		if q.open {
			k.Since = g.clock.Kept(q.since)
		}
		if q.open || q.brief {
			all = append(all, k)
		}
	}
	return all
}

// restoreQuotas continues quotas. An answer after a pause between runs does not
// say for how long one lasted.
func (g *Gate) restoreQuotas(all []keptQuota) {
	for _, k := range all[:min(len(all), mostQuotas)] {
		if len(k.Code) > route.KeyBytes || len(k.Key) > route.KeyBytes {
			continue
		}
		q := &quota{code: k.Code, key: k.Key, brief: k.Brief, open: !k.Since.IsZero()}
		if q.open {
			q.since = g.clock.Of(k.Since)
		}
		g.quotas = append(g.quotas, q)
	}
}
