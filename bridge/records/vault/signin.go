package vault

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
)

// maxClientBytes bounds all clients.
const maxClientBytes = 4 << 20

// Clients keeps the clients that registered themselves, for all nodes, in one box. Safe for concurrent use.
type Clients struct{ vault }

var _ bridge.Clients = (*Clients)(nil)

// NewClients returns the clients of the cluster.
func NewClients(o Options) *Clients { return &Clients{vault{o}} }

// keptClient is a client, with when somebody let it in last; zero is never.
type keptClient struct {
	bridge.Client

	LetIn time.Time
}

func (c *Clients) key() string { return "l." + c.o.Name("clients") }

// Register implements bridge.Clients. Besides, all clients have 4 MiB.
func (c *Clients) Register(ctx context.Context, client bridge.Client) error {
	var used map[string]bool // which clients have a connection, where that matters
	return change(ctx, c.vault, c.key(), "keeping a client", func(all []keptClient) ([]keptClient, error) {
		if slices.ContainsFunc(all, func(x keptClient) bool { return x.ID == client.ID }) {
			return all, nil // by a try before, whose answer was lost
		}
		all = slices.DeleteFunc(all, func(x keptClient) bool { return x.isUnused(time.Now()) })
		all = append(all, keptClient{Client: client})
		for clientBytes(all) > maxClientBytes || len(all) > bridge.MaxClients {
			if used == nil {
				var err error
				if used, err = NewConnections(c.o).clients(ctx); err != nil {
					return nil, err
				}
			}
			// One that nobody let in goes before one that somebody did, and none that has a connection.
			least := -1
			for i, x := range all[:len(all)-1] {
				if !used[x.ID] && (least < 0 || x.LetIn.Before(all[least].LetIn)) {
					least = i
				}
			}
			if least < 0 {
				return nil, fact{bridge.ErrTooManyClients}
			}
			all = slices.Delete(all, least, least+1)
		}
		return all, nil
	})
}

func clientBytes(all []keptClient) (n int) {
	for _, x := range all {
		n += len(x.Name)
		for _, to := range x.Redirects {
			n += len(to)
		}
	}
	return n
}

func (x keptClient) isUnused(now time.Time) bool {
	return x.LetIn.IsZero() && now.Sub(x.At) >= bridge.UnusedClient
}

// Client implements bridge.Clients.
func (c *Clients) Client(ctx context.Context, id string) (bridge.Client, bool, error) {
	all, err := look[keptClient](ctx, c.vault, c.key(), "looking for a client")
	for _, x := range all {
		if x.ID == id && !x.isUnused(time.Now()) {
			return x.Client, true, err
		}
	}
	return bridge.Client{}, false, err
}

// letIn notes that somebody let a client in.
func (c *Clients) letIn(ctx context.Context, id string, at time.Time) error {
	return change(ctx, c.vault, c.key(), "keeping a connection", func(all []keptClient) ([]keptClient, error) {
		for i := range all {
			if all[i].ID == id {
				all[i].LetIn = at
			}
		}
		return all, nil
	})
}

// Connections keeps the clients that people let in, for all nodes: a box for each, and a short one for each
// of its secrets, by whose digest it is found. Safe for concurrent use.
type Connections struct{ vault }

var _ bridge.Connections = (*Connections)(nil)

// NewConnections returns the connections of the cluster.
func NewConnections(o Options) *Connections { return &Connections{vault{o}} }

// connection holds a connection with its secrets.
type connection struct {
	bridge.Connection

	Secrets []secret
}

// secret holds a secret. Until is in nanoseconds.
type secret struct {
	Digest string            `json:"d"`
	Kind   bridge.SecretKind `json:"k"`
	Until  int64             `json:"u"`
}

func textOf(d bridge.Digest) string { return base64.RawURLEncoding.EncodeToString(d[:]) }

func secretsOf(all []bridge.Secret) (kept []secret) {
	for _, x := range all {
		kept = append(kept, secret{textOf(x.Digest), x.Kind, x.Until.UnixNano()})
	}
	return kept
}

const connectionsPrefix = "o."

func (s *Connections) keyOf(id string) string { return connectionsPrefix + s.o.Name("connection", id) }

func (s *Connections) secretKey(digest string) string { return "e." + s.o.Name("secret", digest) }

// has reports whether a secret is one of the connection's, and where it is.
func (c *connection) has(digest string) (i int, ok bool) {
	i = slices.IndexFunc(c.Secrets, func(x secret) bool { return x.Digest == digest })
	return i, i >= 0
}

func (c *connection) isOver(now time.Time) bool { return !now.Before(c.Until) }

// readConnection reads the box of a connection; an empty ID says that there is none.
func readConnection(data []byte) (c connection, err error) {
	if len(data) > 0 {
		if err = json.Unmarshal(data, &c); err != nil {
			err = fmt.Errorf("reading a connection: %w", err)
		}
	}
	return c, err
}

