package sim

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// vendors returns providers as their own documents describe them. What these
// leave open, such as the size of a burst, is drawn.
func vendors() []Family {
	return []Family{
		// "An average of three requests per second. Some bursts beyond the average
		// rate are allowed"; 429, rate_limited and Retry-After in whole seconds:
		// developers.notion.com/reference/request-limits.
		{"notion", "Notion: 3 a second with bursts, Retry-After", true, false, func(d *draw) model {
			burst := math.Round(d.between(3, 60))
			c := d.counting(bare, steady(3), &bucket{rate: steady(3), burst: burst, tokens: burst})
			return d.telling(c, all(waits, refusal(429, `{"object":"error","status":429,"code":"rate_limited"}`)))
		}},
		// 100 in 10 s rolling, or 190 with more of a plan, and 250,000 a day:
		// developers.hubspot.com/docs/api/usage-details; the fields are those of its
		// changelog of 2018-11-06.
		{"hubspot", "HubSpot: 100 or 190 in 10 s rolling, announced without a reset, 429 with a policy", true, false, func(d *draw) model {
			n := []float64{100, 190}[d.rng.IntN(2)]
			window := &slidingWindow{n: n, w: 10}
			c := d.counting(bare, steady(n/10), window)
			return d.telling(c, all(hubspot(window), refusal(429, `{"status":"error","errorType":"RATE_LIMIT","policyName":"TEN_SECONDLY_ROLLING"}`)))
		}},
		// Limits are those of a method: Tier 2 has 20 or more a minute, Tier 3 50 or
		// more, with occasional bursts; 429 and Retry-After:
		// docs.slack.dev/apis/web-api/rate-limits.
		{"slack", "Slack: two methods of 20 and 50 a minute, Retry-After", true, false, func(d *draw) model {
			d.paths = []string{"/conversations.list", "/conversations.history"}
			d.long = 2 * 3600
			method := func(n float64) *counting {
				burst := math.Round(n * d.between(0.2, 1))
				c := d.counting(bare, steady(n/60), &bucket{rate: steady(n / 60), burst: burst, tokens: burst})
				return d.telling(c, waits)
			}
			return routed{method(20), method(50)}
		}},
		// Five a second of a base; who is refused has to wait for 30 s:
		// support.airtable.com/docs/managing-api-call-limits-in-airtable.
		{"airtable", "Airtable: 5 a second, and 30 s of refusals for more, 429", true, false, func(d *draw) model {
			c := d.counting(bare, steady(5), &fixedWindow{n: 5, w: 1, phase: d.rng.Float64()})
			return &punishing{counting: *c, box: 30}
		}},
		// Buckets of routes with their names in the fields, the reset in fractions of
		// a second, and 50 a second of all: docs.discord.com/developers/topics/rate-limits.
		{"discord", "Discord: two routes with buckets that are announced by name, Retry-After", true, true, func(d *draw) model {
			d.paths = []string{"/channels/1/messages", "/guilds/1/members"}
			route := func(name string) *counting {
				w := []float64{1, 5, 10}[d.rng.IntN(3)]
				n := float64(5 + d.rng.IntN(6))
				c := d.begun(bare, n, w)
				return d.telling(c, all(waits, discord(name, c.limits[0])))
			}
			return routed{route("messages"), route("members")}
		}},
		// A burst limit per second of an endpoint; 429 with Retry-After, the reset as
		// an ISO time without seconds, and the reason:
		// developer.atlassian.com/cloud/jira/platform/rate-limiting.
		{"jira", "Jira: a token bucket, Retry-After and a reason", true, false, func(d *draw) model {
			clock := d.clock()
			return d.telling(d.bucket(bare, steady(d.between(3, 15))), all(waits, func(r *reply, now, wait float64) {
				header(r, "Date", clock.at(now).Format(http.TimeFormat))
				if wait > 0 {
					header(r, "RateLimit-Reason", "jira-burst-based")
					header(r, "X-RateLimit-Reset", clock.at(now+wait).UTC().Format("2006-01-02T15:04Z"))
				}
			}))
		}},
		// The account has 200 to 2,500 a minute, and the list of tickets 100; both are
		// announced, the list in a field of its own; 429 and Retry-After:
		// developer.zendesk.com, "Best practices for avoiding rate limiting".
		{"zendesk", "Zendesk: 100 a minute of an endpoint, announced beside the larger limit of the account", true, true, func(d *draw) model {
			d.long = 2 * 3600
			account := []float64{200, 400, 700, 2500}[d.rng.IntN(4)]
			list, all60 := &fixedWindow{n: 100, w: 60, phase: 60 * d.rng.Float64()}, &fixedWindow{n: account, w: 60, phase: 60 * d.rng.Float64()}
			return d.telling(d.counting(bare, steady(100.0/60), list, all60), all(waits, zendesk(list, all60)))
		}},
		// 60 a minute, 5 in flight, 5,000 a day; what remains of each in a field, and
		// which was exceeded: developer.xero.com/faq/limits.
		{"xero", "Xero: 60 a minute and 5 in flight, announced, Retry-After", true, true, func(d *draw) model {
			d.idle = d.between(0.3, 2)
			minute, day := &slidingWindow{n: 60, w: 60}, &fixedWindow{n: 5000, w: 86400}
			c := d.telling(d.counting(bare, steady(1), minute, day), all(waits, xero(minute, day)))
			return &crowdedBucket{most: 5, counting: *c}
		}},
		// 25 a second where no money moves, which is above what the owner allows, and
		// a limit of requests at once: docs.stripe.com/rate-limits. How many that are
		// is not said.
		{"stripe", "Stripe: requests in flight are counted, 429 with a reason", true, false, func(d *draw) model {
			d.idle = d.between(0.3, 1.5)
			most := d.crowd()
			c := d.counting(bare, steady(25), &bucket{rate: steady(25), burst: 25, tokens: 25})
			return &crowdedBucket{most: most, counting: *c, told: func(r *reply) { header(r, "Stripe-Rate-Limited-Reason", "global-concurrency") }}
		}},
		// Ten connections at once for a key, and 429 with a sentence for more:
		// mailchimp.com/developer/marketing/docs/fundamentals/#throttling. Others with that key use up to eight of them, for
		// half a minute to two minutes each time.
		{"mailchimp", "Mailchimp: ten connections at once, of which others use some, 429 in words", true, false, func(d *draw) model {
			d.idle = d.between(0.3, 1.5)
			c := &connections{crowded: crowded{most: 10, rng: d.rng, idle: d.idle}, each: d.between(30, 120)}
			for range 100 {
				c.others = append(c.others, d.rng.IntN(9))
			}
			return c
		}},
		// A bucket of 40 that leaks 2 a second, its state on each answer, and
		// Retry-After with a fraction: shopify.dev/docs/api/admin-rest/usage/rate-limits.
		{"shopify", "Shopify's REST API: a bucket of 40 and 2 a second, announced without a reset, Retry-After: 2.0", true, true, func(d *draw) model {
			plan := []float64{1, 2, 10}[d.rng.IntN(3)] // standard, advanced, Plus
			b := &bucket{rate: steady(2 * plan), burst: 40 * plan, tokens: 40 * plan}
			return d.telling(d.counting(bare, steady(2*plan), b), func(r *reply, now, wait float64) {
				_, left, _, _ := b.left(now)
				header(r, "X-Shopify-Shop-Api-Call-Limit", fmt.Sprintf("%.0f/%.0f", b.burst-left, b.burst))
				if wait > 0 {
					header(r, "Retry-After", "2.0")
				}
			})
		}},
		// 100 points a second, by the cost that a query turns out to have; a bucket
		// must hold what it may cost at most: shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits.
		{"shopify-graphql", "Shopify's GraphQL API: points by the cost of the answer, THROTTLED inside a 200", true, true, func(d *draw) model {
			d.cost = costs
			restore := []float64{100, 200}[d.rng.IntN(2)]
			mean := d.between(20, 200) // points that a query of this job costs
			return &queryCost{bucket: bucket{rate: steady(restore), burst: 20 * restore, tokens: 20 * restore},
				mean: mean, asked: 1 + 2*d.rng.Float64(), draw: d}
		}},
		// 5,000 an hour in the fields, and 900 points a minute that are not: 403 with
		// Retry-After: docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api.
		{"github", "GitHub: 5,000 an hour, announced, and 900 a minute, 403 with Retry-After", true, false, func(d *draw) model {
			c := d.hours(5000, 1, 15, 2, 1)
			return &secondary{hour: *d.telling(c, github(d.clock(), c.limits[0])), minute: slidingWindow{n: 900, w: 60}}
		}},
		// While the copies of its database are behind, everything that says maxlag is
		// refused: 200, an error in the body, and Retry-After: 5:
		// mediawiki.org/wiki/Manual:Maxlag_parameter.
		{"wikimedia", "Wikimedia: no limit, and for a minute or two now and then an error inside a 200, Retry-After: 5", true, false, func(d *draw) model {
			every, length := 300+600*d.rng.Float64(), 30+90*d.rng.Float64()
			return &lagging{counting: *d.unlimited(), every: every, length: length}
		}},
		// "limit_req zone=api burst=n nodelay" refuses with 503 the requests beyond the
		// burst above the rate: nginx.org/en/docs/http/ngx_http_limit_req_module.html.
		{"limit-req", "nginx, limit_req with a burst and nodelay, 503", true, false, func(d *draw) model {
			rate := math.Ceil(d.limit())
			burst := math.Round(d.between(1, 30))
			return d.telling(d.counting(bare, steady(rate), &bucket{rate: steady(rate), burst: 1 + burst, tokens: 1 + burst}), unavailable)
		}},
		// "limit_conn addr n" refuses with 503 the requests beyond n at once:
		// nginx.org/en/docs/http/ngx_http_limit_conn_module.html.
		{"limit-conn", "nginx, limit_conn, 503", true, false, func(d *draw) model {
			d.idle = d.between(0.3, 2)
			return &crowded{most: d.crowd(), status: 503, rng: d.rng, idle: d.idle}
		}},
		// 1,200 in five minutes, announced; for more, nothing for five minutes, and
		// Retry-After: developers.cloudflare.com/fundamentals/api/reference/limits.
		{"cloudflare", "Cloudflare: 1,200 in five minutes, announced, and a block of five minutes for more", true, true, func(d *draw) model {
			d.long = 3 * 3600
			return &blocking{counting: *d.begun(structured, 1200, 300), block: 300}
		}},
		// Ten a second; for more, 403 and a page of words for ten minutes, or longer
		// for who goes on: the page itself, "Your request rate has exceeded the SEC's
		// maximum allowable requests per second".
		{"edgar", "EDGAR of the SEC: 10 a second, 403 for ten minutes for more", false, false, func(d *draw) model {
			d.long = 3 * 3600
			c := d.counting(bare, steady(10), &slidingWindow{n: 10, w: 1})
			return &punishing{counting: *c, block: 600}
		}},
	}
}

