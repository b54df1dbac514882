package cdp

import (
	"context"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/probe"
)

var _ session.Recordable = (*tab)(nil)

// Record implements session.Recordable, over a CDP session of its own: what is started in it ends with
// it, and a page that floods it loses nothing else.
func (t *tab) Record(ctx context.Context) (session.Recording, error) {
	r, err := probe.Record(ctx, probe.Options{Conn: t.browser.conn, Browser: t.browser.root, Target: t.target, ID: t.id})
	if err != nil {
		return nil, t.unread(ctx, err, "The page was not recorded in time.", "This page cannot be recorded.")
	}
	return r, nil
}