// point makes what leads from secrets to their connection.
func (s *Connections) point(ctx context.Context, id string, secrets []secret) error {
	for _, x := range secrets {
		if err := s.update(ctx, s.secretKey(x.Digest), func([]byte) ([]byte, error) { return []byte(id), nil }); err != nil {
			return err
		}
	}
	return nil
}

// unpoint removes it. What stays leads nowhere.
func (s *Connections) unpoint(ctx context.Context, secrets []secret) {
	for _, x := range secrets {
		_ = s.update(ctx, s.secretKey(x.Digest), func([]byte) ([]byte, error) { return nil, nil })
	}
}

// find returns the connection that a secret leads to, and its key.
func (s *Connections) find(ctx context.Context, digest string) (c connection, key string, err error) {
	pointer, err := s.read(ctx, s.secretKey(digest))
	if err != nil || len(pointer.data) == 0 {
		return c, "", err
	}
	key = s.keyOf(string(pointer.data))
	b, err := s.read(ctx, key)
	if err == nil {
		c, err = readConnection(b.data)
	}
	return c, key, err
}

// Open implements bridge.Connections.
func (s *Connections) Open(ctx context.Context, c bridge.Connection, secrets ...bridge.Secret) error {
	c.Used = c.Since
	kept := secretsOf(secrets)
	err := patiently(ctx, "keeping a connection", func(ctx context.Context) error {
		if err := s.point(ctx, c.ID, kept); err != nil {
			return err
		}
		return edit(ctx, s.vault, s.keyOf(c.ID), func(*connection) *connection { return &connection{c, kept} })
	})
	if err == nil {
		err = NewClients(s.o).letIn(ctx, c.Client, c.Since)
	}
	if err != nil {
		return err
	}
	return s.tidy(ctx, c.Person)
}

