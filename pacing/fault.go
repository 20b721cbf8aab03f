package pacing

import (
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// Why an attempt was given up by us.
var (
	errSilent = error(lateError("no answer in time"))
	errSlow   = error(lateError("the answer did not end in time"))
	errSoon   = errors.New("no answer soon enough; the next attempt waits longer")
	errShort  = errors.New("the body ended early")
	errOver   = errors.New("the time of the run was up before there was a credential")
)

// Faults of the protocol for which net/http and crypto/tls have no type: words
// of theirs, none of the provider's. TestFaultsOfTheProtocol plays each of them
// on a real connection, and so notices other words of a later version.
var (
	headerTooLarge = []string{"server response headers exceeded", "response header list larger", "too many 1xx informational responses"}
	noHTTP         = []string{"malformed HTTP"} // a malformed field may be one that was cut off
	oldTLS         = []string{"server selected unsupported protocol version", "tls: protocol version not supported"}
	tlsRefused     = []string{"remote error: tls: "}
	noHandshake    = []string{"remote error: tls: handshake failure"} // TLS 1.2 has no other word for a certificate that is missing
	ownHeader      = []string{"net/http: invalid header field"}
)

// certificateAlerts are the alerts of TLS that are about the certificate of a client,
// with what each means.
var certificateAlerts = map[string]string{
	"certificate required":          "it asks for a client certificate, and was shown none",
	"bad certificate":               "it does not accept the client certificate",
	"unsupported certificate":       "it does not accept client certificates of this kind",
	"revoked certificate":           "the client certificate was revoked",
	"expired certificate":           "the client certificate has expired",
	"unknown certificate":           "it does not accept the client certificate",
	"unknown certificate authority": "it does not trust the authority that signed the client certificate",
	"access denied":                 "the client certificate has no access",
}

// certificateAlert says what a server has against the certificate of this client; "" if
// that is not why it ended the connection.
func certificateAlert(err error) string {
	if !says(err, tlsRefused) {
		return ""
	}
	text := err.Error()
	return certificateAlerts[text[strings.LastIndex(text, tlsRefused[0])+len(tlsRefused[0]):]]
}

func says(err error, words []string) bool {
	for _, w := range words {
		if strings.Contains(err.Error(), w) {
			return true
		}
	}
	return false
}

// faulty returns the answer to an attempt that failed for a fault which another
// attempt would meet again; ok is false for what time may help with.
func faulty(err error, headers int64) (a answer, ok bool) {
	a.outcome = gate.Outcome{Signal: law.Failed, Hold: -1}
	stop := &collection.Stop{Reason: collection.BadPage, Err: err}
	corrupt, isCorrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case says(err, headerTooLarge):
		stop.Reason, stop.Detail = collection.TooLarge, "the header is larger than "+size(headers)
		a.outcome.Signal = law.Answered
	case errors.Is(err, gzip.ErrChecksum), isCorrupt && corrupt >= 0:
		stop.Detail = "the body is damaged: it is not valid gzip, or its checksum is wrong"
		a.outcome.Signal = law.Answered
	case errors.Is(err, gzip.ErrHeader):
		stop.Detail = "the body is not gzip, as its header says"
		a.outcome.Signal = law.Answered
	case says(err, noHTTP):
		stop.Detail = "the answer is not HTTP that can be read: its first line is malformed"
	case certificateFault(err) != "":
		stop.Reason, stop.Detail = collection.UpstreamPressure, "no connection: "+certificateFault(err)
	case certificateAlert(err) != "":
		stop.Reason, stop.Detail, stop.Err = collection.Auth, certificateAlert(err), collection.ErrClientCertificate
		a.outcome.Signal = law.Silent
	case errors.Is(err, errTLSProxy):
		stop.Reason, stop.Detail = collection.UpstreamPressure, "no connection: "+errTLSProxy.Error()
		a.outcome.Signal = law.Silent
	case says(err, oldTLS):
		stop.Reason, stop.Detail = collection.UpstreamPressure, "no connection: it speaks no TLS newer than 1.1, which is not safe"
	case says(err, ownHeader):
		stop.Detail = "a header of the connector cannot be sent: it holds a line break, or another character that no header may"
		a.outcome.Signal = law.Silent
	default:
		return answer{}, false
	}
	a.err = stop
	return a, true
}

// describe says in a few fixed words why there is no usable answer. It quotes
// nothing: an error of the network may hold addresses and bytes of a body.
func describe(err error) string {
	if why := unconnected(err); why != "" {
		if proxied(err) {
			return "no connection to the proxy: " + why
		}
		return "no connection: " + why
	}
	switch {
	case errors.Is(err, collection.ErrLate), errors.Is(err, errShort), errors.Is(err, errSoon):
		return err.Error()
	case timedOut(err):
		return "timed out"
	case hungUp(err):
		return "the connection was closed before the answer"
	case errors.As(err, new(textproto.ProtocolError)):
		return "its header is malformed, or was cut off"
	}
	return "the connection failed"
}

// A lateError is why we gave an attempt up that took too long.
type lateError string

func (e lateError) Error() string        { return string(e) }
func (e lateError) Is(target error) bool { return target == collection.ErrLate }

// timedOut reports whether an answer was waited for in vain.
func timedOut(err error) bool {
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return true
	}
	return errors.Is(err, collection.ErrLate) || errors.Is(err, errSoon)
}

// hungUp reports whether the connection was closed from the other end. Some limiters say no more than that to what is
// too fast: nginx with limit_req_status 444, HAProxy with reject.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// certificateFault says what is wrong with the certificate of a provider; "" if
// that is not why there was no connection.
func certificateFault(err error) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		return ""
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the TLS certificate is for another host"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the TLS certificate is signed by an authority that is not trusted here"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the TLS certificate has expired or is not valid yet, by the clock of this machine"
	}
	return "the TLS certificate is not valid"
}

// unconnected says why there was no connection; "" if there was one.
func unconnected(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "no such host"
		}
		return "the name cannot be looked up"
	}
	if fault := certificateFault(err); fault != "" {
		return fault
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "it does not speak TLS"
	}
	if says(err, noHandshake) {
		return "TLS was refused: it asks for a client certificate, or has no cipher in common with us"
	}
	if says(err, tlsRefused) {
		return "TLS was refused"
	}
	op, ok := errors.AsType[*net.OpError](err)
	switch {
	case !ok || op.Op != "dial" && !proxied(err):
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case op.Timeout():
		return "timed out"
	}
	return "network unreachable"
}

// proxied reports whether it is the proxy that there was no connection to.
func proxied(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "proxyconnect"
}

func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
