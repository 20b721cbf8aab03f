package gate

import (
	"slices"
	"time"

	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/timeline"
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

// quotas are those that a provider called used up.
type quotas []*quota

// suppose returns what o means after what is known of quotas, and notes what it
// says of them. It reports whether that is news. The request left at a moment, by
// the route of key.
func (all *quotas) suppose(o *Outcome, key string, left, now law.Moment) (meant *Outcome, news bool) {
	if !o.QuotaUsed {
		if o.Signal == law.Succeeded || o.Signal == law.Answered {
			for _, q := range *all {
				news = q.end(left, key, now) || news
			}
		}
		return o, news
	}
	if o.tellsEnd() {
		return o, false
	}
	c, q := *o, all.of(o)
	was := *q
	if c.Hold = q.refuse(o, now); c.Hold > o.Hold {
		c.Basis.By = response.UsedUp
	}
	if q.brief {
		c.QuotaUsed, c.Signal, c.Hold, c.Basis = false, law.Throttled, o.Hold, o.Basis
	}
	return &c, *q != was
}

// of returns the quota that o calls used up.
func (all *quotas) of(o *Outcome) *quota {
	key := o.Key
	if o.Wide {
		key = ""
	}
	for _, q := range *all {
		if q.code == o.Code && q.key == key {
			return q
		}
	}
	if len(*all) < mostQuotas {
		*all = append(*all, &quota{code: o.Code, key: key})
	}
	return (*all)[len(*all)-1]
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

// open reports whether a quota is used up.
func (all quotas) open() bool {
	return slices.ContainsFunc(all, func(q *quota) bool { return q.open })
}

// probes reports whether a quota of the account is used up, so that one request
// at a time asks whether it still is.
func (all quotas) probes() bool {
	return slices.ContainsFunc(all, func(q *quota) bool { return q.open && !q.brief && q.key == "" })
}

// A keptQuota is the saved form of a quota.
type keptQuota struct {
	Code  string    `json:"code,omitempty"`
	Key   string    `json:"key,omitempty"`
	Brief bool      `json:"brief,omitempty"`
	Since time.Time `json:"used_up_since,omitzero"` // zero: it is not
}

func (all quotas) keep(clock *timeline.Timeline) (kept []keptQuota) {
	for _, q := range all {
		k := keptQuota{Code: q.code, Key: q.key, Brief: q.brief}
		if q.open {
			k.Since = clock.Kept(q.since)
		}
		if q.open || q.brief {
			kept = append(kept, k)
		}
	}
	return kept
}

// restore continues quotas. An answer after a pause between runs does not say for
// how long one lasted.
func (all *quotas) restore(kept []keptQuota, clock *timeline.Timeline) {
	for _, k := range kept[:min(len(kept), mostQuotas)] {
		if len(k.Code) > route.KeyBytes || len(k.Key) > route.KeyBytes {
			continue
		}
		q := &quota{code: k.Code, key: k.Key, brief: k.Brief, open: !k.Since.IsZero()}
		if q.open {
			q.since = clock.Of(k.Since)
		}
		*all = append(*all, q)
	}
}