// tidy removes connections that are over, and of a person those that are too many.
func (s *Connections) tidy(ctx context.Context, person string) error {
	all, err := s.all(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b connection) int { return b.Used.Compare(a.Used) })
	n := 0
	for _, c := range all {
		if c.Person == person && !c.isOver(time.Now()) {
			n++
		}
		if c.isOver(time.Now()) || c.Person == person && n > bridge.MaxConnections {
			if _, err := s.Disconnect(ctx, c.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Find implements bridge.Connections.
func (s *Connections) Find(ctx context.Context, d bridge.Digest) (found bridge.Connection, x bridge.Secret, err error) {
	digest, now := textOf(d), time.Now()
	err = patiently(ctx, "looking for a token", func(ctx context.Context) error {
		found, x = bridge.Connection{}, bridge.Secret{}
		c, key, err := s.find(ctx, digest)
		if err != nil || c.ID == "" || c.isOver(now) {
			return err
		}
		i, ok := c.has(digest)
		if !ok || c.Secrets[i].Until <= now.UnixNano() {
			return nil
		}
		found, x = c.Connection, bridge.Secret{Digest: d, Kind: c.Secrets[i].Kind, Until: time.Unix(0, c.Secrets[i].Until)}
		if x.Kind != bridge.SecretAccess || now.Sub(c.Used) < bridge.TouchAfter {
			return nil
		}
		err = edit(ctx, s.vault, key, func(c *connection) *connection {
			if c != nil { // it was not removed meanwhile
				c.Used = now
			}
			return c
		})
		if errors.Is(err, records.ErrChanged) {
			err = nil // somebody else used it
		}
		return err
	})
	if err != nil {
		return bridge.Connection{}, bridge.Secret{}, err
	}
	return found, x, nil
}

// Renew implements bridge.Connections.
func (s *Connections) Renew(ctx context.Context, old bridge.Digest, until time.Time, secrets ...bridge.Secret) (renewed bool, err error) {
	digest, kept := textOf(old), secretsOf(secrets)
	var gone []secret
	err = patiently(ctx, "renewing a token", func(ctx context.Context) error {
		was, key, err := s.find(ctx, digest)
		renewed = false
		if err != nil || was.ID == "" {
			return err
		}
		if err := s.point(ctx, was.ID, kept); err != nil {
			return err
		}
		return edit(ctx, s.vault, key, func(c *connection) *connection {
			if c != nil {
				renewed, gone = c.renew(digest, until, kept)
			}
			return c
		})
	})
	if err != nil {
		return false, err
	}
	if !renewed {
		gone = kept
	}
	s.unpoint(ctx, gone)
	return renewed, nil
}

// renew spends a refresh token, and adds the next secrets. Those that are too many, or over, are gone.
func (c *connection) renew(digest string, until time.Time, next []secret) (renewed bool, gone []secret) {
	now := time.Now()
	if len(next) > 0 {
		if _, ok := c.has(next[0].Digest); ok {
			return true, nil // by a try before, whose answer was lost
		}
	}
	i, ok := c.has(digest)
	if !ok || c.Secrets[i].Kind != bridge.SecretRefresh || c.Secrets[i].Until <= now.UnixNano() || c.isOver(now) {
		return false, nil
	}
	c.Secrets[i].Kind = bridge.SecretSpent
	c.Secrets = append(c.Secrets, next...)
	c.Used, c.Until = now, until
	most := map[bridge.SecretKind]int{bridge.SecretAccess: bridge.MaxAccess, bridge.SecretSpent: bridge.MaxSpent}
	var left []secret
	for _, x := range slices.Backward(c.Secrets) { // newest first
		n, bounded := most[x.Kind]
		if x.Until <= now.UnixNano() || bounded && n == 0 {
			gone = append(gone, x)
			continue
		}
		most[x.Kind]--
		left = append(left, x)
	}
	slices.Reverse(left)
	c.Secrets = left
	return true, gone
}

// all returns the connections, also those that are over.
func (s *Connections) all(ctx context.Context) (all []connection, err error) {
	err = patiently(ctx, "listing the connections", func(ctx context.Context) error {
		all = nil
		boxes, err := s.list(ctx, connectionsPrefix)
		for _, b := range boxes {
			if err == nil {
				var c connection
				c, err = readConnection(b.data)
				all = append(all, c)
			}
		}
		return err
	})
	slices.SortFunc(all, func(a, b connection) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// clients says which clients have a connection.
func (s *Connections) clients(ctx context.Context) (map[string]bool, error) {
	all, err := s.all(ctx)
	used := map[string]bool{}
	for _, c := range all {
		used[c.Client] = true
	}
	return used, err
}

// All implements bridge.Connections.
func (s *Connections) All(ctx context.Context) (lives []bridge.Connection, err error) {
	all, err := s.all(ctx)
	for _, c := range all {
		if !c.isOver(time.Now()) {
			lives = append(lives, c.Connection)
		}
	}
	return lives, err
}

// Disconnect implements bridge.Connections.
func (s *Connections) Disconnect(ctx context.Context, id string) (there bool, err error) {
	var gone []secret
	err = patiently(ctx, "removing a connection", func(ctx context.Context) error {
		return edit(ctx, s.vault, s.keyOf(id), func(c *connection) *connection {
			if c != nil {
				there, gone = true, c.Secrets
			}
			return nil
		})
	})
	if err != nil {
		return false, err
	}
	s.unpoint(ctx, gone)
	return there, nil
}

// Browsers keeps which browsers are logged in, for all nodes, in one box. Safe for concurrent use.
type Browsers struct{ vault }

var _ bridge.Browsers = (*Browsers)(nil)

// NewBrowsers returns the browsers of the cluster.
func NewBrowsers(o Options) *Browsers { return &Browsers{vault{o}} }

// keptBrowser is a browser that is logged in.
type keptBrowser struct {
	Digest string    `json:"d"`
	Person string    `json:"p"`
	Until  time.Time `json:"u"`
}

func (b *Browsers) key() string { return "l." + b.o.Name("browsers") }

// Remember implements bridge.Browsers.
func (b *Browsers) Remember(ctx context.Context, person string, x bridge.Secret) error {
	one := keptBrowser{textOf(x.Digest), person, x.Until.UTC().Round(0)}
	return change(ctx, b.vault, b.key(), "keeping a login", func(all []keptBrowser) ([]keptBrowser, error) {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
		n := 0
		for i, x := range slices.Backward(all) {
			if x.Person == person {
				n++
			}
			if !time.Now().Before(x.Until) || x.Person == person && n > bridge.MaxBrowsers {
				all = slices.Delete(all, i, i+1)
			}
		}
		return all, nil
	})
}

// Person implements bridge.Browsers.
func (b *Browsers) Person(ctx context.Context, d bridge.Digest) (string, error) {
	all, err := look[keptBrowser](ctx, b.vault, b.key(), "looking for a login")
	for _, x := range all {
		if x.Digest == textOf(d) && time.Now().Before(x.Until) {
			return x.Person, err
		}
	}
	return "", err
}

// Forget implements bridge.Browsers.
func (b *Browsers) Forget(ctx context.Context, d bridge.Digest) error {
	return b.forget(ctx, func(x keptBrowser) bool { return x.Digest == textOf(d) })
}

// ForgetPerson implements bridge.Browsers.
func (b *Browsers) ForgetPerson(ctx context.Context, person string) error {
	return b.forget(ctx, func(x keptBrowser) bool { return x.Person == person })
}

func (b *Browsers) forget(ctx context.Context, is func(keptBrowser) bool) error {
	return change(ctx, b.vault, b.key(), "forgetting a login", func(all []keptBrowser) ([]keptBrowser, error) {
		return slices.DeleteFunc(all, is), nil
	})
}
