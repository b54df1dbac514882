package transport

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pagetools/pagetools/bridge"
)

// Load says how busy the process is now.
type Load struct {
	// Questions are open. Pages are held by calls and sessions, Spares stand by,
	// and Queued calls wait for a page.
	Questions, Pages, Spares, Queued int
	// Files that pages saved in calls are kept for their callers, and have so many Bytes.
	Files int
	Bytes int64
	// Opened, Failed and Refused are connections that pages wanted, since the start.
	Opened, Failed, Refused int
	Browsers                Browsers
	// Endpoints have the state of each browser that has a name, as bridge.BrowserState.
	Endpoints map[string]string
	// Down are the sites that cannot be reached, and are left alone for now.
	Down map[string]bool
}

// Browsers counts the browsers that were started, could not be started, and were lost: because
// they ended, or fell silent. They only grow.
type Browsers struct{ Started, Failed, Ended, Silent int }

// Metrics counts calls and requests, and serves the counts in the text format of
// Prometheus. Its labels have few values, whatever pages and callers do: sites of
// the operator, codes and outcomes of the contract, and status codes; never the
// names of tools, callers or origins (security reference, D4). It is safe for
// concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	load     func() Load
	mu       sync.RWMutex
	sites    map[string]prometheus.Collector // by name, what says whether it is up
	calls    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	waited   *prometheus.HistogramVec
	requests *prometheus.CounterVec
}

// callBuckets are seconds: from a call that does nothing to the longest there may
// be.
var callBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
	300}

// waitBuckets are seconds: from an answer at once to five questions of five minutes.
var waitBuckets = []float64{1, 2.5, 5, 10, 30, 60, 150, 300, 600, 1500}

// NewMetrics makes the metrics of these sites. load is called for each scrape, and
// must not block.
func NewMetrics(sites []bridge.Site, load func() Load) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), load: load,
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pagetools_calls_total",
			Help: "Calls of tools that ended, by site, outcome (ok, failed, not_run, unknown) and code of the error. A site that is not served here is empty."},
			[]string{"site", "outcome", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pagetools_call_duration_seconds", Buckets: callBuckets,
			Help: "How long calls took, without the waiting for persons."}, []string{"site"}),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pagetools_call_waited_seconds", Buckets: waitBuckets,
			Help: "How long calls waited for persons, of those that did."}, []string{"site"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pagetools_http_requests_total",
			Help: "HTTP requests that were answered, by status. 499 is a client that gave up."}, []string{"status"})}
	m.SetSites(sites)
	gauge := func(name, help string, value func(Load) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(load())) })
	}
	counter := func(name, label, value, help string, of func(Browsers) int) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help,
			ConstLabels: prometheus.Labels{label: value}},
			func() float64 { return float64(of(load().Browsers)) })
	}
	const starts, lost = "Starts of browsers, by outcome (ok, failed).",
		"Browsers that were lost, by cause (ended, silent). Those that pagetools ends itself do not count."
	m.registry.MustRegister(
		counter("pagetools_browser_starts_total", "outcome", "ok", starts,
			func(b Browsers) int { return b.Started }),
		counter("pagetools_browser_starts_total", "outcome", "failed", starts,
			func(b Browsers) int { return b.Failed }),
		counter("pagetools_browsers_lost_total", "cause", "ended", lost,
			func(b Browsers) int { return b.Ended }),
		counter("pagetools_browsers_lost_total", "cause", "silent", lost,
			func(b Browsers) int { return b.Silent }))
	m.registry.MustRegister(endpointStates(load))
	m.registry.MustRegister(m.calls, m.took, m.waited, m.requests, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("pagetools_questions_open", "Calls that wait for a person.",
			func(l Load) int { return l.Questions }),
		gauge("pagetools_pages_held", "Pages that calls and sessions hold.",
			func(l Load) int { return l.Pages }),
		gauge("pagetools_pages_spare", "Pages that stand by for calls.",
			func(l Load) int { return l.Spares }),
		gauge("pagetools_calls_queued", "Calls that wait for a page.",
			func(l Load) int { return l.Queued }),
		gauge("pagetools_files_kept", "Files that pages saved in calls, and that are kept for the callers.",
			func(l Load) int { return l.Files }),
		gauge("pagetools_files_bytes", "The bytes of these files.",
			func(l Load) int { return int(l.Bytes) }))
	for result, value := range map[string]func(Load) int{
		"opened":  func(l Load) int { return l.Opened },
		"failed":  func(l Load) int { return l.Failed },
		"refused": func(l Load) int { return l.Refused },
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "pagetools_page_connections_total",
			Help:        "Connections that pages wanted, by what became of them: opened, failed, refused.",
			ConstLabels: prometheus.Labels{"result": result}}, func() float64 { return float64(value(load())) }))
	}
	return m
}

