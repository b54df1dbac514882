package suite

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// PublicURL is the address that the tokens of an Issuer are for.
const PublicURL = "https://tools.example"

// Issuer is an authorization server that publishes its keys, and signs what a test wants.
type Issuer struct {
	*httptest.Server
	Down atomic.Bool // it answers nothing but errors
	Keys string      // where it says that its keys are; "" is at /keys

	key *rsa.PrivateKey
}

// NewIssuer starts an issuer. Whoever starts it closes it.
func NewIssuer() *Issuer {
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	i := &Issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, cmp.Or(i.Keys, i.URL+"/keys"))
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"RSA","use":"sig","kid":"1","n":%q,"e":%q}]}`,
			base64.RawURLEncoding.EncodeToString(key.N.Bytes()), base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()))
	})
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.Down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return i
}

// Token signs the claims of a person, good for an hour, with further ones in the place of the
// usual.
func (i *Issuer) Token(who string, more map[string]any) string {
	claims := map[string]any{"iss": i.URL, "sub": who, "aud": PublicURL, "scope": "pagetools.call",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "client_id": "host"}
	maps.Copy(claims, more)
	body := must(json.Marshal(claims))
	b64 := base64.RawURLEncoding
	signed := b64.EncodeToString([]byte(`{"alg":"RS256","kid":"1","typ":"at+jwt"}`)) + "." + b64.EncodeToString(body)
	sum := sha256.Sum256([]byte(signed))
	return signed + "." + b64.EncodeToString(must(rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
