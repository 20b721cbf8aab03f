package config

import (
	"net/mail"
	"path/filepath"
	"strings"

	"collect/engine/notify"
	"collect/internal/yamlfile"
)

// The blocks under `notify:`. Each is optional:
//
//	notify:
//	  healthchecks: {url_file: ~/.config/collect/hc-url}
//	  command: /usr/local/bin/page-me          # a line for the shell
//	  webhook: {url_file: ~/.config/collect/hook-url, secret_file: ~/.config/collect/hook-secret}
//	  mail: {to: [ops@example.org], from: collect@example.org, sendmail: /usr/sbin/sendmail}
type (
	notifyBlock struct {
		_            struct{}        `block:"notify" like:"healthchecks: {url_file: ~/.config/collect/hc-url}"`
		Healthchecks pingBlock       `yaml:"healthchecks"`
		Command      yamlfile.Scalar `yaml:"command"`
		Webhook      webhookBlock    `yaml:"webhook"`
		Mail         mailBlock       `yaml:"mail"`
	}
	pingBlock struct {
		_       struct{} `block:"healthchecks" like:"url_file: ~/.config/collect/hc-url"`
		At      yamlfile.Span
		URLFile yamlfile.Scalar `yaml:"url_file"`
	}
	webhookBlock struct {
		_          struct{} `block:"a webhook" like:"url_file: ~/.config/collect/hook-url"`
		At         yamlfile.Span
		URLFile    yamlfile.Scalar `yaml:"url_file"`
		SecretFile yamlfile.Scalar `yaml:"secret_file"`
	}
	mailBlock struct {
		_        struct{} `block:"mail" like:"to: [ops@example.org]"`
		At       yamlfile.Span
		To       []yamlfile.Scalar `yaml:"to"`
		From     yamlfile.Scalar   `yaml:"from"`
		Sendmail yamlfile.Scalar   `yaml:"sendmail"`
	}
)

// The keys under `notify:`. One file outranks another by each of them as a whole.
const (
	keyPing    = "notify.healthchecks"
	keyCommand = "notify.command"
	keyWebhook = "notify.webhook"
	keyMail    = "notify.mail"
)

// notify returns who is told, and where that stands.
func (r *configReader) notify(b notifyBlock) (c notify.Config, origin map[string]string) {
	origin = map[string]string{}
	at := func(key string, place yamlfile.Span) bool {
		if place.Line == 0 {
			return false
		}
		origin[key] = r.origin(yamlfile.Scalar{At: place})
		return true
	}
	if at(keyPing, b.Healthchecks.At) {
		c.PingURLFile = r.fileOf(b.Healthchecks.URLFile, b.Healthchecks.At, "`healthchecks` needs `url_file`: the address is a secret, and is in a file of its own")
	}
	if b.Command.Set && at(keyCommand, b.Command.At) {
		if c.Command = strings.TrimSpace(b.Command.Text); c.Command == "" {
			r.fail(b.Command, "`command` is a line for the shell", "nothing is here")
		}
	}
	if at(keyWebhook, b.Webhook.At) {
		c.Webhook.URLFile = r.fileOf(b.Webhook.URLFile, b.Webhook.At, "`webhook` needs `url_file`: the address is a secret, and is in a file of its own")
		if b.Webhook.SecretFile.Set {
			c.Webhook.SecretFile = r.fileOf(b.Webhook.SecretFile, b.Webhook.At, "`secret_file` is the path of a file")
		}
	}
	if at(keyMail, b.Mail.At) {
		c.Mail = r.mail(b.Mail)
	}
	return c, origin
}

// fileOf returns the path that s names, as seen from the file that names it.
func (r *configReader) fileOf(s yamlfile.Scalar, block yamlfile.Span, must string) string {
	text := strings.TrimSpace(s.Text)
	switch {
	case text == "":
		r.faults = append(r.faults, yamlfile.Fault{At: block, Message: must, Hide: true})
	case strings.Contains(text, "://"):
		r.faults = append(r.faults, yamlfile.Fault{At: s.At, Message: must, Label: "an address, not a file", Hide: true})
	default:
		return beside(r.path, text, r.env)
	}
	return ""
}

func (r *configReader) mail(b mailBlock) notify.Mail {
	m := notify.Mail{From: r.address(b.From)}
	for _, s := range b.To {
		m.To = append(m.To, r.address(s))
	}
	if len(m.To) == 0 {
		r.faults = append(r.faults, yamlfile.Fault{At: b.At, Message: "`mail` needs `to`, a list such as [ops@example.org]"})
	}
	m.Sendmail = strings.TrimSpace(b.Sendmail.Text)
	if strings.ContainsRune(m.Sendmail, filepath.Separator) { // else it is looked for as the shell does
		if path, err := filepath.Abs(beside(r.path, m.Sendmail, r.env)); err == nil {
			m.Sendmail = path
		}
	}
	return m
}

// address returns one address of mail (RFC 5322) without a name; a local one such as
// root, too.
func (r *configReader) address(s yamlfile.Scalar) string {
	text := strings.TrimSpace(s.Text)
	if !s.Set {
		return ""
	}
	full := text
	if !strings.Contains(text, "@") {
		full += "@localhost"
	}
	if a, err := mail.ParseAddress(full); err != nil || a.Name != "" || a.Address != full {
		r.fail(s, "this is no address of mail, such as ops@example.org", "not an address")
		return ""
	}
	return text
}

// overNotify returns c as overridden by top, which outranks it.
func overNotify(c, top notify.Config) notify.Config {
	if top.PingURLFile != "" {
		c.PingURLFile = top.PingURLFile
	}
	if top.Command != "" {
		c.Command = top.Command
	}
	if top.Webhook.URLFile != "" {
		c.Webhook = top.Webhook
	}
	if len(top.Mail.To) > 0 {
		c.Mail = top.Mail
	}
	return c
}