// endpointStates collects the state of each endpoint: 1 for the one that it has.
type endpointStates func() Load

var endpointState = prometheus.NewDesc("pagetools_browser_endpoints",
	"Browsers of the key browsers, by name: 1 for the state that each has (running, starting, idle, down).", []string{"name", "state"}, nil)

// Describe implements prometheus.Collector.
func (endpointStates) Describe(all chan<- *prometheus.Desc) { all <- endpointState }

// Collect implements prometheus.Collector.
func (load endpointStates) Collect(all chan<- prometheus.Metric) {
	for name, now := range load().Endpoints {
		for _, state := range []string{"running", "starting", "idle", "down"} {
			value := 0.0
			if state == now {
				value = 1
			}
			all <- prometheus.MustNewConstMetric(endpointState, prometheus.GaugeValue, value, name, state)
		}
	}
}

// SetSites makes these the sites. The counts of one that is not among them any more are dropped, and
// those of the others go on.
func (m *Metrics) SetSites(sites []bridge.Site) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := map[string]prometheus.Collector{}
	for _, s := range sites {
		if now[s.Name] = m.sites[s.Name]; now[s.Name] == nil {
			now[s.Name] = siteUp(s.Name, m.load)
			m.registry.MustRegister(now[s.Name])
		}
	}
	for name, up := range m.sites {
		if now[name] != nil {
			continue
		}
		of := prometheus.Labels{"site": name}
		m.registry.Unregister(up)
		m.calls.DeletePartialMatch(of)
		m.took.Delete(of)
		m.waited.Delete(of)
	}
	m.sites = now
}

// siteUp says whether a site can be reached.
func siteUp(name string, load func() Load) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pagetools_site_up",
		Help:        "1 for a site that can be reached, 0 for one that cannot, and is left alone for now.",
		ConstLabels: prometheus.Labels{"site": name}}, func() float64 {
		if load().Down[name] {
			return 0
		}
		return 1
	})
}

// Counting returns a log of calls that counts them and passes them on to next, which
// may be nil.
func (m *Metrics) Counting(next bridge.Calls) bridge.Calls { return counting{m, next} }

type counting struct {
	metrics *Metrics
	next    bridge.Calls
}

// Log counts a call and passes it on.
func (c counting) Log(ctx context.Context, r bridge.CallRecord) error {
	c.metrics.count(r)
	if c.next == nil {
		return nil
	}
	return c.next.Log(ctx, r)
}

// Calls lists what was passed on.
func (c counting) Calls(ctx context.Context, f bridge.CallFilter) ([]bridge.CallRecord, error) {
	if c.next == nil {
		return nil, nil
	}
	return c.next.Calls(ctx, f)
}

func (m *Metrics) count(r bridge.CallRecord) {
	m.mu.RLock() // none is counted for a site that is being dropped
	defer m.mu.RUnlock()
	site := r.Site
	if m.sites[site] == nil {
		site = "" // what a stranger asked for
	}
	m.calls.WithLabelValues(site, r.Outcome, r.Code).Inc()
	m.took.WithLabelValues(site).Observe((r.Took - r.Waited).Seconds())
	if r.Waited > 0 {
		m.waited.WithLabelValues(site).Observe(r.Waited.Seconds())
	}
}

// request counts a request.
func (m *Metrics) request(status int) { m.requests.WithLabelValues(strconv.Itoa(status)).Inc() }

// Routes returns the route /metrics. A caller that may not know of all sites gets 403.
func (m *Metrics) Routes(log *slog.Logger) []Route {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	scrape := promhttp.HandlerFor(m.registry,
		promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			DisableCompression: true})
	return []Route{Get("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if c := CallerOf(r.Context()); c.Name == "" || c.Sites != nil {
			WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
				"Metrics are of all sites, and this credential is for some."))
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		scrape.ServeHTTP(w, r)
	})}
}
