package session

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// arrival limits how long a document that was committed may take to be reported. A fragment
// of the document that is there brings none.
const arrival = 2 * time.Second

var _ bridge.Opener = (*lease)(nil)

// Open sends the session's page to the start of its site, or to the path that page names.
// It keeps cookies and storage. It returns once the page counts as opened.
func (l *lease) Open(ctx context.Context, page string) error {
	if l.ses == nil || l.opened && page == "" {
		return nil // it is there
	}
	m, s := l.manager, l.ses.site
	o, err := readPageOptions(s, bridge.Ref{Site: s.Name, Caller: l.ses.caller, Page: page})
	if err != nil {
		return err
	}
	address := s.URL
	if o != nil {
		address = o.url
	}
	bounded, cancel := context.WithTimeout(ctx, m.o.Navigation)
	defer cancel()
	before := l.view.Load().document
	if err := l.lost(); err != nil {
		return err
	}
	if err := l.tab.Load(bounded, address); err != nil {
		e := bridge.AsError(err)
		l.reported = l.isDead() || e.Reason == bridge.PageCrashed || e.Reason == bridge.BrowserLost
		return m.notLoaded(ctx, bounded, err)
	}
	arriving, end := context.WithTimeout(bounded, arrival)
	defer end()
	_, _ = l.await(arriving, func(v *view) bool { return v.document != before })
	switch v, err := l.Page.opened(bounded); {
	case err == nil:
		return nil
	case v == nil: // it died
		return notRun(bridge.AsError(err))
	}
	return waitEnded(bounded)
}
