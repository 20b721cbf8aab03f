package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"collect/internal/process"
	"collect/internal/words"
)

// runCommand gives a message to a command: as JSON on its standard input, and the parts
// that a line of shell needs in its environment.
func runCommand(ctx context.Context, line string, m Message, stderr io.Writer) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "sh", "-c", line) // #nosec G204 -- the user's own, see docs/security.md
	command.Env = append(command.Environ(),
		"COLLECT_NOTICE_EVENT="+string(m.Turn),
		"COLLECT_NOTICE_SUBJECT="+m.Subject,
		"COLLECT_NOTICE_CONNECTORS="+strings.Join(m.connectors, " "),
	)
	return feed(command, text, stderr)
}

// feed runs a command with an input. What it prints to stdout goes nowhere: that is
// where results of ours are. One that does not read its input has not failed for that.
func feed(command *exec.Cmd, input []byte, stderr io.Writer) error {
	process.EndWhole(command)
	command.WaitDelay = time.Second
	command.Stdin, command.Stderr = bytes.NewReader(input), stderr
	err := command.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it ended well, and left somebody behind
	case err != nil && command.ProcessState != nil && command.ProcessState.Success():
		return nil // it did not read all
	case err != nil:
		return errors.New(words.Cause(err))
	}
	return nil
}

// post sends a message to the address, signed as https://www.standardwebhooks.com
// describes: the HMAC-SHA256 of id, time and body, so that it can be neither forged nor
// played again later.
func (w Webhook) post(ctx context.Context, m Message) error {
	u, err := addressIn(w.URLFile)
	if err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return errAddress
	}
	sent := strconv.FormatInt(m.sent.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", m.ID)
	req.Header.Set("webhook-timestamp", sent)
	if w.SecretFile != "" {
		secret, err := secretIn(w.SecretFile)
		if err != nil {
			return fmt.Errorf("its secret: %w", err)
		}
		signature, err := sign(secret, m.ID+"."+sent+"."+string(body))
		if err != nil {
			return err
		}
		req.Header.Set("webhook-signature", signature)
	}
	return deliver(req)
}

// sign returns the signature of a text. A secret with the prefix whsec_ is the key in
// base64; any other one is the key itself.
func sign(secret, text string) (string, error) {
	key := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		var err error
		if key, err = base64.StdEncoding.DecodeString(coded); err != nil {
			return "", errors.New("its secret is not base64 after whsec_")
		}
	}
	if len(key) == 0 {
		return "", errors.New("the file of its secret is empty")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// usualSendmail are where mail systems have the program that takes a mail (LSB 5.0,
// usr/sbin/sendmail).
var usualSendmail = []string{"sendmail", "/usr/sbin/sendmail", "/usr/lib/sendmail"}

// send hands a message to the mail system of this machine, which delivers it later.
func (c Mail) send(ctx context.Context, m Message, stderr io.Writer) error {
	program := c.Sendmail
	if program == "" {
		for _, name := range usualSendmail {
			if found, err := exec.LookPath(name); err == nil {
				program = found
				break
			}
		}
	}
	if program == "" {
		return errors.New("there is no sendmail on this machine: install a mail system such as msmtp-mta, or name the program")
	}
	arguments := append([]string{"-i", "--"}, c.To...)         // -i: a line with one dot does not end it
	command := exec.CommandContext(ctx, program, arguments...) // #nosec G204 -- the user's own
	return feed(command, c.compose(m), stderr)
}

// compose returns a mail (RFC 5322), marked as one that no program answers (RFC 3834).
func (c Mail) compose(m Message) []byte {
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	if c.From != "" {
		header("From", c.From)
	}
	header("To", strings.Join(c.To, ",\r\n "))
	header("Subject", mime.QEncoding.Encode("utf-8", m.Subject))
	header("Date", m.sent.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	header("Message-ID", "<"+m.ID+"@collect.invalid>")
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	_, _ = body.Write([]byte(m.text())) // a buffer takes everything
	_ = body.Close()
	return bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")) // sendmail(8) reads lines of this system
}
