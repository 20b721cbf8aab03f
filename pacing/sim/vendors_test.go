package sim_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"collect/pacing/sim"
)

// TestVendors: what is asked for at one moment is granted up to the limit of the
// vendor, refused in its words beyond it, and granted again when it says so.
func TestVendors(t *testing.T) {
	for _, tc := range []struct {
		family      string
		least, most int    // granted at once
		status      int    // of the refusal
		header      string // of the refusal, as name: pattern
		body        string // a part of it
		refused     float64
		granted     float64 // seconds after the refusal
	}{
		{"notion", 3, 60, 429, "Retry-After: ^1$", `"code":"rate_limited"`, 0.1, 0.4},
		{"hubspot", 100, 190, 429, "X-HubSpot-RateLimit-Remaining: ^0$", `"policyName":"TEN_SECONDLY_ROLLING"`, 9.9, 10},
		{"slack", 4, 20, 429, "Retry-After: ^3$", "", 2.9, 3.01},
		{"airtable", 5, 5, 429, "", "", 29.9, 30},
		{"discord", 5, 10, 429, `X-RateLimit-Reset-After: ^\d+\.\d{3}$`, `"global":false`, 0, 10},
		{"jira", 1, 41, 429, `X-RateLimit-Reset: ^\d{4}-\d\d-\d\dT\d\d:\d\dZ$`, "", 0, 0.34},
		{"zendesk", 100, 100, 429, "Zendesk-RateLimit-Tickets-Index: ^total=100; remaining=0; resets=[1-9]", "", 0, 60},
		{"xero", 60, 60, 429, "X-Rate-Limit-Problem: ^minute$", "", 59.9, 60},
		{"shopify", 40, 400, 429, "Retry-After: ^2.0$", "", 0.01, 0.6},
		{"shopify-graphql", 3, 250, 200, "", `"code":"THROTTLED"`, 0, 60},
		{"github", 900, 900, 403, "Retry-After: ^60$", "secondary rate limit", 59.9, 60},
		{"limit-req", 2, 31, 503, "", "", 0.01, 1.01},
		{"cloudflare", 1200, 1200, 429, "Retry-After: ^300$", "", 299.9, 300.1},
		{"edgar", 10, 10, 403, "", "", 599.9, 600},
		{"quota-code", 1, 41, 403, "", `"errorCode":"REQUEST_LIMIT_EXCEEDED"`, 0, 0.6},
		{"day-32s", 1000, 10000, 429, "", `"retryDelay":"32s"`, 3600, 86400},
		{"hour-quota", 1000, 15000, 403, "X-RateLimit-Remaining: ^0$", "API rate limit exceeded", 0, 3600},
		{"cdn-block", 150, 2400, 429, "", "", 299.9, 300},
		{"long-block", 1, 41, 429, "", "", 599.9, 1801},
	} {
		for seed := range uint64(5) {
			p := family(t, tc.family).New(seed)
			path := p.Paths()[0]
			granted, a := 0, sim.Answer{}
			const at = 0.01
			for a = p.Ask(path, at, 1); !a.Refused; a = p.Ask(path, at, 1) {
				granted++
			}
			if granted < tc.least || granted > tc.most {
				t.Errorf("%s, seed %d: %d are granted at once, want %d to %d", tc.family, seed, granted, tc.least, tc.most)
			}
			if a.Status != tc.status || !strings.Contains(a.Body, tc.body) {
				t.Errorf("%s, seed %d: refused with %d and %s, want %d and %s", tc.family, seed, a.Status, a.Body, tc.status, tc.body)
			}
			if name, pattern, ok := strings.Cut(tc.header, ": "); ok && !regexp.MustCompile(pattern).MatchString(a.Header.Get(name)) {
				t.Errorf("%s, seed %d: refused with %s: %q, want %s", tc.family, seed, name, a.Header.Get(name), pattern)
			}
			if tc.refused > 0 && !p.Ask(path, at+tc.refused, 1).Refused {
				t.Errorf("%s, seed %d: granted again after %v s", tc.family, seed, tc.refused)
			}
			if a := p.Ask(path, at+tc.granted, 1); a.Refused {
				t.Errorf("%s, seed %d: refused after %v s with %d", tc.family, seed, tc.granted, a.Status)
			}
		}
	}
}

