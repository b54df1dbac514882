package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// What an issuer publishes: how long it may take, how large it may be.
const (
	fetchTime = 5 * time.Second
	fetchSize = 1 << 20
)

// document describes an issuer, as it does itself (OpenID Connect Discovery 1.0, RFC 8414).
type document struct {
	Issuer        string `json:"issuer"`
	Keys          string `json:"jwks_uri"`
	Introspection string `json:"introspection_endpoint"`
}

// discover reads the document of an issuer, at either of the places that it may have.
func discover(ctx context.Context, c *http.Client, issuer string) (*document, error) {
	var errs []error
	for _, at := range placesOf(issuer) {
		d := &document{}
		err := fetch(ctx, c, issuer, at, d)
		switch {
		case err != nil:
			errs = append(errs, err)
		case d.Issuer != issuer:
			errs = append(errs, fmt.Errorf("%s says that it is of %q", at, d.Issuer))
		default:
			return d, nil
		}
	}
	return nil, errors.Join(errs...)
}

// placesOf lists where the document of an issuer can be.
func placesOf(issuer string) []string {
	whole := strings.TrimSuffix(issuer, "/")
	start := strings.Index(whole, "://") + len("://")
	host, path, below := strings.Cut(whole[start:], "/")
	if below {
		path = "/" + path
	}
	return []string{
		whole + "/.well-known/openid-configuration",
		whole[:start] + host + "/.well-known/oauth-authorization-server" + path,
	}
}

// fetch reads JSON from an address that an issuer names.
func fetch(ctx context.Context, c *http.Client, issuer, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	return exchange(c, issuer, req, into)
}

// introspect asks an issuer about a token (RFC 7662).
func introspect(ctx context.Context, c *http.Client, at string, i *Issuer, token string, into any) error {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(i.ClientID), url.QueryEscape(i.ClientSecret))
	return exchange(c, i.URL, req, into)
}

var errTooLarge = errors.New("the reply is too large")

// exchange sends a request to an address that an issuer names: with https, or on this machine where
// the issuer itself is there, as the operator named it.
func exchange(c *http.Client, issuer string, req *http.Request, into any) error {
	if at := req.URL; at.Scheme != "https" && !origin.Same(issuer, at.String()) {
		return fmt.Errorf("%s is not https", at.Redacted())
	}
	own := *c
	own.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if len(via) > 3 || !origin.SameURL(next.URL, via[0].URL) || next.Method != http.MethodGet {
			return fmt.Errorf("%s redirects elsewhere", via[0].URL.Redacted())
		}
		return nil
	}
	req.Header.Set("Accept", "application/json")
	res, err := own.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, fetchSize+1))
	switch {
	case err != nil:
		return err
	case len(body) > fetchSize:
		return errTooLarge
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s", req.URL.Redacted(), res.Status)
	}
	return json.Unmarshal(body, into)
}
