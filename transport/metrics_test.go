package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// measured serves metrics of one site to two callers.
func measured(t *testing.T) (*transport.Metrics, running) {
	t.Helper()
	m := transport.NewMetrics([]bridge.Site{{Name: "shop"}}, func() transport.Load {
		return transport.Load{Down: map[string]bool{"shop": true}, Questions: 3, Pages: 2, Spares: 1, Queued: 4, Opened: 7, Failed: 6, Refused: 5, Endpoints: map[string]string{"pool": "down"}, Browsers: transport.Browsers{Started: 5, Failed: 6, Ended: 7, Silent: 8}}
	})
	return m, serve(t, transport.NewMux(m.Routes(nil)...), transport.Options{Metrics: m, Callers: []transport.Credential{
		{Caller: bridge.Caller{Name: "all"}, Token: "all-sites"}, {Caller: bridge.Caller{Name: "some", Sites: []string{"shop"}}, Token: "some-sites"}}})
}

func (s running) scrape(t *testing.T) string {
	t.Helper()
	got := s.get(t, "/metrics", "Authorization: Bearer all-sites")
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", got.StatusCode, got.Header)
	}
	return got.body
}

// TestMetrics: calls are counted by site, outcome and code, requests by status,
// and what is now is told.
func TestMetrics(t *testing.T) {
	m, s := measured(t)
	log(m, bridge.CallRecord{Site: "shop", Tool: "buy", Outcome: "ok", Took: 3 * time.Millisecond})
	log(m, bridge.CallRecord{Site: "shop", Tool: "buy", Outcome: "failed", Code: "TOOL_ERROR", Took: 301 * time.Second, Waited: 300 * time.Second})
	s.get(t, "/nowhere", "Authorization: Bearer all-sites")
	text := s.scrape(t)
	for _, want := range []string{
		`pagetools_calls_total{code="",outcome="ok",site="shop"} 1`, `pagetools_calls_total{code="TOOL_ERROR",outcome="failed",site="shop"} 1`,
		`pagetools_call_duration_seconds_bucket{site="shop",le="0.005"} 1`, `pagetools_call_duration_seconds_count{site="shop"} 2`, `pagetools_call_duration_seconds_sum{site="shop"} 1.003`,
		`pagetools_call_waited_seconds_count{site="shop"} 1`, `pagetools_call_waited_seconds_sum{site="shop"} 300`,
		`pagetools_http_requests_total{status="404"} 1`, "pagetools_questions_open 3", "pagetools_pages_held 2", "pagetools_pages_spare 1", "pagetools_calls_queued 4",
		"go_goroutines ", `pagetools_page_connections_total{result="opened"} 7`, `pagetools_page_connections_total{result="failed"} 6`,
		`pagetools_page_connections_total{result="refused"} 5`,
		`pagetools_browser_starts_total{outcome="ok"} 5`, `pagetools_browser_starts_total{outcome="failed"} 6`,
		`pagetools_browsers_lost_total{cause="ended"} 7`, `pagetools_browsers_lost_total{cause="silent"} 8`,
		`pagetools_site_up{site="shop"} 0`, `pagetools_browser_endpoints{name="pool",state="down"} 1`, `pagetools_browser_endpoints{name="pool",state="running"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// TestWhoMayScrape: metrics need a credential where there are some, and one for all
// sites.
func TestWhoMayScrape(t *testing.T) {
	_, s := measured(t)
	if got := s.get(t, "/metrics"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a credential: %d", got.StatusCode)
	}
	if got := s.get(t, "/metrics", "Authorization: Bearer some-sites"); got.StatusCode != http.StatusForbidden || strings.Contains(got.body, "go_goroutines") {
		t.Errorf("with one for some sites: %d %s", got.StatusCode, got.body)
	}
	m := transport.NewMetrics(nil, func() transport.Load { return transport.Load{} })
	if got := serve(t, transport.NewMux(m.Routes(nil)...), transport.Options{}).get(t, "/metrics/"); got.StatusCode != http.StatusOK {
		t.Errorf("without callers: %d", got.StatusCode)
	}
}

var seriesOfOurs = regexp.MustCompile(`(?m)^pagetools_[^ ]+`)

// TestMetricsStaySmall (D4): 10,000 tools, callers, sites that are not there and
// paths make no more series than one of each, and none of their names is told. The
// control is another site, which has series of its own.
func TestMetricsStaySmall(t *testing.T) {
	m, s := measured(t)
	count := func() int { return len(seriesOfOurs.FindAllString(s.scrape(t), -1)) }
	log(m, bridge.CallRecord{Site: "shop", Tool: "t", Caller: "c", Outcome: "ok"})
	log(m, bridge.CallRecord{Site: "not there", Tool: "t", Outcome: "not_run", Code: "WEBTOOL_NOT_FOUND"})
	s.get(t, "/nowhere", "Authorization: Bearer all-sites")
	s.scrape(t) // which counts itself
	before := count()
	for i := range 10_000 {
		name := fmt.Sprintf("hostile-%d", i)
		log(m, bridge.CallRecord{Site: "shop", Tool: name, Caller: name, Session: name, Outcome: "ok"})
		log(m, bridge.CallRecord{Site: name, Tool: name, Caller: name, Outcome: "not_run", Code: "WEBTOOL_NOT_FOUND"})
		if i < 100 {
			s.get(t, "/"+name, "Authorization: Bearer all-sites", "Origin: http://"+s.addr)
		}
	}
	if after := count(); after != before {
		t.Errorf("%d series became %d", before, after)
	}
	if strings.Contains(s.scrape(t), "hostile") {
		t.Error("a name of a stranger is in the metrics")
	}
	other := transport.NewMetrics([]bridge.Site{{Name: "a"}, {Name: "b"}}, func() transport.Load { return transport.Load{} })
	served := serve(t, transport.NewMux(other.Routes(nil)...), transport.Options{})
	series := func() int { return strings.Count(served.get(t, "/metrics").body, "pagetools_calls_total{") }
	log(other, bridge.CallRecord{Site: "a", Outcome: "ok"})
	one := series()
	log(other, bridge.CallRecord{Site: "b", Outcome: "ok"})
	if one != 1 || series() != 2 {
		t.Errorf("a second site makes %d series of %d", series(), one)
	}
}

// log counts a call.
func log(m *transport.Metrics, r bridge.CallRecord) {
	_ = m.Counting(nil).Log(context.Background(), r)
}

// TestMetricsOfSitesThatChange: what was counted of a site that stays goes on, and nothing is left of
// one that is gone, however often sites come and go, and while calls end.
func TestMetricsOfSitesThatChange(t *testing.T) {
	m, s := measured(t)
	log(m, bridge.CallRecord{Site: "shop", Outcome: "ok", Waited: time.Second})
	begin := strings.Count(s.scrape(t), "\n")
	var logging sync.WaitGroup
	stop := make(chan struct{})
	logging.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				log(m, bridge.CallRecord{Site: "more", Outcome: "ok", Waited: time.Second})
			}
		}
	})
	for range 50 {
		m.SetSites([]bridge.Site{{Name: "shop"}, {Name: "more"}})
		m.SetSites([]bridge.Site{{Name: "shop"}})
	}
	close(stop)
	logging.Wait()
	text := s.scrape(t)
	if strings.Contains(text, `site="more"`) || !strings.Contains(text, `pagetools_calls_total{code="",outcome="ok",site="shop"} 1`) {
		t.Errorf("after changes: %s", text)
	}
	// Calls of a site that is not served are counted as of no site.
	if got := strings.Count(text, "\n") - strings.Count(text, `site=""`); got > begin+20 {
		t.Errorf("there were %d lines, and are %d", begin, got)
	}
	m.SetSites([]bridge.Site{{Name: "shop"}, {Name: "more"}})
	log(m, bridge.CallRecord{Site: "more", Outcome: "ok"})
	if text := s.scrape(t); !strings.Contains(text, `pagetools_calls_total{code="",outcome="ok",site="more"} 1`) || !strings.Contains(text, `pagetools_site_up{site="more"} 1`) {
		t.Errorf("a site that came back: %s", text)
	}
}
