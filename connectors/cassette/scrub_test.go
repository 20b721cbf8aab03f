package cassette_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collect/connectors/cassette"
)

// spellings are the ways in which a provider may give a secret back.
func spellings(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	all := map[string]string{
		"plain": secret, "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "json": string(quoted),
		"hex": hex.EncodeToString([]byte(secret)), "lower": strings.ToLower(url.QueryEscape("/")) + url.QueryEscape(secret),
	}
	for _, before := range []string{"", "u:", "user:", "ab", "{\"token\":\""} {
		all["base64 "+before] = base64.StdEncoding.EncodeToString([]byte(before + secret + "\n"))
		all["base64url "+before] = base64.RawURLEncoding.EncodeToString([]byte(before + secret))
	}
	return all
}

// TestNoSecretIsLeft: a provider that gives the secrets back in every spelling and
// in every place is recorded, and none of them is in any file, in any spelling.
func TestNoSecretIsLeft(t *testing.T) {
	secrets := []string{"s3cr3t/T+k=n?ä", "hunter2", "line one\nline two 77", "abc"}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=unknown-to-us")
		body := map[string]string{}
		for _, secret := range secrets {
			for how, text := range spellings(secret) {
				body[how+"|"+secret] = text
				w.Header().Add("X-Echo", strings.ReplaceAll(text, "\n", " "))
			}
		}
		json.NewEncoder(w).Encode(body)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	recorder := &cassette.Recorder{Next: http.DefaultTransport, Most: 1 << 20}
	for _, secret := range secrets {
		for _, text := range spellings(secret) {
			req, err := http.NewRequest("POST", s.URL+"/x?key="+url.QueryEscape(text), strings.NewReader(`{"password": "`+text+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.SetBasicAuth("user", secret)
			req.Header.Set("X-Key", strings.ReplaceAll(text, "\n", " "))
			resp, err := recorder.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(body, []byte("hunter2")) {
				t.Fatalf("what is passed on is changed: %q, %v", body, err)
			}
			resp.Body.Close()
		}
	}
	scrubber := cassette.NewScrubber(secrets...)
	var exchanges []cassette.Exchange
	var shown strings.Builder
	for _, noted := range recorder.Noted() {
		if !strings.Contains(string(noted.Body), "hunter2") {
			t.Fatal("what is noted has no secret: this proves nothing")
		}
		noted = scrubber.Scrub(noted)
		exchanges = append(exchanges, noted.Exchange)
		shown.WriteString(fmt.Sprint(noted.Asked))
	}
	file, err := cassette.Format(exchanges)
	if err != nil || len(exchanges) < 20 {
		t.Fatal(len(exchanges), err)
	}
	for _, text := range []string{string(file), shown.String()} {
		readings := readings(text)
		for _, secret := range []string{"s3cr3t/T+k=n?ä", "hunter2", "line one", "line two 77", "unknown-to-us"} {
			for how, read := range readings {
				if strings.Contains(read, secret) {
					t.Errorf("%s is left, as %s", secret, how)
				}
			}
		}
		if strings.Contains(text, "abc") {
			t.Error("the short secret is left")
		}
	}
	if read := readings(base64.StdEncoding.EncodeToString([]byte("user:hunter2"))); !strings.Contains(strings.Join(slices.Collect(maps.Values(read)), "\n"), "hunter2") {
		t.Error("the test does not read base64: it proves nothing")
	}
}

var (
	runs    = regexp.MustCompile(`[A-Za-z0-9+/_-]{6,}`)
	escapes = regexp.MustCompile(`\\u[0-9a-f]{4}|\\[nt"\\/]`)
)

// readings returns what a text says to those who decode it.
func readings(text string) map[string]string {
	read := map[string]string{"text": text}
	read["query"] = regexp.MustCompile(`%[0-9A-Fa-f]{2}`).ReplaceAllStringFunc(text, func(s string) string {
		b, _ := hex.DecodeString(s[1:])
		return string(b)
	})
	read["json"] = escapes.ReplaceAllStringFunc(text, func(s string) string {
		var plain string
		json.Unmarshal([]byte(`"`+s+`"`), &plain)
		return plain
	})
	var hexed, based strings.Builder
	for _, run := range runs.FindAllString(text, -1) {
		for from := range min(4, len(run)) {
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				plain, _ := encoding.DecodeString(run[from:]) // as far as it can be read
				based.Write(append(plain, '\n'))
			}
		}
		plain, _ := hex.DecodeString(run[:len(run)-len(run)%2])
		hexed.Write(append(plain, '\n'))
	}
	read["base64"], read["hex"] = based.String(), hexed.String()
	return read
}
