package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// renewTime limits how long the renewal of a token may take, whoever waits for it: a rotated token
// that nobody saved is lost.
const renewTime = 30 * time.Second

// renew replaces a token, and saves the new one before it returns it. used is the token that is no
// longer good: when another caller or process has replaced it, that one's is returned. One renewal
// of a token runs at a time, in all processes. The error is [ErrLoginNeeded] when the server says
// that the grant is over, and the token is forgotten then. When ctx ends it returns, and what it
// began goes on.
func (k *Keeper) renew(ctx context.Context, t Target, key Key, used Secret) (*record, error) {
	unlock, err := k.store.lockKey(ctx, key)
	if err != nil {
		return nil, err
	}
	var fresh *record
	over := make(chan struct{})
	go func() { // ends within renewTime
		defer close(over)
		defer unlock()
		fresh, err = k.renewLocked(ctx, t, key, used)
	}()
	select {
	case <-over:
		return fresh, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// renewLocked is renew with the lock of the key.
func (k *Keeper) renewLocked(ctx context.Context, t Target, key Key, used Secret) (*record, error) {
	entries, err := k.store.entries()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.key == key && !e.damaged })
	if i < 0 {
		return nil, k.needed(&t, ErrLoginNeeded, nil)
	}
	now := entries[i].record
	switch {
	case now.Access != used && !now.expired(time.Now()):
		return &now, nil
	case !now.renews():
		return nil, k.needed(&t, ErrLoginNeeded, nil)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	defer cancel()
	fresh, err := k.again(ctx, &now)
	if failed, ok := errors.AsType[*failure](err); ok {
		switch failed.code {
		case "invalid_grant":
			return nil, errors.Join(k.needed(&t, ErrLoginNeeded, nil), k.store.remove(ctx, key))
		case "invalid_client", "unauthorized_client": // the server forgot the client, or has another secret
			return nil, k.needed(&t, ErrLoginNeeded, nil)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("renewing the login for %s: %w", clean(key.Resource, 200), err)
	}
	if err := k.store.put(ctx, key, fresh); err != nil {
		return nil, err
	}
	return fresh, nil
}

// again asks for a token in the place of one, with its refresh token, or with the client's own
// credentials.
func (k *Keeper) again(ctx context.Context, old *record) (*record, error) {
	extra := url.Values{}
	var scopes []string
	if old.Client.Flow == ClientFlow {
		scopes = old.Scopes
	} else { // the library's own refresh has no place for the resource
		extra.Set("grant_type", "refresh_token")
		extra.Set("refresh_token", string(old.Refresh))
	}
	tok, err := k.direct(ctx, &old.Client, scopes, extra)
	if err != nil {
		return nil, k.failed(err, old.Refresh, old.Client.Secret)
	}
	fresh, err := readToken(tok, &old.Client, old.Scopes)
	if err == nil && fresh.Refresh == "" {
		fresh.Refresh = old.Refresh // it was not rotated
	}
	return fresh, err
}

// direct asks the token endpoint with what the client has, without a person.
func (k *Keeper) direct(ctx context.Context, c *client, scopes []string, extra url.Values,
) (*oauth2.Token, error) {
	if c.Resource != "" {
		extra.Set("resource", c.Resource)
	}
	conf := clientcredentials.Config{ClientID: c.ID, ClientSecret: string(c.Secret),
		TokenURL: c.TokenURL, Scopes: scopes, EndpointParams: extra, AuthStyle: c.style()}
	return conf.Token(k.withClient(ctx))
}

// withClient has the library use the keeper's client.
func (k *Keeper) withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, k.posting)
}

func (c *client) style() oauth2.AuthStyle {
	if c.InHeader {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// failure is an authorization server's error response (RFC 6749 5.2).
type failure struct{ code, text string }

// Error shows both, cleaned.
func (f *failure) Error() string {
	if f.text == "" {
		return fmt.Sprintf("the authorization server says %q", f.code)
	}
	return fmt.Sprintf("the authorization server says %q: %s", f.code, f.text)
}

// failed makes an error of the library one that has neither secrets nor a server's text at length.
func (k *Keeper) failed(err error, secrets ...Secret) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok && errors.Is(err, context.Canceled), !ok && errors.Is(err, context.DeadlineExceeded):
		return err
	case !ok:
		if reached := unreached(err); reached != err { //nolint:errorlint // is it another one
			return reached
		}
		return errors.New("the authorization server answers with something else than a token")
	case e.ErrorCode != "":
		return &failure{clean(e.ErrorCode, 64, secrets...), clean(e.ErrorDescription, 200, secrets...)}
	case e.Response != nil:
		return &failure{code: http.StatusText(e.Response.StatusCode)}
	}
	return errors.New("the authorization server returned no token")
}

// readToken checks what the server answered, and makes it a record. asked are the scopes that were
// asked for, which are granted when the server says nothing else (RFC 6749 5.1).
func readToken(tok *oauth2.Token, c *client, asked []string) (*record, error) {
	if !strings.EqualFold(tok.Type(), "Bearer") {
		return nil, fmt.Errorf("the authorization server returned a token of type %q: only Bearer is known",
			clean(tok.TokenType, 32))
	}
	if !isVisible(tok.AccessToken, maxSecret) || !isVisible(tok.RefreshToken, maxSecret) {
		return nil, fmt.Errorf("the authorization server returned a token that cannot be sent: it must "+
			"have at most %d visible characters of ASCII", maxSecret)
	}
	r := &record{Kind: Token, Access: Secret(tok.AccessToken), Refresh: Secret(tok.RefreshToken),
		Expires: tok.Expiry, Scopes: asked, Client: *c}
	if granted, ok := tok.Extra("scope").(string); ok && granted != "" {
		r.Scopes = cleanScopes(granted)
	}
	return r, nil
}
