package response

// numbers are the codes of refusals with 200 that are numbers. A number says
// nothing by itself: it counts where the provider puts it, in an object that is
// its refusal.
var numbers = []struct {
	in, code string // the member of the body that holds the code's object, or a list of them; "": the body itself
	refusal  func(body, at map[string]any) bool
	classes  map[string]Class
}{
	// Adobe Marketo, "Error Codes": 607 is the day's quota. What is transient
	// there can be tried again.
	{"errors", "code", func(body, _ map[string]any) bool { return body["success"] == false }, map[string]Class{
		"601": Auth, "602": Auth,
		"606": Throttle, "607": QuotaUsed, "615": Throttle,
		"502": Transient, "604": Transient, "608": Transient, "611": Transient, "713": Transient, "719": Transient,
	}},
	// Bybit, "Error Codes": too many visits of the account, and of the address.
	{"", "retCode", func(body, _ map[string]any) bool { return text(body, "retMsg") != "" }, map[string]Class{
		"10006": Throttle, "10018": Throttle,
	}},
	// Amap, "error codes": the day's calls, and those of a moment.
	{"", "infocode", func(body, _ map[string]any) bool { return text(body, "status") == "0" }, map[string]Class{
		"10003": QuotaUsed, "10044": QuotaUsed,
		"10004": Throttle, "10014": Throttle, "10019": Throttle, "10020": Throttle, "10021": Throttle,
	}},
	// Lark, "Frequency control": also with 400.
	{"", "code", func(body, _ map[string]any) bool { return text(body, "msg") != "" }, map[string]Class{
		"99991400": Throttle,
	}},
	// VK, "Errors": too many a second, too much of the same, and the method's quota.
	{"error", "error_code", func(_, at map[string]any) bool { return text(at, "error_msg") != "" }, map[string]Class{
		"6": Throttle, "9": Throttle, "29": QuotaUsed,
	}},
}

// numbered takes the first of the numbers that stands where it belongs.
func (f *found) numbered(body map[string]any) {
	for _, n := range numbers {
		within := []any{body}
		if n.in != "" {
			if within = list(body, n.in); within == nil {
				within = []any{body[n.in]}
			}
		}
		for _, at := range within {
			at := object(at)
			code := text(at, n.code)
			if number := count(at, n.code); number >= 0 {
				code = digits(number)
			}
			if c := n.classes[code]; c != "" && f.class == "" && n.refusal(body, at) {
				f.class, f.Reason = c, code
				f.places(at)
				if c == QuotaUsed {
					f.Period = day
				}
			}
		}
	}
}
