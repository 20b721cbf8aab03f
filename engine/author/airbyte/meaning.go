package airbyte

import (
	"fmt"
	"strings"

	"collect/internal/yamlfile"
)

// authenticator translates how requests are authenticated, which in a connector file
// is the same for all streams.
func (w *walk) authenticator(a *node) {
	auth, ok := w.credential(a)
	if !ok {
		if a != nil {
			w.leave(a, "its authenticator %s has no translation", a.word("type"))
		}
		return
	}
	if len(w.keys) > 0 {
		had, _ := auth.(yamlfile.Map)
		one := field(had, "api_key")
		if auth != nil && one == nil {
			w.leave(w.from, "it sends two kinds of credentials")
			return
		}
		keys := w.keys
		if one != nil {
			keys = append([]any{one}, keys...)
		}
		var all any = keys
		if len(keys) == 1 {
			all = keys[0]
		}
		auth = yamlfile.Map{{Key: "api_key", Value: all}}
	}
	key := yamlfile.Flow(auth)
	if w.authKey == "" {
		w.auth, w.authKey = auth, key
	}
	if key != w.authKey {
		w.leave(w.from, "it has another authenticator than the streams before it: write a connector file of its own")
	}
}

func (w *walk) credential(a *node) (any, bool) {
	at := place{secret: true}
	text := func(name string) string {
		out, ok := w.text(a.get(name), at)
		if !ok {
			return ""
		}
		return out
	}
	switch {
	case a == nil || a.is("NoAuth"):
		a.use()
		return nil, true
	case a.is("BearerAuthenticator"):
		token := text("api_token")
		return yamlfile.Map{{Key: "bearer", Value: token}}, secret(token)
	case a.is("BasicHttpAuthenticator"):
		m := yamlfile.Map{{Key: "user", Value: text("username")}}
		password := text("password")
		if password != "" {
			m.Set("password", password)
		}
		return yamlfile.Map{{Key: "basic", Value: m}}, secret(password) || secret(text("username"))
	case a.is("ApiKeyAuthenticator"):
		return w.apiKey(a, at)
	case a.is("OAuthAuthenticator"):
		return w.oauth(a, text)
	case a.is("SessionTokenAuthenticator"):
		return w.session(a)
	}
	return nil, false
}

// session translates a login whose answer has a token.
func (w *walk) session(a *node) (any, bool) {
	login := a.get("login_requester")
	base, ok := w.text(login.get("url_base"), place{})
	rest, ok2 := w.text(login.get("path"), place{})
	if !ok || !ok2 || login.word("http_method") != "POST" {
		return nil, false
	}
	login.get("authenticator").use()
	login.get("error_handler").use()
	address := "/" + strings.TrimPrefix(rest, "/")
	if base = strings.TrimSuffix(base, "/"); base != w.base {
		address = base + address
	}
	var m yamlfile.Map
	m.Set("post", address)
	was := w.place
	w.place = place{secret: true}
	defer func() { w.place = was }()
	if body := login.get("request_body_json"); body != nil {
		value, ok := w.value(body)
		if !ok {
			return nil, false
		}
		m.Set("json", value)
	} else {
		var form yamlfile.Map
		w.fields(login.get("request_body_data"), &form)
		m.Set("form", form)
	}
	var steps []string
	for _, step := range a.get("session_token_path").list() {
		steps = append(steps, step.text)
	}
	m.Set("token", path(steps))
	switch how := a.get("request_authentication"); {
	case how.is("Bearer"):
	case how.is("ApiKey") && how.word("inject_into", "inject_into") == "header":
		m.Set("send", yamlfile.Map{{Key: "header", Value: how.word("inject_into", "field_name")}})
	default:
		return nil, false
	}
	if lifetime, ok := duration(a.word("expiration_duration")); ok {
		m.Set("lifetime", lifetime)
	}
	return yamlfile.Map{{Key: "session", Value: m}}, secret(yamlfile.Flow(m))
}

// secret tells whether text is made of a secret: a credential is never written into
// a file.
func secret(text string) bool { return strings.Contains(text, "${secrets.") }

func (w *walk) apiKey(a *node, at place) (any, bool) {
	value, ok := w.text(a.get("api_token"), at)
	if !ok || !secret(value) {
		return nil, false
	}
	where, name := "header", a.word("header")
	if option := a.get("inject_into"); option != nil {
		name = option.word("field_name")
		switch option.word("inject_into") {
		case "header":
		case "request_parameter":
			where = "query"
		default:
			return nil, false
		}
	}
	prefix, rest, _ := strings.Cut(value, "${")
	value = "${" + rest
	if strings.EqualFold(name, "Authorization") && strings.EqualFold(strings.TrimSpace(prefix), "bearer") {
		return yamlfile.Map{{Key: "bearer", Value: value}}, true
	}
	m := yamlfile.Map{{Key: where, Value: name}, {Key: "value", Value: value}}
	if prefix != "" {
		m.Set("prefix", prefix)
	}
	return yamlfile.Map{{Key: "api_key", Value: m}}, name != "" && strings.HasSuffix(value, "}")
}

