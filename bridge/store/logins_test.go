package store

import (
	"testing"

	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func loginsConform(t *testing.T, make func(Options) *Store) {
	now := newClock()
	bridgetest.CheckLogins(t, make(Options{Now: now.now}).Logins, now.now, now.advance)
}
