package registry

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"collect/connectors/declarative"
)

// A Shared keeps a value that several machines replace, one at a time, where all of them
// read it; nil is nothing. Spend gets what is kept, and returns what is to be kept from
// then on; nil leaves it.
type Shared interface {
	Read(ctx context.Context, name string) (kept []byte, err error)
	Swap(ctx context.Context, name string, spend func(kept []byte) (next []byte, err error)) error
}

// TokenKey is the environment variable with the key that tokens which machines share are
// sealed with: 32 random bytes in base64, the same on each machine.
const TokenKey = "COLLECT_TOKEN_KEY" // #nosec G101 -- a name

// A sealed is a token that is replaced when it is used, as it is kept where machines share
// it: encrypted and authenticated by AES-256-GCM (NIST SP 800-38D) together with its name, with
// a random nonce in front of it.
type sealed struct {
	Token string   `json:"token"`
	Taken [][]byte `json:"taken"` // the SHA-256 of the tokens that were taken from files, the latest last
}

// mostTaken bounds how many tokens from files are remembered.
const mostTaken = 256

// errUnsealed: what is kept was sealed with another key, or changed.
var errUnsealed = errors.New("is kept in the store, sealed with another key than that in " + TokenKey)

// A vault is a secret that machines share, which its provider replaces.
type vault struct {
	shared Shared
	key    cipher.AEAD
	name   string
	secret declarative.Secret
}

// vaultOf returns where a secret of a provider is that machines share; nil if none do, or if it
// stays as it is.
func (r *Registry) vaultOf(provider string, secret declarative.Secret) (*vault, error) {
	if r.Shared == nil || !secret.Rotate || secret.File == "" {
		return nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(r.Env(TokenKey))
	if err != nil || len(raw) != 32 {
		return nil, &declarative.BadSecretError{Name: secret.Name, Problem: "is replaced each time it is used, so that machines share it in the store, where it is sealed: " +
			TokenKey + " must have the key, 32 random bytes in base64 (openssl rand -base64 32), the same on each machine"}
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	key, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	// A file has one token, whichever connectors use it.
	return &vault{r.Shared, key, fmt.Sprintf("token %s %s %s", provider, secret.Name, secret.File), secret}, nil
}

// open returns what is kept; own is the token in the file of this machine, "" for none. A
// token from a file that was never taken is newer than what is kept: a person signed in.
func (v *vault) open(kept []byte, own string) (s sealed, err error) {
	if kept != nil {
		plain, err := v.key.Open(nil, nil, kept, []byte(v.name))
		if err == nil {
			err = json.Unmarshal(plain, &s)
		}
		if err != nil {
			return s, &declarative.BadSecretError{Name: v.secret.Name, Problem: errUnsealed.Error()}
		}
	}
	sum := sha256.Sum256([]byte(own))
	if own != "" && !slices.ContainsFunc(s.Taken, func(t []byte) bool { return string(t) == string(sum[:]) }) {
		s.Token, s.Taken = own, append(s.Taken, sum[:])
		s.Taken = s.Taken[max(0, len(s.Taken)-mostTaken):]
	}
	return s, nil
}

func (v *vault) seal(s sealed) ([]byte, error) {
	plain, err := json.Marshal(s)
	return v.key.Seal(nil, nil, plain, []byte(v.name)), err // #nosec G407 -- the key makes a random nonce
}

// value returns the token as it is now, or was before a machine that replaces it at the moment.
func (v *vault) value(ctx context.Context, own string) (string, error) {
	kept, err := v.shared.Read(ctx, v.name)
	if err != nil {
		return "", err
	}
	s, err := v.open(kept, own)
	return s.Token, err
}

// replacer replaces the token by what spend makes of it.
func (v *vault) replacer(own string) func(context.Context, func(string) (string, error)) error {
	return func(ctx context.Context, spend func(string) (string, error)) error {
		return v.shared.Swap(ctx, v.name, func(kept []byte) ([]byte, error) {
			s, err := v.open(kept, own)
			if err != nil {
				return nil, err
			}
			if s.Token, err = spend(s.Token); err != nil {
				return nil, err
			}
			return v.seal(s)
		})
	}
}
