package compile

import (
	"fmt"
	"net/http"
	"slices"

	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/request"
	"collect/internal/yamlfile"
)

// checkSession compiles the login of a session. Its body may hold secrets, and a
// field that is named like one must be one.
func (c *checker) checkSession(s *language.SessionSpec, secrets []string) {
	c.template(s.Post, c.params)
	if s.Post.Text == "" {
		c.Fail(s.At, "a session needs a `post`: the path of the login", "")
	}
	body := known{names: append(slices.Clone(c.params.names), secrets...), where: "here"}
	login := request.Request{Method: http.MethodPost, Path: s.Post, Headers: accepting(c.headers(c.params, c.doc.Provider.Headers), answer.Format{})}
	if s.JSON != nil {
		node := c.node(s.JSON.JSON, body)
		login.Body.JSON = &node
	}
	for _, f := range s.Form {
		login.Body.Form = append(login.Body.Form, request.Field{Name: f.Key.Text, Value: f.Value})
	}
	if (s.JSON == nil) == (len(s.Form) == 0) {
		c.Fail(s.At, "a login has one body, with the user and the password: `json` or `form`", "")
	}
	for _, f := range s.Fields() {
		if secretName().MatchString(f.Key.Text) && f.Value.Text != "" && !f.Value.Refers("secrets.") {
			c.writtenPassword(f.Value.At)
		}
	}
	var from []yamlfile.Scalar
	for _, where := range []yamlfile.Scalar{s.Token.Scalar, s.Header, s.Cookie} {
		if where.Text != "" {
			from = append(from, where)
		}
	}
	if len(from) != 1 {
		c.Fail(s.At, "a session needs one of `token`, `header` and `cookie`: where the answer to the login has the token", "")
	}
	c.checkSend(s)
	for what, name := range map[string]yamlfile.Scalar{"header": s.Header, "cookie": s.Cookie} {
		if name.Set && !isToken(name.Text) {
			c.Fail(name.At, fmt.Sprintf("not the name of a %s", what), "")
		}
	}
	c.spec.Login = login
}

func (c *checker) checkSend(s *language.SessionSpec) {
	send := s.Send
	c.OneOf(send.Word, language.Sends[:]...)
	switch {
	case send.Word.Text == language.SendCookie && s.Cookie.Text == "":
		c.Fail(send.At, "which cookie? Write `send: {cookie: NAME}`", "")
	case send.At.Line > 0 && !send.Word.Set && (send.Header.Text == "") == (send.Cookie.Text == ""):
		c.Fail(send.At, "a token is sent as one of `header` and `cookie`", "")
	}
	for what, name := range map[string]yamlfile.Scalar{"header": send.Header, "cookie": send.Cookie} {
		if name.Set && !isToken(name.Text) {
			c.Fail(name.At, fmt.Sprintf("not the name of a %s", what), "")
		}
	}
}

func (c *checker) writtenPassword(at yamlfile.Span) {
	c.Faults = append(c.Faults, yamlfile.Fault{At: at, Message: "a password is never written into a connector file", Note: secretForm, Hide: true})
}