// crowd draws how many may be in flight: 2 to 10, and so few that the owner allows
// clearly more than they make of the latency.
func (d *draw) crowd() int { return int(min(float64(2+d.rng.IntN(9)), 0.7*Ceiling*d.idle)) }

func whole(n float64) string { return strconv.FormatFloat(math.Floor(n), 'f', 0, 64) }

// github tells how much of an hour's limit is left, and until when, and says so when
// nothing is.
func github(clock clock, l limiter) func(*reply, float64, float64) {
	return all(clock.asEpoch(l), func(r *reply, now, wait float64) {
		limit, remaining, _, _ := l.left(now)
		header(r, "X-RateLimit-Used", whole(limit-remaining))
		header(r, "X-RateLimit-Resource", "core")
		if wait > 0 {
			r.status, r.body = 403, `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest"}`
		}
	})
}

func hubspot(l limiter) func(*reply, float64, float64) {
	day := &fixedWindow{n: 250000, w: 86400}
	return func(r *reply, now, _ float64) {
		limit, remaining, _, _ := l.left(now)
		day.take(now, 1)
		_, today, _, _ := day.left(now)
		header(r, "X-HubSpot-RateLimit-Max", whole(limit))
		header(r, "X-HubSpot-RateLimit-Remaining", whole(remaining))
		header(r, "X-HubSpot-RateLimit-Interval-Milliseconds", "10000")
		header(r, "X-HubSpot-RateLimit-Daily", "250000")
		header(r, "X-HubSpot-RateLimit-Daily-Remaining", whole(today))
	}
}

