package response

import (
	"encoding/json"
	"net/http"
	"time"
)

// regain returns how long Meta says that access is blocked; a negative value if
// it is not, or not said. It tells what is used in percent, on every answer, by
// account and kind of call, with the minutes until it grants more:
//
//	X-Business-Use-Case-Usage: {"1784":[{"type":"ads_management","call_count":100,
//	  "total_cputime":12,"total_time":9,"estimated_time_to_regain_access":7}]}
//
// (Graph API, "Rate Limits".) The percentages alone are no news: 99 is as good
// as 1.
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
				if n, ok := parseNumber(kind.Minutes.String()); ok && (n.whole > 0 || n.nanos > 0) {
					longest = max(longest, capped(n.times(time.Minute)))
				}
			}
		}
	}
	return longest
}
