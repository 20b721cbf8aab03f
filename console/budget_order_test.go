package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/console"
	"collect/engine/registry"
)

// budgeted starts a console over acme, whose file declares 20,000 requests a day.
func budgeted(t *testing.T, path string, change func(*console.Config)) site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "acme.yaml")
	spec := "connector: acme\nprovider: {base_url: 'https://acme.test', ceiling: {per_day: 20000}}\nstreams:\n  issues: {get: /issues, records: items, key: id, page: {none: true}}\n"
	if err := os.WriteFile(file, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, path, func(c *console.Config) {
		c.Meeting.Registry.Entries = map[string]registry.Entry{"acme": {Use: file, Origin: "collect.yaml:2"}}
		if change != nil {
			change(c)
		}
	})
}

const lowering = "/orders/budget-set?connector=acme&per=day"

// TestBudgetOrders: a budget is chosen inside of the clamp, reviewed with what was and what
// will be, lowered, shown with who did it, and given back.
func TestBudgetOrders(t *testing.T) {
	path := acme(t)
	s := budgeted(t, path, nil)
	b := s.signIn(t, console.Operator)
	says(t, s.get(t, b, "/providers/acme%2F1"), http.StatusOK, "0 of 20,000 a day", "Lower 20,000 a day")
	if page := says(t, s.get(t, b, lowering), http.StatusOK, "allowed: 10,000 a day to 20,000 a day; now: 20,000 a day", "Review"); strings.Contains(page, `method="post" class="order"`) || strings.Contains(page, `name="reason"`) {
		t.Error("an order can be given before a budget is chosen")
	}
	for to, why := range map[string]string{"9999": "10,000 a day to 20,000 a day; to allow more, change", "20001": "to allow more, change", "10000.5": "to allow more, change", "many": "is not a budget"} {
		page := says(t, s.get(t, b, lowering+"&to="+to), http.StatusOK, why, `value="`+to+`"`)
		if strings.Contains(page, `name="reason"`) {
			t.Errorf("%s: it can be given", to)
		}
	}
	form := s.form(t, b, lowering+"&to=12000&for=1h0m0s")
	says(t, s.get(t, b, lowering+"&to=12000&for=1h0m0s"), http.StatusOK, "may use 12,000 a day, and no longer 20,000 a day", "collect budget set acme 12000/day --for 1h --reason WHY")
	second := s.form(t, b, lowering+"&to=15000")
	form.Set("reason", "the rest is for people")
	answer := s.post(t, b, "/orders/budget-set", form)
	if answer.StatusCode != http.StatusSeeOther {
		says(t, answer, http.StatusSeeOther)
	}
	says(t, s.get(t, b, "/providers/acme%2F1"), http.StatusOK, "0 of 12,000 a day", "Lowered by an operator since", "until", "the rest is for people")
	second.Set("reason", "less strict")
	says(t, s.post(t, b, "/orders/budget-set", second), http.StatusConflict, "Things have changed", `value="less strict"`, `value="15000"`)
	if got := orders(t, path); len(got) != 1 || got[0] != "budget.ordered: ana (console): the rest is for people" {
		t.Errorf("on record: %q", got)
	}
	says(t, s.get(t, b, "/audit"), http.StatusOK, "all that is declared -&gt; 12,000 a day")
	back := s.form(t, b, "/orders/budget-release?connector=acme&per=day")
	if answer := s.post(t, b, "/orders/budget-release", back); answer.StatusCode != http.StatusSeeOther {
		says(t, answer, http.StatusSeeOther)
	}
	says(t, s.get(t, b, "/providers/acme%2F1"), http.StatusOK, "0 of 20,000 a day")
	if got := orders(t, path); len(got) != 2 || got[0] != "budget.ordered: ana (console)" {
		t.Errorf("given back without a reason, on record is %q", got)
	}
	says(t, s.get(t, b, "/audit"), http.StatusOK, "<td data-l=\"Who\">ana (console)</td>")
	says(t, s.get(t, b, "/orders/budget-release?connector=acme&per=day"), http.StatusOK, "No operator lowered this budget")
	says(t, s.get(t, b, "/orders/budget-set?connector=acme&per=h"), http.StatusOK, "There is no such budget")
	says(t, s.get(t, b, "/orders/budget-set?connector=acme&per=x"), http.StatusNotFound)
}

// TestBudgetOrdersRefused: neither a viewer nor a console that is read-only lowers one.
func TestBudgetOrdersRefused(t *testing.T) {
	path := acme(t)
	s := budgeted(t, path, nil)
	form := s.form(t, s.signIn(t, console.Operator), lowering+"&to=12000")
	form.Set("reason", "because")
	viewer := s.signIn(t, console.Viewer)
	says(t, s.post(t, viewer, "/orders/budget-set", form), http.StatusForbidden, "You may look")
	if page := says(t, s.get(t, viewer, "/providers/acme%2F1"), http.StatusOK, "of 20,000 a day"); strings.Contains(page, "/orders/") {
		t.Error("a viewer is shown an order")
	}
	closed := budgeted(t, path, func(c *console.Config) { c.ReadOnly = true })
	says(t, closed.post(t, closed.signIn(t, console.Operator), "/orders/budget-set", url.Values(form)), http.StatusForbidden, "takes no orders")
	if got := orders(t, path); len(got) != 0 {
		t.Errorf("on record: %q", got)
	}
}
