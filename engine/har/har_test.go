package har_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collect/engine/har"
)

// An archive, as far as the tests look at it.
type archive struct {
	Log struct {
		Version string `json:"version"`
		Comment string `json:"comment"`
		Entries []struct {
			Started string  `json:"startedDateTime"`
			Time    float64 `json:"time"`
			Comment string  `json:"comment"`
			Request struct {
				Method, URL string
				BodySize    int64 `json:"bodySize"`
			} `json:"request"`
			Response struct {
				Status  int `json:"status"`
				Headers []struct{ Name, Value string }
				Content struct{ Size int64 } `json:"content"`
			} `json:"response"`
			Timings struct{ Blocked, Send, Wait, Receive float64 }
		} `json:"entries"`
	} `json:"log"`
}

func read(t *testing.T, path string) (archive, string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var a archive
	if err := json.Unmarshal(src, &a); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return a, string(src)
}

// TestNoSecret: whatever way a credential takes, and wherever the provider gives it
// back, it is not in the file. Some of them are known by their values, the others
// only by where they stand.
func TestNoSecret(t *testing.T) {
	known := map[string]string{
		"bearer": "b3arer-c4nary", "query key": "qu3ry/c4nary+x", "password": "passw0rd-c4nary", "access token": "acc3ss-c4nary", "path": "p4th:c4nary",
	}
	unknown := map[string]string{"cookie": "c00kie-unknown", "session": "s3ssion-unknown", "signature": "s1gned-unknown", "granted": "gr4nted-unknown", "user": "us3rinfo-unknown"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "sid="+unknown["cookie"])
		w.Header().Set("X-Auth-Token", unknown["granted"])
		w.Header().Set("X-Echo-"+known["bearer"], known["password"])
		w.Header().Set("Location", "/next?session_id="+unknown["session"]+"&page=2&at="+url.QueryEscape(known["query key"]))
		w.Header().Set("Link", `<https://store.test/o?X-Amz-Signature=`+unknown["signature"]+`&page=3>; rel="next"`)
		w.Header().Set("Content-Type", "application/json; t="+known["access token"])
		w.Header().Set("X-RateLimit-Remaining", "41")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"access_token":"`+known["access token"]+`"}`)
	}))
	defer server.Close()

	path := filepath.Join(t.TempDir(), "x.har")
	file, err := har.Create(har.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for _, secret := range known {
		secrets = append(secrets, secret)
	}
	client := &http.Client{Transport: file.Transport(http.DefaultTransport, func() []string { return secrets })}
	u, _ := url.Parse(server.URL)
	u.User = url.UserPassword("someone", unknown["user"])
	u.Path = "/bot" + known["path"] + "/list"
	u.RawQuery = url.Values{"api_key": {known["query key"]}, "q": {known["bearer"]}, "sig": {unknown["signature"]}, "page": {"7"}}.Encode()
	req, err := http.NewRequest(http.MethodPost, u.String(), strings.NewReader("grant_type=password&password="+known["password"]))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+known["bearer"])
	req.Header.Set("X-Api-Key", known["query key"])
	req.Header.Set("Cookie", "sid="+unknown["cookie"])
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if written, cut, err := file.Close(); written != 1 || cut != 0 || err != nil {
		t.Fatalf("Close() = %d, %d, %v", written, cut, err)
	}

	a, text := read(t, path)
	for _, of := range []map[string]string{known, unknown} {
		for name, secret := range of {
			for how, spelling := range map[string]string{"plain": secret, "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "base64": base64.StdEncoding.EncodeToString([]byte(secret))} {
				if strings.Contains(strings.ToLower(text), strings.ToLower(spelling)) {
					t.Errorf("the secret %q, %s, is in the file:\n%s", name, how, text)
				}
			}
		}
	}
	e := a.Log.Entries[0]
	if e.Request.Method != "POST" || e.Response.Status != 201 || e.Request.BodySize != 44 || e.Response.Content.Size != 32 || e.Time <= 0 {
		t.Errorf("the entry is %+v", e)
	}
	for _, want := range []string{"page=7", "page=2", "page=3", `"X-Ratelimit-Remaining","value":"41"`, `"Accept","value":"application/json"`, `"Set-Cookie","value":"REDACTED"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the file:\n%s", want, text)
		}
	}
	if sum := max(0, e.Timings.Blocked) + e.Timings.Send + e.Timings.Wait + e.Timings.Receive; sum > e.Time+0.01 || sum < e.Time-0.01 {
		t.Errorf("the steps take %v ms, and all of it %v", sum, e.Time)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
}

// TestReadableAtAnyTime: after each request the file is an archive, though it is
// still open; one that grows too large is cut and says so.
func TestReadableAtAnyTime(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	path := filepath.Join(t.TempDir(), "x.har")
	if err := os.WriteFile(path, []byte(strings.Repeat("what was there before ", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := har.Create(har.Config{Path: path, Most: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := read(t, path); len(a.Log.Entries) != 0 || a.Log.Version != "1.2" {
		t.Errorf("at first the archive is %+v", a)
	}
	client := &http.Client{Transport: file.Transport(http.DefaultTransport, func() []string { return nil })}
	held, lost := 0, 0
	for n := 1; n <= 12; n++ {
		resp, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		a, _ := read(t, path)
		if lost == 0 && len(a.Log.Entries) == n {
			held = n
			continue
		}
		lost++
		if len(a.Log.Entries) != held || !strings.HasPrefix(a.Log.Comment, "cut: ") {
			t.Errorf("after %d requests the file has %d, and says %q", n, len(a.Log.Entries), a.Log.Comment)
		}
	}
	if info, _ := os.Stat(path); info.Size() > 4200 || held == 0 || lost == 0 {
		t.Errorf("the file has %d bytes, %d requests of 12", info.Size(), held)
	}
	if written, cut, err := file.Close(); written != held || cut != lost || err != nil {
		t.Errorf("Close() = %d, %d, %v, want %d, %d", written, cut, err, held, lost)
	}
}

// TestNoAnswer: a request without an answer is there, and says so in words that hold
// no address.
func TestNoAnswer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	path := filepath.Join(t.TempDir(), "x.har")
	file, err := har.Create(har.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: file.Transport(http.DefaultTransport, func() []string { return nil })}
	if resp, err := client.Get(address); err == nil {
		resp.Body.Close()
		t.Fatal("a server that is gone answered")
	}
	a, _ := read(t, path)
	if e := a.Log.Entries[0]; e.Response.Status != 0 || e.Comment != "no answer: there was no connection" {
		t.Errorf("the entry is %+v", e)
	}
}
