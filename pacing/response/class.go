package response

import "net/http"

// A Class is what a response says about the provider's patience.
type Class string

const (
	OK        Class = "ok"
	Throttle  Class = "throttle"  // slower, please
	QuotaUsed Class = "quota"     // nothing more for a while; the pace was not the problem
	Auth      Class = "auth"      // the credential is not accepted
	Forbidden Class = "forbidden" // the account is refused
	Transient Class = "transient" // a passing fault
	Conflict  Class = "conflict"  // this request met another one
	Rejected  Class = "rejected"  // this request is wrong, or what it asks for is not there
)

// classOf returns the class that status and headers give. mark is the class
// that a machine-readable code in header or body names; "" if there is none.
func classOf(status int, mark Class, pressed bool) Class {
	switch {
	case status == http.StatusUnauthorized:
		return Auth
	case status == http.StatusNotFound || status == http.StatusGone:
		return Rejected
	case mark != "":
		return mark
	case status < 400:
		return OK
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable,
		420, // as Twitter answered before 429 was a standard
		430, // as Shopify answers too many requests at once
		509, // bandwidth limit exceeded: Apache, cPanel
		529: // overloaded: Anthropic, Qualys
		return Throttle
	case http.StatusPaymentRequired:
		if pressed {
			return QuotaUsed
		}
	case http.StatusForbidden:
		if pressed {
			return Throttle
		}
		return Forbidden
	case http.StatusRequestEntityTooLarge:
		if pressed { // a passing condition (RFC 9110, 15.5.14)
			return Throttle
		}
	case http.StatusProxyAuthRequired:
		return Auth
	case http.StatusTeapot:
		if pressed { // Binance: banned for a while, and it says how long
			return Throttle
		}
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusMisdirectedRequest,
		449: // Microsoft's Retry With
		return Transient
	case http.StatusConflict, http.StatusLocked:
		return Conflict
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return Rejected
	}
	if status >= 500 {
		return Transient
	}
	return Rejected
}
