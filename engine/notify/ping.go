package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"collect/internal/userfile"
	"collect/internal/words"
	"collect/pacing"
	"collect/report/problem"
)

// A pinger tells a service that watches for a sign of life (Healthchecks, or another
// that takes its addresses, https://healthchecks.io/docs/http_api/) how a command goes.
// The two pings of a command have one id, by which the service knows how long it took.
type pinger struct {
	url *url.URL
	err error // why there is none
	id  string
}

func newPinger(file string) pinger {
	u, err := addressIn(file)
	return pinger{u, err, uuid()}
}

// end sends the ping for an exit code.
func (p pinger) end(ctx context.Context, code int) error {
	i := slices.IndexFunc(problem.ExitCodes, func(c problem.ExitCode) bool { return c.Code == code })
	signal, text := "fail", fmt.Sprintf("exit code %d", code) // a code that is not known is a failure
	if i >= 0 {
		signal = problem.ExitCodes[i].Ping
		text += ": " + problem.ExitCodes[i].When
	}
	if signal == "success" {
		signal = ""
	}
	return p.send(ctx, signal, text)
}

// send sends one ping: start, fail, log, or "" for success.
func (p pinger) send(ctx context.Context, signal, text string) error {
	if p.err != nil {
		return p.err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	u := p.url
	if signal != "" {
		u = u.JoinPath(signal)
	}
	query := u.Query()
	query.Set("rid", p.id)
	with := *u
	with.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, with.String(), strings.NewReader(text))
	if err != nil {
		return errAddress
	}
	return deliver(req)
}

// deliver sends a request. Its error has no address in it, which is a secret.
func deliver(req *http.Request) error {
	client := pacing.NewNoticeClient(Patience)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		if req.Context().Err() != nil {
			return late(req.Context(), err)
		}
		return errors.New("no answer: " + words.Cause(err))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it was answered %d", resp.StatusCode)
	}
	return nil
}

// errAddress does not say what is there: the file may hold something else that is
// secret.
var errAddress = errors.New("its file does not hold an address that begins with https:// or http://")

// addressIn returns the address that a file holds.
func addressIn(file string) (*url.URL, error) {
	text, err := secretIn(file)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.ContainsAny(text, " \t\r\n") {
		return nil, errAddress
	}
	return u, nil
}

// secretIn returns what a file holds.
func secretIn(file string) (string, error) {
	text, err := userfile.ReadAtMost(file, 16<<10)
	if err != nil {
		return "", errors.New(words.Cause(err))
	}
	return strings.TrimSpace(string(text)), nil
}

// uuid returns a random UUID (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
