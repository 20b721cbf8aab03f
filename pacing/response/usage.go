package response

import (
	"encoding/json"
	"net/http"
	"time"
)

// regain returns how long Meta says that access is blocked; a negative value if
// it is not, or not said. It tells what is used in percent, on every answer, by
// account and kind of call, with the minutes until it grants more, and for an
// ad account the seconds until it counts from nothing again:
//
//	X-Business-Use-Case-Usage: {"1784":[{"type":"ads_management","call_count":100,
//	  "total_cputime":12,"total_time":9,"estimated_time_to_regain_access":7}]}
//	X-Ad-Account-Usage: {"acc_id_util_pct":100,"reset_time_duration":60}
//
// (Graph API, "Rate Limits".) The percentages alone are no news: 99 is as good
// as 1. So X-App-Usage and X-Page-Usage, which are nothing else, are not read:
// who is over them is told by the number of an error.
func regain(h http.Header) time.Duration {
	var longest time.Duration = -1
	for _, v := range h["X-Business-Use-Case-Usage"] {
		var accounts map[string][]struct {
			Minutes json.Number `json:"estimated_time_to_regain_access"`
		}
		if json.Unmarshal([]byte(v), &accounts) != nil {
			continue
		}
		for _, kinds := range accounts {
			for _, kind := range kinds {
				longest = max(longest, blocked(kind.Minutes, time.Minute))
			}
		}
	}
	for _, v := range h["X-Ad-Account-Usage"] {
		var account struct {
			Percent json.Number `json:"acc_id_util_pct"`
			Seconds json.Number `json:"reset_time_duration"`
		}
		if json.Unmarshal([]byte(v), &account) != nil {
			continue
		}
		if used, ok := parseNumber(account.Percent.String()); ok && used.whole >= 100 {
			longest = max(longest, blocked(account.Seconds, time.Second))
		}
	}
	return longest
}

// blocked returns n units, and a negative value for none.
func blocked(n json.Number, unit time.Duration) time.Duration {
	if n, ok := parseNumber(n.String()); ok && (n.whole > 0 || n.nanos > 0) {
		return capped(n.times(unit))
	}
	return -1
}
