package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"collect/console"
	"collect/store"
)

// form opens the form of an order, and returns what it would send.
func (s site) form(t *testing.T, b *http.Client, path string) url.Values {
	t.Helper()
	page := says(t, s.get(t, b, path), http.StatusOK, `method="post"`)
	values := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(page[strings.Index(page, `class="order"`):], -1) {
		values.Add(field[1], strings.ReplaceAll(field[2], "&amp;", "&"))
	}
	return values
}

// orders returns what people ordered, newest first, as kind: message.
func orders(t *testing.T, path string) (all []string) {
	t.Helper()
	err := console.NewLibrary(path).Look(t.Context(), func(db store.Reader) error {
		events, err := db.Orders(t.Context(), "", 100)
		for _, e := range events {
			all = append(all, string(e.Kind)+": "+e.Message)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOrders: each order shows first what it does, needs a reason, is carried out once
// for each form, and is for the record.
func TestOrders(t *testing.T) {
	for _, test := range []struct {
		path  string
		typed string
		means string
		done  string
		left  string // on record
	}{
		{"/orders/pause?connector=acme", "", "No run of it begins", "Paused: no run of acme begins; one that is on stops within 5 s, once what is in flight is stored. To end the pause: collect unpause acme --reason WHY", "connector.paused: ana (console): because"},
		{"/orders/breaker-open?connector=acme", "", "stops all calls to acme", "Held open: no request to acme leaves", "breaker.changed: ana (console): because"},
		{"/orders/freeze-on?connector=acme", "", "stops all calls to acme", "Frozen: no request to acme leaves", "freeze.changed: ana (console): because"},
		{"/orders/gaps-waive?connector=acme&gap=g_2", "", "gives up 1 gap of acme", "Waived: g_2 of acme", "gap.waived: ana (console): because"},
	} {
		path := acme(t)
		s := start(t, path, nil)
		b := s.signIn(t, console.Operator)
		form := s.form(t, b, test.path)
		says(t, s.get(t, b, test.path), http.StatusOK, test.means, "collect ")
		says(t, s.post(t, b, strings.Split(test.path, "?")[0], form), http.StatusUnprocessableEntity, "Say why")
		if got := orders(t, path); len(got) != 0 {
			t.Errorf("%s: without a reason it was carried out: %v", test.path, got)
		}
		form.Set("reason", "because")
		form.Set("typed", test.typed)
		answer := s.post(t, b, strings.Split(test.path, "?")[0], form)
		if answer.StatusCode != http.StatusSeeOther {
			says(t, answer, http.StatusSeeOther)
			continue
		}
		says(t, s.get(t, b, answer.Header.Get("Location")), http.StatusOK, test.done)
		again := s.post(t, b, strings.Split(test.path, "?")[0], form)
		if again.StatusCode != http.StatusSeeOther || again.Header.Get("Location") != answer.Header.Get("Location") {
			t.Errorf("%s: sent again: %s to %s", test.path, again.Status, again.Header.Get("Location"))
		}
		if got := orders(t, path); len(got) != 1 || got[0] != test.left {
			t.Errorf("%s: on record is %q, want %q", test.path, got, test.left)
		}
		says(t, s.get(t, b, "/audit"), http.StatusOK, "ana (console)", "because")
	}
}

// TestFreezeIsReleasedByName: who releases a freeze types the name of the provider.
func TestFreezeIsReleasedByName(t *testing.T) {
	path := acme(t)
	s := start(t, path, nil)
	b := s.signIn(t, console.Operator)
	give := func(order, typed string) *http.Response {
		form := s.form(t, b, "/orders/"+order+"?connector=acme")
		form.Set("reason", "settled")
		form.Set("typed", typed)
		return s.post(t, b, "/orders/"+order, form)
	}
	give("freeze-on", "")
	says(t, s.get(t, b, "/"), http.StatusOK, "acme is frozen", "orders/freeze-release")
	says(t, give("freeze-release", "acne"), http.StatusUnprocessableEntity, "Type acme to agree", `value="settled"`)
	if answer := give("freeze-release", "acme"); answer.StatusCode != http.StatusSeeOther {
		says(t, answer, http.StatusSeeOther)
	}
	if got := orders(t, path); len(got) != 2 {
		t.Errorf("on record: %v", got)
	}
}

// TestTwoOperators: the second of two who saw the same is told that things have changed.
// Nothing is done, and what was typed is kept.
func TestTwoOperators(t *testing.T) {
	path := acme(t)
	s := start(t, path, nil)
	ana, ben := s.signIn(t, console.Operator), s.signIn(t, console.Operator)
	first, second := s.form(t, ana, "/orders/breaker-open?connector=acme"), s.form(t, ben, "/orders/breaker-close?connector=acme")
	first.Set("reason", "they asked us to")
	second.Set("reason", "it is only one stream")
	if answer := s.post(t, ana, "/orders/breaker-open", first); answer.StatusCode != http.StatusSeeOther {
		says(t, answer, http.StatusSeeOther)
	}
	says(t, s.post(t, ben, "/orders/breaker-close", second), http.StatusConflict, "Things have changed since this form was made", "Nothing was changed", `value="it is only one stream"`)
	if got := orders(t, path); len(got) != 1 {
		t.Errorf("on record: %v", got)
	}
	// The form that came back is of how things are now.
	third := s.form(t, ben, "/orders/breaker-close?connector=acme")
	third.Set("reason", "it is only one stream")
	if answer := s.post(t, ben, "/orders/breaker-close", third); answer.StatusCode != http.StatusSeeOther {
		says(t, answer, http.StatusSeeOther)
	}
}

// TestViewerOrders: a viewer has no buttons, and an order of theirs is refused; nobody
// gives one to a console that is read-only.
func TestViewerOrders(t *testing.T) {
	path := acme(t)
	s := start(t, path, nil)
	b := s.signIn(t, console.Viewer)
	for _, page := range pages {
		if text := says(t, s.get(t, b, page), http.StatusOK); strings.Contains(text, "/orders/") {
			t.Errorf("%s shows a viewer an order", page)
		}
	}
	form := s.form(t, s.signIn(t, console.Operator), "/orders/pause?connector=acme")
	form.Set("reason", "because")
	says(t, s.get(t, b, "/orders/pause?connector=acme"), http.StatusForbidden, "You may look")
	says(t, s.post(t, b, "/orders/pause", form), http.StatusForbidden, "You may look", "Nothing was changed")
	says(t, s.post(t, b, "/links", url.Values{"name": {"me"}, "role": {"operator"}}), http.StatusForbidden)
	says(t, s.post(t, browser(t), "/orders/pause", form), http.StatusUnauthorized)

	closed := start(t, path, func(c *console.Config) { c.ReadOnly = true })
	b = closed.signIn(t, console.Operator)
	says(t, closed.get(t, b, "/"), http.StatusOK, "Read-only")
	says(t, closed.post(t, b, "/orders/pause", form), http.StatusForbidden, "takes no orders")
	if got := orders(t, path); len(got) != 0 {
		t.Errorf("on record: %v", got)
	}
}

// TestOddOrders: what cannot be meant changes nothing, and is answered with a page.
func TestOddOrders(t *testing.T) {
	path := acme(t)
	s := start(t, path, nil)
	b := s.signIn(t, console.Operator)
	for at, status := range map[string]int{
		"/orders/nothing?connector=acme": http.StatusNotFound, "/orders/pause": http.StatusNotFound, "/orders/pause?connector=acne": http.StatusNotFound,
		"/orders/gaps-retry?connector=acme&gap=x": http.StatusNotFound, "/orders/gaps-retry?connector=acme&gap=g_9": http.StatusOK, "/orders/unpause?connector=acme": http.StatusOK,
	} {
		says(t, s.get(t, b, at), status)
	}
	says(t, s.get(t, b, "/orders/unpause?connector=acme"), http.StatusOK, "is not paused; nothing was changed")
	form := s.form(t, b, "/orders/pause?connector=acme")
	form.Set("reason", "because")
	form.Set("back", "//evil.example/")
	if to := s.post(t, b, "/orders/pause", form).Header.Get("Location"); !strings.HasPrefix(to, "/?done=") {
		t.Errorf("after the order, it leads to %s", to)
	}
	if to := s.post(t, b, "/theme", url.Values{"theme": {"dark"}, "back": {"https://evil.example/"}}).Header.Get("Location"); to != "/" {
		t.Errorf("after the theme, it leads to %s", to)
	}
}

// TestLinkForAnother: an operator makes a link, which signs another in by their name.
func TestLinkForAnother(t *testing.T) {
	path := acme(t)
	s := start(t, path, nil)
	page := says(t, s.post(t, s.signIn(t, console.Operator), "/links", url.Values{"name": {"ben"}, "role": {"operator"}}), http.StatusOK, "A link for ben")
	link := regexp.MustCompile(`/login\?link=[\w-]+`).FindString(page)
	b := browser(t)
	s.post(t, b, link, nil)
	form := s.form(t, b, "/orders/pause?connector=acme")
	form.Set("reason", "because")
	s.post(t, b, "/orders/pause", form)
	if got := orders(t, path); len(got) != 1 || got[0] != "connector.paused: ben (console): because" {
		t.Errorf("on record: %v", got)
	}
}