// TestVendorsOfCrowds: requests in flight are counted beside all else.
func TestVendorsOfCrowds(t *testing.T) {
	for _, tc := range []struct {
		family      string
		least, most int
		status      int
		reason      string
	}{
		{"xero", 5, 5, 429, ""},
		{"stripe", 2, 10, 429, "global-concurrency"},
		{"limit-conn", 2, 10, 503, ""},
	} {
		for seed := range uint64(5) {
			p, n := family(t, tc.family).New(seed), 0
			a := p.Ask("/records", 0, 1)
			for ; a.Status == 200; a = p.Ask("/records", float64(100*n), n+1) {
				n++
			}
			if n < tc.least || n > tc.most || a.Status != tc.status || a.Header.Get("Stripe-Rate-Limited-Reason") != tc.reason {
				t.Errorf("%s, seed %d: %d in flight are granted and more refused with %d %v, want %d to %d, and %d", tc.family, seed, n, a.Status, a.Header, tc.least, tc.most, tc.status)
			}
		}
	}
}

// TestAnnouncedByVendors: every answer tells what is left, and it goes down.
func TestAnnouncedByVendors(t *testing.T) {
	for vendor, name := range map[string]string{
		"hubspot": "X-HubSpot-RateLimit-Remaining", "discord": "X-RateLimit-Remaining", "zendesk": "X-Rate-Limit-Remaining",
		"xero": "X-MinLimit-Remaining", "github": "X-RateLimit-Remaining", "hour-quota": "X-RateLimit-Remaining",
	} {
		p := family(t, vendor).New(1)
		left := func() int {
			n, err := strconv.Atoi(p.Ask(p.Paths()[0], 0.01, 1).Header.Get(name))
			if err != nil {
				t.Errorf("%s: %s: %v", vendor, name, err)
			}
			return n
		}
		if first, second := left(), left(); second != first-1 {
			t.Errorf("%s: %d are left, and then %d", vendor, first, second)
		}
	}
	p := family(t, "shopify").New(1)
	if got := p.Ask("/records", 0, 1).Header.Get("X-Shopify-Shop-Api-Call-Limit"); !regexp.MustCompile(`^1/\d+0$`).MatchString(got) {
		t.Errorf("shopify tells %q after the first request", got)
	}
}

// TestQueryCost: a query costs what the body tells, which is at most what it
// asked for; one that might cost more than there is costs nothing.
func TestQueryCost(t *testing.T) {
	tells := regexp.MustCompile(`"requestedQueryCost":(\d+),"actualQueryCost":(\d+|null),.*"currentlyAvailable":(\d+)`)
	p := family(t, "shopify-graphql").New(3)
	var before float64
	for i := range 1000 {
		a := p.Ask("/records", 0, 1)
		told := tells.FindStringSubmatch(a.Body)
		if told == nil {
			t.Fatalf("the body tells no cost: %s", a.Body)
		}
		asked, _ := strconv.ParseFloat(told[1], 64)
		left, _ := strconv.ParseFloat(told[3], 64)
		if a.Refused {
			if told[2] != "null" || left != before || left >= asked {
				t.Errorf("refused with %s of %v, and %v are left", told[0], before, left)
			}
			return
		}
		actual, _ := strconv.ParseFloat(told[2], 64)
		if actual > asked || i > 0 && math.Abs(before-left-actual) > 1 {
			t.Errorf("%s with %v before", told[0], before)
		}
		before = left
	}
	t.Error("nothing is refused")
}

// TestMaxlag: now and then everything is refused inside a 200, and then nothing.
func TestMaxlag(t *testing.T) {
	p := family(t, "wikimedia").New(1)
	refused := 0
	for at := range 3600 {
		a := p.Ask("/records", float64(at), 1)
		if a.Refused != (p.Capacity("/records", float64(at)) == 0) || a.Status != 200 {
			t.Fatalf("after %d s: %d, refused %t", at, a.Status, a.Refused)
		}
		if a.Refused {
			refused++
			if a.Header.Get("Retry-After") != "5" || !strings.Contains(a.Body, `"code":"maxlag"`) {
				t.Fatalf("refused with %v %s", a.Header, a.Body)
			}
		}
	}
	if refused < 100 || refused > 1500 {
		t.Errorf("it is behind for %d s of an hour", refused)
	}
}
