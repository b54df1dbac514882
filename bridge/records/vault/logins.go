package vault

import (
	"context"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Logins keeps who is logged in at the operators' page, for all nodes, in one box. Safe for concurrent use.
type Logins struct{ vault }

var _ bridge.Logins = (*Logins)(nil)

// NewLogins returns the logins at the operators' page of the cluster.
func NewLogins(o Options) *Logins { return &Logins{vault{o}} }

// keptLogin is a login with the digest of its token.
type keptLogin struct {
	bridge.Login

	Digest string
}

func (x keptLogin) isOver(now time.Time) bool {
	return !now.Before(x.Until) || now.Sub(x.Used) >= bridge.LoginIdle
}

func (l *Logins) key() string { return "l." + l.o.Name("operators") }

// Begin implements bridge.Logins.
func (l *Logins) Begin(ctx context.Context, login bridge.Login, token bridge.Digest) error {
	login.Since, login.Until = login.Since.UTC().Round(0), login.Until.UTC().Round(0)
	login.Used = login.Since
	return change(ctx, l.vault, l.key(), "keeping a login", func(all []keptLogin) ([]keptLogin, error) {
		if slices.ContainsFunc(all, func(x keptLogin) bool { return x.ID == login.ID }) {
			return all, nil // by a try before, whose answer was lost
		}
		now := time.Now()
		all = slices.DeleteFunc(all, func(x keptLogin) bool { return x.isOver(now) })
		for len(all) >= bridge.MaxLogins {
			least := slices.IndexFunc(all, func(x keptLogin) bool {
				return !slices.ContainsFunc(all, func(other keptLogin) bool { return other.Used.Before(x.Used) })
			})
			all = slices.Delete(all, least, least+1)
		}
		return append(all, keptLogin{login, textOf(token)}), nil
	})
}

// one returns a login that is not over, and notes that it was used, once a minute: else this only reads.
func (l *Logins) one(ctx context.Context, is func(keptLogin) bool) (found bridge.Login, err error) {
	err = change(ctx, l.vault, l.key(), "looking for a login", func(all []keptLogin) ([]keptLogin, error) {
		found = bridge.Login{}
		now := time.Now().UTC().Round(0)
		i := slices.IndexFunc(all, func(x keptLogin) bool { return is(x) && !x.isOver(now) })
		if i < 0 {
			return all, nil
		}
		if found = all[i].Login; now.Sub(found.Used) >= bridge.TouchAfter {
			all[i].Used = now
		}
		return all, nil
	})
	if err != nil {
		return bridge.Login{}, err
	}
	return found, nil
}

// Find implements bridge.Logins.
func (l *Logins) Find(ctx context.Context, token bridge.Digest) (bridge.Login, error) {
	digest := textOf(token)
	return l.one(ctx, func(x keptLogin) bool { return x.Digest == digest })
}

// Use implements bridge.Logins.
func (l *Logins) Use(ctx context.Context, id string) (bool, error) {
	found, err := l.one(ctx, func(x keptLogin) bool { return x.ID == id })
	return found.ID != "", err
}

// All implements bridge.Logins.
func (l *Logins) All(ctx context.Context) (lives []bridge.Login, err error) {
	all, err := look[keptLogin](ctx, l.vault, l.key(), "listing the logins")
	for _, x := range all {
		if !x.isOver(time.Now()) {
			lives = append(lives, x.Login)
		}
	}
	return lives, err
}

// End implements bridge.Logins.
func (l *Logins) End(ctx context.Context, id string) (gone bool, err error) {
	err = change(ctx, l.vault, l.key(), "removing a login", func(all []keptLogin) ([]keptLogin, error) {
		n := len(all)
		all = slices.DeleteFunc(all, func(x keptLogin) bool { return x.ID == id })
		gone = gone || len(all) < n // an answer that was lost is no second one
		return all, nil
	})
	return gone && err == nil, err
}
