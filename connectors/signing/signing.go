// Package signing proves who asks, by a key that is never sent: with a token that
// is signed here, or with a signature over each request.
package signing

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// AWS returns what signs requests for a service of Amazon Web Services, by
// Signature Version 4. session is "" for keys that last.
func AWS(access, secret, session, region, service string) func(*http.Request) {
	signer := v4.NewSigner(func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = service == "s3" // which takes paths as they are
	})
	keys := aws.Credentials{AccessKeyID: access, SecretAccessKey: secret, SessionToken: session}
	return func(req *http.Request) {
		sum := sha256.Sum256(bodyOf(req))
		hash := hex.EncodeToString(sum[:])
		if service == "s3" { // the only one that wants to be told
			req.Header.Set("X-Amz-Content-Sha256", hash)
		}
		_ = signer.SignHTTP(context.Background(), keys, req, hash, service, region, time.Now()) // it fails for keys that must be fetched only
	}
}

// Recipes are the ways in which providers want requests to be signed by HMAC.
var Recipes = [...]string{"binance", "coinbase"}

// HMAC returns what signs requests by a recipe, and the parameters of the query
// that it sets. passphrase is for the recipes that have one.
func HMAC(recipe, key, secret, passphrase string) (sign func(*http.Request), params []string, err error) {
	switch recipe {
	case "binance":
		return binance(key, secret), []string{"timestamp", "signature"}, nil
	case "coinbase":
		raw, err := base64.StdEncoding.DecodeString(secret)
		if err != nil {
			return nil, nil, errors.New("is not base64, as Coinbase gives it out")
		}
		return coinbase(key, raw, passphrase), nil, nil
	}
	return nil, nil, errors.New("no such recipe")
}

// binance signs the query, to which it adds the time in milliseconds:
// https://developers.binance.com/docs/binance-spot-api-docs/rest-api/request-security
func binance(key, secret string) func(*http.Request) {
	return func(req *http.Request) {
		u := *req.URL // the caller's URL stays as it is
		u.RawQuery = with(without(u.RawQuery, "timestamp", "signature"), "timestamp="+strconv.FormatInt(time.Now().UnixMilli(), 10))
		signed := hex.EncodeToString(mac([]byte(secret), u.RawQuery+string(bodyOf(req))))
		u.RawQuery = with(u.RawQuery, "signature="+signed)
		req.URL = &u
		req.Header.Set("X-MBX-APIKEY", key)
	}
}

// coinbase signs time, method, path and body:
// https://docs.cdp.coinbase.com/exchange/rest-api/authentication
func coinbase(key string, secret []byte, passphrase string) func(*http.Request) {
	return func(req *http.Request) {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		signed := base64.StdEncoding.EncodeToString(mac(secret, now+req.Method+req.URL.RequestURI()+string(bodyOf(req))))
		req.Header.Set("CB-ACCESS-KEY", key)
		req.Header.Set("CB-ACCESS-PASSPHRASE", passphrase)
		req.Header.Set("CB-ACCESS-TIMESTAMP", now)
		req.Header.Set("CB-ACCESS-SIGN", signed)
	}
}

func mac(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// bodyOf returns the body of a request, which can still be sent.
func bodyOf(req *http.Request) []byte {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil // sending it will fail, too
	}
	defer body.Close()
	data, _ := io.ReadAll(body)
	return data
}

// without takes parameters out of a query, and leaves the bytes of the others.
func without(query string, names ...string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if pair != "" && (err != nil || !slices.Contains(names, plain)) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

func with(query, pair string) string {
	if query == "" {
		return pair
	}
	return query + "&" + pair
}
