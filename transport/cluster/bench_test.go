package cluster_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// BenchmarkHop makes a call at its home without a cluster, at its home as its entry, and through
// another node, in turns, and prints how much longer the last two take ("entry", "hop"). The tool
// answers at once: a page's takes longer, so these are the largest ratios.
func BenchmarkHop(b *testing.B) {
	m := newMembers(b)
	a, home := m.start("a", nil), m.start("b", nil)
	m.put("s", home, 1)
	kept := &http.Client{Transport: &http.Transport{}, Timeout: hang}
	defer kept.CloseIdleConnections()
	call := func(url string) time.Duration {
		began := time.Now()
		r := request(b, url, agentToken, http.MethodPost, "/webtools/shop", strings.Replace(inSession, `{}`, `{"a":"`+strings.Repeat("x", 200)+`"}`, 1))
		resp, err := kept.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status)
		}
		return time.Since(began)
	}
	var of [3]time.Duration
	for range b.N {
		for i, url := range []string{home.alone, home.url, a.url} {
			of[i] += call(url)
		}
	}
	b.ReportMetric(of[1].Seconds()/of[0].Seconds(), "entry")
	b.ReportMetric(of[2].Seconds()/of[0].Seconds(), "hop")
	b.ReportMetric(float64((of[2]-of[0]).Microseconds())/float64(b.N), "µs/hop")
}
