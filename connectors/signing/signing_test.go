package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"collect/connectors/signing"
)

// pemOf returns a private key as people have it in a file.
func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestTokens: a token is signed by the key, holds what it should, and is
// replaced while half of its life is left.
func TestTokens(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		algorithm, key string
		public         any
	}{
		{"", pemOf(t, rsaKey), &rsaKey.PublicKey},
		{"ES256", pemOf(t, ecKey), &ecKey.PublicKey},
		{"HS256", "shared secret", []byte("shared secret")},
	} {
		synctest.Test(t, func(t *testing.T) {
			tokens, err := signing.NewTokens(signing.JWT{Algorithm: test.algorithm, KeyID: "k1", Claims: map[string]string{"iss": "app", "aud": "acme"}}, test.key)
			if err != nil {
				t.Fatal(err)
			}
			first, err := tokens.Token()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := jwt.Parse(first, func(*jwt.Token) (any, error) { return test.public, nil })
			if err != nil {
				t.Fatalf("%s: %v", test.algorithm, err)
			}
			claims := parsed.Claims.(jwt.MapClaims)
			issued, _ := claims.GetIssuedAt()
			expires, _ := claims.GetExpirationTime()
			if claims["iss"] != "app" || claims["aud"] != "acme" || parsed.Header["kid"] != "k1" ||
				time.Since(issued.Time) != 30*time.Second || time.Until(expires.Time) != signing.DefaultLifetime {
				t.Errorf("%s: header %v, claims %v", test.algorithm, parsed.Header, claims)
			}
			time.Sleep(signing.DefaultLifetime/2 - 1)
			if again, _ := tokens.Token(); again != first {
				t.Errorf("%s: another token before half of its life is over", test.algorithm)
			}
			time.Sleep(time.Second)
			if next, _ := tokens.Token(); next == first {
				t.Errorf("%s: the same token after half of its life", test.algorithm)
			}
		})
	}
}

func TestKeysThatAreNone(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string][2]string{
		"no PEM":             {"RS256", "s3cr3t"},
		"a key of EC as RSA": {"RS256", pemOf(t, p384)},
		"another curve":      {"ES256", pemOf(t, p384)},
		"no algorithm":       {"none", "s3cr3t"},
	} {
		_, err := signing.NewTokens(signing.JWT{Algorithm: test[0]}, test[1])
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAWS signs the request of the example that AWS documents step by step:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func TestAWS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)))
		sign := signing.AWS("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", "us-east-1", "iam")
		req, err := http.NewRequest("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		for range 2 { // a second attempt is signed as the first one
			sign(req)
		}
		const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
			"Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("signed as %s", got)
		}
	})
}

// TestBinance signs the query of the example in Binance's documentation, with
// the secret of that page.
func TestBinance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1499827319559)))
		sign, params, err := signing.HMAC("binance", "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A",
			"NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j", "")
		if err != nil || len(params) != 2 {
			t.Fatal(params, err)
		}
		req, err := http.NewRequest("GET", "https://api.binance.com/api/v3/order?symbol=LTCBTC&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000", nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second attempt replaces what the first one set
			sign(req)
		}
		q := req.URL.Query()
		if got := q["signature"]; len(got) != 1 || got[0] != "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71" || len(q["timestamp"]) != 1 {
			t.Errorf("signed as %s", req.URL.RawQuery)
		}
	})
}

func TestCoinbase(t *testing.T) {
	if _, _, err := signing.HMAC("coinbase", "k", "no base64!", "p"); err == nil {
		t.Error("a secret that is no base64 is taken")
	}
	sign, _, err := signing.HMAC("coinbase", "k", "c2VjcmV0", "p")
	if err != nil {
		t.Fatal(err)
	}
	signature := func(method, path, body string) string {
		req, err := http.NewRequest(method, "https://api.exchange.coinbase.com"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		sign(req)
		if req.Header.Get("CB-ACCESS-KEY") != "k" || req.Header.Get("CB-ACCESS-PASSPHRASE") != "p" || req.Header.Get("CB-ACCESS-TIMESTAMP") != "946684800" {
			t.Errorf("headers %v", req.Header)
		}
		return req.Header.Get("CB-ACCESS-SIGN")
	}
	synctest.Test(t, func(t *testing.T) {
		// printf '946684800GET/accounts' | openssl dgst -sha256 -hmac secret -binary | base64
		if got := signature("GET", "/accounts", ""); got != "IgYh0aFgF9YhXTFFkjUTGaqS+beozPSCDIWasi3ccOI=" {
			t.Errorf("signed as %s", got)
		}
		if signature("GET", "/accounts?limit=1", "") == signature("GET", "/accounts", "") || signature("GET", "/accounts", "x") == signature("GET", "/accounts", "") {
			t.Error("query and body are not signed")
		}
	})
}

// TestNothingToSign: what looks for the credential in an empty request gets it
// as well.
func TestNothingToSign(t *testing.T) {
	sign, _, _ := signing.HMAC("binance", "k", "s", "")
	for _, sign := range []func(*http.Request){sign, signing.AWS("a", "b", "c", "d", "e")} {
		req := &http.Request{Header: http.Header{}, URL: &url.URL{}}
		sign(req)
		if len(req.Header) == 0 {
			t.Error("nothing was attached")
		}
	}
}
