package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/pagetools/pagetools/bridge/origin"
)

// server is an authorization server, as far as it is known.
type server struct {
	serverMetadata
	issuer   string   // for the key: that of the metadata, or the origin of its endpoints
	resource string   // RFC 8707
	scopes   []string // that the API asks for
	local    bool     // the API is one of this machine
}

// maxServers limits how many authorization servers of an API are asked.
const maxServers = 3

// find finds the authorization server of an API: as the API says, then as its document says. An
// error is not about a server that is not there, but about one that must not be used.
func (k *Keeper) find(ctx context.Context, t Target, o *schemeObject) (*server, error) {
	s := &server{resource: canonical(t.Resource), local: origin.Loopback(t.Resource.Hostname())}
	m, err := k.resourceMetadata(ctx, t, s)
	if err != nil {
		return nil, err
	}
	if m != nil {
		for _, issuer := range m.Servers[:min(len(m.Servers), maxServers)] {
			if err = k.serverOf(ctx, issuer, s); !errors.Is(err, errAbsent) {
				return s, err
			}
		}
	}
	if ok, err := k.named(ctx, t, o, s); ok || err != nil {
		return s, err
	}
	if len(o.Flows) > 0 {
		return s, k.flows(ctx, t, o, s)
	}
	err = k.serverOf(ctx, origin.OfURL(t.Resource), s)
	if errors.Is(err, errAbsent) {
		err = fmt.Errorf("no authorization server was found for %s: neither the API nor its document "+
			"names one", canonical(t.Resource))
	}
	return s, err
}

// resourceMetadata asks the API for its metadata: first where it says itself; nil is none.
func (k *Keeper) resourceMetadata(ctx context.Context, t Target, s *server,
) (*resourceMetadata, error) {
	var places []string
	if res, err := k.get(ctx, t.Resource.String()); err == nil {
		c := readChallenge(res.Header.Values("WWW-Authenticate"))
		_ = res.Body.Close() // nothing of it is read
		s.scopes = c.scopes
		if c.metadata != "" {
			places = append(places, c.metadata)
		}
	}
	root := &url.URL{Scheme: t.Resource.Scheme, Host: t.Resource.Host}
	places = append(places, wellKnown(t.Resource, "oauth-protected-resource"),
		wellKnown(root, "oauth-protected-resource"))
	for _, place := range slices.Compact(places) {
		text, err := k.fetch(ctx, place, s.local)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue // it is not there, or must not be asked: the next one is
		}
		m, err := readResource(text, t.Resource)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.resource = m.Resource
		if len(s.scopes) == 0 {
			s.scopes = m.Scopes
		}
		return m, nil
	}
	return nil, nil //nolint:nilnil // many APIs have none
}

// serverOf reads the metadata of an issuer (RFC 8414, OpenID Connect Discovery).
func (k *Keeper) serverOf(ctx context.Context, issuer string, s *server) error {
	u, err := endpoint("the authorization server", issuer, nil, s.local)
	if err == nil && u.RawQuery != "" {
		err = fmt.Errorf("the authorization server %q has a query, which no issuer has",
			clean(issuer, 200))
	}
	if err != nil {
		return err
	}
	// A trailing slash is the only difference that is forgiven: many servers write it in one place.
	same := func(x string) bool { return trimmed(x) == trimmed(issuer) }
	absent := errAbsent
	for _, place := range placesOf(u) {
		text, err := k.fetch(ctx, place, s.local)
		if err == nil {
			var m *serverMetadata
			if m, err = readServer(text, same); err == nil {
				s.serverMetadata, s.issuer = *m, m.Issuer
				return nil
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, errAbsent) {
			return err
		}
		absent = err
	}
	return absent
}

func trimmed(s string) string {
	if n := len(s); n > 0 && s[n-1] == '/' {
		return s[:n-1]
	}
	return s
}

// named reads the metadata whose address the scheme has: openIdConnectUrl, or oauth2MetadataUrl of
// OpenAPI 3.2. ok is false when it has none.
func (k *Keeper) named(ctx context.Context, t Target, o *schemeObject, s *server,
) (ok bool, err error) {
	ref := cmp.Or(o.OpenIDConnectURL, o.MetadataURL)
	if ref == "" {
		return false, nil
	}
	u, err := endpoint("the metadata of the scheme", ref, t.base(), s.local)
	if err != nil {
		return false, err
	}
	text, err := k.fetch(ctx, u.String(), s.local)
	if err != nil {
		return false, err
	}
	m, err := readServer(text, func(issuer string) bool {
		i, err := readAddress(issuer, nil)
		return err == nil && slices.Contains(placesOf(i), u.String())
	})
	if err != nil {
		return false, fmt.Errorf("%s: %w", u, err)
	}
	s.serverMetadata, s.issuer = *m, m.Issuer
	if o.Type == "openIdConnect" && len(s.scopes) == 0 {
		s.scopes = []string{"openid"} // OpenID Connect Core 3.1.2.1
	}
	return true, nil
}

// flows takes the endpoints of the document's flows. Metadata at their origin completes them when
// it says the same.
func (k *Keeper) flows(ctx context.Context, t Target, o *schemeObject, s *server) error {
	var m serverMetadata
	for _, name := range []string{flowCode, flowDevice, flowClient} {
		f, ok := o.Flows[name]
		if !ok {
			continue
		}
		parts := map[*string]string{&m.Authorize: f.AuthorizationURL, &m.Token: f.TokenURL,
			&m.Device: f.DeviceURL}
		for what, part := range parts {
			if part == "" || *what != "" {
				continue
			}
			u, err := endpoint("the flow "+name, part, t.base(), s.local)
			if err != nil {
				return err
			}
			*what = u.String()
		}
	}
	if m.Token == "" {
		return errors.New("the scheme has no flow with a tokenUrl that can be used: authorizationCode, " +
			"deviceAuthorization and clientCredentials can")
	}
	for _, address := range []string{m.Token, m.Authorize} {
		full := server{local: s.local}
		if k.serverOf(ctx, origin.Of(address), &full) != nil {
			continue
		}
		if m.Authorize != "" && full.Authorize != m.Authorize {
			continue
		}
		switch {
		case full.Token == m.Token:
			s.serverMetadata, s.issuer = full.serverMetadata, full.issuer
			return nil
		case address == m.Authorize && !origin.Same(full.Token, m.Token): // RFC 9700 4.4
			return fmt.Errorf("the document sends the codes of %s to %s, which is not where that server takes "+
				"them: the login is refused", origin.Of(m.Authorize), origin.Of(m.Token))
		}
	}
	s.serverMetadata, s.issuer = m, origin.Of(m.Token)
	return nil
}
