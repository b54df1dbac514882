package egress

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

const (
	// grantLife bounds how long another process with the key serves a password. A page that lives longer
	// shows a new one.
	grantLife = 12 * time.Hour
	// mostGuests bounds the grants of other processes that are remembered; of one that is not, refusals are
	// logged anew.
	mostGuests = 4096
	// mostPassword bounds a password, in bytes.
	mostPassword = 64 << 10
)

// sealed has the content of a password, sealed with a key for its user.
type sealed struct {
	V     int          `json:"v"`
	By    string       `json:"by"` // the proxy that admitted the page
	Reach policy.Reach `json:"reach"`
	Until int64        `json:"until"` // Unix seconds
}

// seals are the keys of passwords: the first seals, and each opens.
type seals []cipher.AEAD

func newSeals(keys [][]byte) (seals, error) {
	var all seals
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		sealer, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		all = append(all, sealer)
	}
	return all, nil
}

// seal returns the password of a user.
func (s seals) seal(user string, x sealed) string {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // it is words and numbers
	}
	box := s[0].Seal(nil, nil, text, []byte(user)) //nolint:gosec // it makes a random nonce itself
	return base64.RawURLEncoding.EncodeToString(box)
}

// open returns what a password of a user says, and whether it is one.
func (s seals) open(user, password string) (x sealed, ok bool) {
	if len(password) > mostPassword {
		return x, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(password)
	if err != nil {
		return x, false
	}
	for _, sealer := range s {
		if text, err := sealer.Open(nil, nil, raw, []byte(user)); err == nil {
			return x, json.Unmarshal(text, &x) == nil && x.V == 1 && time.Now().Unix() < x.Until
		}
	}
	return x, false
}

// Login returns the user and the password that the page shows now.
func (g *Grant) Login() (user, password string) {
	if g.proxy.seals == nil {
		return g.User, g.Password
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.User, g.proxy.seals.seal(g.User, sealed{1, g.proxy.id, g.reach, time.Now().Add(grantLife).Unix()})
}

// guest returns the grant of a page that another process with the key admitted; nil where none did, or its
// time is over. That of a page of this process is over when it was ended.
func (p *Proxy) guest(user, password string) *Grant {
	x, ok := p.seals.open(user, password)
	if !ok || x.By == p.id {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.guests[user]; g != nil && g.until.Unix() == x.Until {
		return g
	}
	for other := range p.guests {
		if len(p.guests) < mostGuests {
			break
		}
		delete(p.guests, other)
	}
	g := p.newGrant(user, x.Reach)
	g.until = time.Unix(x.Until, 0)
	g.life, g.end = p.life, func() {}
	g.refused = func(context.Context, *Refusal) {}
	p.guests[user] = g
	return g
}