func (w *walk) oauth(a *node, text func(string) string) (any, bool) {
	for _, name := range []string{"access_token_name", "expires_in_name", "token_expiry_date", "token_expiry_date_format", "access_token_value", "token_expiry_is_time_of_expiration", "profile_assertion", "grant_type", "grant_type_name", "client_id_name", "client_secret_name", "refresh_token_name"} {
		a.get(name).use()
	}
	if updater := a.get("refresh_token_updater"); updater != nil {
		updater.use()
		w.note(updater, "refresh_token_updater: the provider replaces the refresh token, so that it is kept in a file")
		if expr, ok := expression(a.get("refresh_token").orEmpty()); ok {
			if r, ok := refer(expr); ok && r.root == "config" && len(r.steps) > 0 {
				w.configured(r, true).rotates = true
			}
		}
	}
	m := yamlfile.Map{{Key: "token_url", Value: text("token_refresh_endpoint")}, {Key: "client_id", Value: text("client_id")}, {Key: "client_secret", Value: text("client_secret")}}
	if a.word("grant_type") != "client_credentials" && a.get("refresh_token") != nil {
		m.Set("refresh_token", text("refresh_token"))
	}
	m.Set("client_auth", "body") // as Airbyte sends them
	var scopes []string
	for _, s := range a.get("scopes").list() {
		scopes = append(scopes, s.text)
	}
	if len(scopes) > 0 {
		m.Set("scope", strings.Join(scopes, " "))
	}
	if body := a.get("refresh_request_body"); body != nil {
		var further yamlfile.Map
		for _, f := range body.members {
			f.read = true
			further.Set(f.name, f.text)
		}
		m.Set("fields", further)
	}
	return yamlfile.Map{{Key: "oauth2", Value: m}}, field(m, "token_url") != "" && secret(fmt.Sprint(field(m, "client_secret"), field(m, "refresh_token")))
}

// errorHandler translates what responses mean. How long to wait, and how often to
// ask again, is collect's own to find out.
func (w *walk) errorHandler(h *node) {
	if h == nil {
		return
	}
	if h.is("CompositeErrorHandler") {
		for _, inner := range h.get("error_handlers").list() {
			w.errorHandler(inner)
		}
		return
	}
	if !h.is("", "DefaultErrorHandler") {
		w.note(h, "%s has no translation: rules for what a response means can be written as `on`", h.word("type"))
		h.use()
		return
	}
	h.get("backoff_strategies").use()
	h.get("max_retries").use()
	h.get("max_time").use()
	for _, filter := range h.get("response_filters").list() {
		w.filter(filter)
	}
}

// verdicts are what actions mean. Who ignores an answer has no records for it: in a
// connector file that is a gap, which is shown, or gone, where the parent stays.
var verdicts = map[string]string{"SUCCESS": "ok", "RETRY": "retry", "FAIL": "fail", "IGNORE": "gap"}

func (w *walk) filter(f *node) {
	f.get("error_message").use()
	f.get("failure_type").use()
	var rule yamlfile.Map
	var codes []any
	action := f.word("action")
	for _, code := range f.get("http_codes").list() {
		if action == "IGNORE" && code.text == "401" {
			w.note(code, "IGNORE: a 401 is about the credential, and ends the run")
			continue
		}
		codes = append(codes, yamlfile.Raw(code.text))
	}
	if len(codes) > 0 {
		rule.Set("status", codes)
	}
	if part := f.get("error_message_contains"); part != nil {
		rule.Set("body", fmt.Sprintf("text contains %q", part.text))
	}
	if predicate := f.get("predicate"); predicate != nil {
		body, ok := translatePredicate(predicate.text)
		if !ok {
			w.note(predicate, "predicate: `%s` has no translation; write the rule as `on`", short(predicate))
			f.use()
			return
		}
		rule.Set("body", body)
	}
	if len(rule) == 0 {
		f.use()
		return
	}
	if action == "RATE_LIMITED" {
		if text := yamlfile.Flow(rule); !strings.Contains(yamlfile.Flow(w.rules), text) {
			w.rules = append(w.rules, rule)
		}
		return
	}
	verdict, ok := verdicts[action]
	if !ok {
		w.note(f, "the action %s has no translation", action)
		f.use()
		return
	}
	if verdict == "gap" {
		if len(w.each) > 0 {
			verdict = "gone"
		} else {
			w.note(f, "IGNORE: what stream %s cannot have is shown as a gap, and not left out without a word", w.name)
		}
	}
	rule.Set("verdict", verdict)
	w.on = append(w.on, rule)
}

// translatePredicate translates a comparison of one value of the body with a
// constant, and a text that is in one.
func translatePredicate(text string) (string, bool) {
	expr, ok := expression(text)
	if !ok {
		return "", false
	}
	for _, op := range []string{"==", "!=", " in "} {
		left, right, found := strings.Cut(expr, op)
		if !found {
			continue
		}
		left, right = strings.TrimSpace(left), strings.TrimSpace(right)
		if op == " in " {
			r, ok := refer(right)
			m := constant().FindStringSubmatch(left)
			if !ok || m == nil || r.root != "response" {
				return "", false
			}
			at := "body"
			if len(r.steps) > 0 {
				at += "?." + strings.Join(r.steps, "?.")
			}
			return fmt.Sprintf("%q in (%s ?? {})", m[1]+m[2]+m[3], at), len(r.steps) == 0
		}
		r, ok := refer(left)
		m := constant().FindStringSubmatch(right)
		if !ok || m == nil || r.root != "response" || len(r.steps) == 0 {
			return "", false
		}
		value := fmt.Sprintf("%q", m[1]+m[2])
		if m[3] != "" {
			value = m[3]
		}
		return fmt.Sprintf("body?.%s %s %s", strings.Join(r.steps, "?."), op, value), true
	}
	r, ok := refer(expr)
	if ok && r.root == "response" && len(r.steps) > 0 {
		return fmt.Sprintf("body?.%s != nil", strings.Join(r.steps, "?.")), true
	}
	return "", false
}
