package oauth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Entry describes a credential without its secrets.
type Entry struct {
	// Principal is the caller that owns it.
	Principal string `json:"caller"`
	// Resource is the address of the API's server, or its origin.
	Resource string `json:"resource"`
	Scheme   string `json:"scheme"`
	Kind     Kind   `json:"kind"`
	// Issuer is the authorization server of a token.
	Issuer string   `json:"issuer,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	// Expires is the end of a token; zero is unknown, or never.
	Expires time.Time `json:"expires,omitzero"`
	// Renews is true when a token is replaced at its end without a person.
	Renews bool `json:"renews,omitempty"`
	// Damaged is true when the credential cannot be read: somebody changed it, or its key.
	Damaged bool `json:"damaged,omitempty"`
}

func (e entry) public() Entry {
	return Entry{Principal: e.key.Principal, Resource: e.key.Resource, Scheme: e.key.Scheme,
		Issuer: e.key.Issuer, Kind: e.record.Kind, Scopes: e.record.Scopes,
		Expires: e.record.Expires, Renews: e.record.renews(), Damaged: e.damaged}
}

// Status returns what is kept: of all principals and APIs, in that order.
func (k *Keeper) Status() ([]Entry, error) {
	entries, err := k.store.entries()
	if err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(entries))
	for _, e := range entries {
		all = append(all, e.public())
	}
	return all, nil
}

// Logout forgets all credentials of a principal for the origin of an API, and revokes its tokens
// (RFC 7009). It returns what was forgotten, and what no server could be told: those tokens end by
// themselves only.
func (k *Keeper) Logout(ctx context.Context, principal string, resource *url.URL,
) (gone []Entry, problems []string, err error) {
	entries, err := k.store.entries()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if e.key.Principal != principal || !within(e.key.Resource, origin.OfURL(resource)) {
			continue
		}
		if e, err = k.forget(ctx, e); err != nil {
			return gone, problems, err
		}
		gone = append(gone, e.public())
		if c := e.record.Client; c.ID != "" {
			if err := k.revoke(ctx, &c, &e.record); err != nil {
				problems = append(problems, err.Error())
			}
		}
	}
	return gone, problems, nil
}

// forget removes a record, and returns it as it was then: it may have been renewed meanwhile.
func (k *Keeper) forget(ctx context.Context, e entry) (entry, error) {
	unlock, err := k.store.lockKey(ctx, e.key)
	if err != nil {
		return e, err
	}
	defer unlock()
	entries, err := k.store.entries()
	if err != nil {
		return e, err
	}
	if i := slices.IndexFunc(entries, func(x entry) bool { return x.key == e.key }); i >= 0 {
		e = entries[i]
	}
	return e, k.store.remove(ctx, e.key)
}

// revoke tells the server. A refresh token goes first: with it others end (RFC 7009 2.1).
func (k *Keeper) revoke(ctx context.Context, c *client, r *record) error {
	if c.RevokeURL == "" {
		return fmt.Errorf("%s revokes no tokens: the one it gave is good until it ends",
			hostOf(c.TokenURL))
	}
	for _, one := range []struct {
		hint  string
		token Secret
	}{{"refresh_token", r.Refresh}, {"access_token", r.Access}} {
		if one.token == "" {
			continue
		}
		form := url.Values{"token": {string(one.token)}, "token_type_hint": {one.hint}}
		if !c.InHeader {
			form.Set("client_id", c.ID)
			if c.Secret != "" {
				form.Set("client_secret", string(c.Secret))
			}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.RevokeURL,
			strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if c.InHeader { // RFC 6749 2.3.1
			req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(string(c.Secret)))
		}
		res, err := k.posting.Do(req)
		if err != nil {
			return fmt.Errorf("revoking the token: %w", unreached(err))
		}
		// The rest is read so that the connection can be used again.
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxMetadata))
		_ = res.Body.Close() // it was only read
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("revoking the token: %s answers %d; it is good until it ends",
				hostOf(c.RevokeURL), res.StatusCode)
		}
	}
	return nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the authorization server"
	}
	return clean(u.Host, 200)
}