func discord(name string, l limiter) func(*reply, float64, float64) {
	return func(r *reply, now, wait float64) {
		limit, remaining, reset, _ := l.left(now)
		header(r, "X-RateLimit-Bucket", name)
		header(r, "X-RateLimit-Limit", whole(limit))
		header(r, "X-RateLimit-Remaining", whole(remaining))
		header(r, "X-RateLimit-Reset-After", strconv.FormatFloat(math.Ceil(1000*reset)/1000, 'f', 3, 64))
		if wait > 0 {
			header(r, "X-RateLimit-Scope", "user")
			r.body = fmt.Sprintf(`{"message":"You are being rate limited.","retry_after":%.3f,"global":false}`, math.Ceil(1000*wait)/1000)
		}
	}
}

func zendesk(list, account limiter) func(*reply, float64, float64) {
	return func(r *reply, now, _ float64) {
		limit, remaining, reset, _ := account.left(now)
		header(r, "X-Rate-Limit", whole(limit))
		header(r, "X-Rate-Limit-Remaining", whole(remaining))
		header(r, "RateLimit-Limit", whole(limit))
		header(r, "RateLimit-Remaining", whole(remaining))
		header(r, "RateLimit-Reset", whole(math.Ceil(reset)))
		limit, remaining, reset, _ = list.left(now)
		header(r, "Zendesk-RateLimit-Tickets-Index", fmt.Sprintf("total=%s; remaining=%s; resets=%s", whole(limit), whole(remaining), whole(math.Ceil(reset))))
	}
}

