package signing

import (
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Algorithms are those of RFC 7518, section 3.1, that tokens can be signed by.
var Algorithms = [...]string{"RS256", "ES256", "HS256"}

// DefaultLifetime is how long a token is valid if nothing else is said. Providers
// take tokens of up to ten minutes (GitHub), twenty (Apple) or an hour (Google).
const DefaultLifetime = 5 * time.Minute

// skew is how much earlier than now a token says that it was issued, for clocks
// of providers that are behind.
const skew = 30 * time.Second

// JWT says what a token holds (RFC 7519), and how it is signed.
type JWT struct {
	Algorithm string // one of Algorithms; "": RS256
	KeyID     string // in the header, as kid; "": none
	Claims    map[string]string
	Lifetime  time.Duration // 0: DefaultLifetime
}

// Tokens signs tokens. It is safe for concurrent use.
type Tokens struct {
	jwt    JWT
	method jwt.SigningMethod
	key    any

	mu    sync.Mutex
	token string
	until time.Time // when another one is signed
}

// NewTokens returns a signer of tokens. key is a private key in PEM (PKCS #1,
// PKCS #8 or SEC 1), or for HS256 the shared secret.
func NewTokens(j JWT, key string) (*Tokens, error) {
	t := &Tokens{jwt: j}
	if t.jwt.Lifetime == 0 {
		t.jwt.Lifetime = DefaultLifetime
	}
	var err error
	switch j.Algorithm {
	case "", "RS256":
		t.method = jwt.SigningMethodRS256
		t.key, err = jwt.ParseRSAPrivateKeyFromPEM([]byte(key))
	case "ES256":
		t.method = jwt.SigningMethodES256
		t.key, err = jwt.ParseECPrivateKeyFromPEM([]byte(key))
	case "HS256":
		t.method, t.key = jwt.SigningMethodHS256, []byte(key)
	default:
		return nil, fmt.Errorf("no algorithm %q", j.Algorithm)
	}
	if err != nil {
		return nil, fmt.Errorf("is no private key in PEM for %s", t.method.Alg()) // the cause may quote it
	}
	if _, err := t.sign(time.Now()); err != nil {
		return nil, fmt.Errorf("is no private key for %s", t.method.Alg()) // such as one of another curve
	}
	return t, nil
}

// Token returns a token that is valid for at least half of its lifetime.
func (t *Tokens) Token() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.token != "" && now.Round(0).Before(t.until) {
		return t.token, nil
	}
	token, err := t.sign(now)
	if err != nil {
		return "", err
	}
	t.token, t.until = token, now.Round(0).Add(t.jwt.Lifetime/2)
	return token, nil
}

func (t *Tokens) sign(now time.Time) (string, error) {
	claims := jwt.MapClaims{"iat": now.Add(-skew).Unix(), "exp": now.Add(t.jwt.Lifetime).Unix()}
	for name, value := range t.jwt.Claims {
		claims[name] = value
	}
	token := jwt.NewWithClaims(t.method, claims)
	if t.jwt.KeyID != "" {
		token.Header["kid"] = t.jwt.KeyID
	}
	return token.SignedString(t.key)
}
