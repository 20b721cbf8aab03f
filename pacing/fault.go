package pacing

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"strings"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// Faults of the protocol for which net/http and crypto/tls have no type: words
// of theirs, none of the provider's. TestFaultsOfTheProtocol plays each of them
// on a real connection, and so notices other words of a later version.
var (
	headerTooLarge = []string{"server response headers exceeded", "response header list larger", "too many 1xx informational responses"}
	noHTTP         = []string{"malformed HTTP"} // a malformed field may be one that was cut off
	oldTLS         = []string{"server selected unsupported protocol version", "tls: protocol version not supported"}
	ownHeader      = []string{"net/http: invalid header field"}
)

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
func (g *Governor) faulty(err error) (a answer, ok bool) {
	a.outcome = gate.Outcome{Signal: law.Failed, Hold: -1}
	stop := &collection.Stop{Reason: collection.BadPage, Err: err}
	corrupt, isCorrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case says(err, headerTooLarge):
		stop.Reason, stop.Detail = collection.TooLarge, "the header is larger than "+size(g.limits.Headers)
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