func xero(minute, day limiter) func(*reply, float64, float64) {
	return func(r *reply, now, wait float64) {
		_, remaining, _, _ := minute.left(now)
		_, today, _, _ := day.left(now)
		header(r, "X-MinLimit-Remaining", whole(remaining))
		header(r, "X-DayLimit-Remaining", whole(today))
		header(r, "X-AppMinLimit-Remaining", "9900")
		if wait > 0 {
			header(r, "X-Rate-Limit-Problem", "minute")
		}
	}
}

// A queryCost provider charges what an answer cost, and refuses what might cost
// more than it has.
type queryCost struct {
	bucket
	mean  float64 // points of a query
	asked float64 // the most that a query may cost, in parts of what it does
	draw  *draw
}

func (q *queryCost) capacity(now float64) float64 { return min(Ceiling, q.rate(now)/q.mean) }

func (q *queryCost) answer(now, cost float64, _ int) reply {
	q.fill(now)
	actual := math.Ceil(q.mean * cost)
	asked := min(q.burst, math.Ceil(actual*q.asked))
	r := reply{status: 200, latency: jitter(q.draw.rng, q.draw.idle)}
	charged := "null"
	if q.tokens < asked {
		r.refused, r.latency = true, r.latency/2
	} else {
		q.tokens -= actual
		charged = whole(actual)
	}
	r.body = fmt.Sprintf(`"extensions":{"cost":{"requestedQueryCost":%.0f,"actualQueryCost":%s,"throttleStatus":`+
		`{"maximumAvailable":%.1f,"currentlyAvailable":%.0f,"restoreRate":%.1f}}}}`, asked, charged, q.burst, math.Floor(q.tokens), q.rate(now))
	if r.refused {
		r.body = `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}],` + r.body
	} else {
		r.body = `{"data":{"orders":{"nodes":[]}},` + r.body
	}
	return r
}

// A secondary limit stands behind one that is announced.
type secondary struct {
	hour   counting
	minute slidingWindow
}

func (s *secondary) capacity(now float64) float64 { return s.hour.capacity(now) }

func (s *secondary) answer(now, cost float64, inFlight int) reply {
	if wait := s.minute.take(now, cost); wait > 0 {
		r := reply{status: 403, latency: s.hour.idle / 2,
			body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`}
		header(&r, "Retry-After", "60")
		return r
	}
	return s.hour.answer(now, cost, inFlight)
}

// A lagging provider refuses everything for length seconds of every.
type lagging struct {
	counting
	every, length float64
}

func (l *lagging) behind(now float64) bool { return math.Mod(now, l.every) > l.every-l.length }

func (l *lagging) capacity(now float64) float64 {
	if l.behind(now) {
		return 0
	}
	return l.best(now)
}

func (l *lagging) answer(now, cost float64, inFlight int) reply {
	if !l.behind(now) {
		return l.counting.answer(now, cost, inFlight)
	}
	r := reply{status: 200, refused: true, latency: l.idle / 2,
		body: `{"error":{"code":"maxlag","info":"Waiting for a database server: 7 seconds lagged","lag":7}}`}
	header(&r, "Retry-After", "5")
	return r
}

// A blocking provider refuses everything for a while after a refusal, and says
// until when.
type blocking struct {
	counting
	block, until float64
}

func (b *blocking) answer(now, cost float64, inFlight int) reply {
	if now >= b.until {
		r := b.counting.answer(now, cost, inFlight)
		if r.status == 200 {
			return r
		}
		b.until = now + b.block
	}
	r := reply{status: 429, latency: b.idle / 2}
	header(&r, "Retry-After", whole(math.Ceil(b.until-now)))
	return r
}

// A connections counts those that are open at once, of which others use some.
type connections struct {
	crowded
	others []int   // in turn,
	each   float64 // for so many seconds
}

func (c *connections) left(now float64) int {
	return c.most - c.others[int(now/c.each)%len(c.others)]
}

func (c *connections) capacity(now float64) float64 { return min(Ceiling, float64(c.left(now))/c.idle) }

func (c *connections) answer(now, _ float64, inFlight int) reply {
	if inFlight > c.left(now) {
		return reply{status: http.StatusTooManyRequests, latency: 0.05, body: `{"title":"Too Many Requests","status":429,"detail":"You have exceeded the limit of 10 simultaneous connections."}`}
	}
	return reply{status: 200, latency: jitter(c.rng, c.idle)}
}
