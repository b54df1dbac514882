package session_test

import (
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestProbeNeedsRecordedPages: the pages of a site that nobody tests cannot be looked at.
func TestProbeNeedsRecordedPages(t *testing.T) {
	t.Parallel()
	engine := sessiontest.NewEngine()
	engine.Handle("https://shop.test/", func(*sessiontest.Document) {})
	m := session.New(session.Options{Engine: engine, Sites: []session.SiteOptions{{
		Site: bridge.Site{Name: "shop", Origin: "https://shop.test"}, URL: "https://shop.test/",
		WaitFor: session.WaitFor{Quiet: 1},
	}}})
	defer func() { _ = m.Close() }()
	for _, ref := range []bridge.Ref{
		{Site: "shop", Caller: bridge.Local()}, {Site: "shop", Session: "one", Caller: bridge.Local()},
	} {
		_, err := m.Probe(t.Context(), ref)
		if e := bridge.AsError(err); e.Code != bridge.ConfigError || !strings.Contains(e.Message, `"shop" are not recorded`) {
			t.Errorf("the page of session %q: %v", ref.Session, err)
		}
	}
	if _, err := m.Probe(t.Context(), bridge.Ref{Site: "nowhere"}); bridge.AsError(err).Code != bridge.WebtoolNotFound {
		t.Errorf("an unknown site: %v", err)
	}
}
