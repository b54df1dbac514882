package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// Options configures a Bridge. The zero value is safe: it asks for consent and
// has the limits of the contract.
type Options struct {
	// Sites holds what the operator wrote for single sites, by name. A site
	// that is missing has the zero SiteOptions.
	Sites map[string]SiteOptions
	// Rates bounds callers, by name, on all sites together. A caller that is
	// missing has no bound.
	Rates map[string]policy.Rate
	// Limits bounds what strangers can do; zero fields mean the contract's.
	Limits Limits
	// Memory is what outlives the process.
	Memory Memory
	// Log gets an intent and an outcome of every call; nil is silent.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// SiteOptions is what the operator decides about one site.
type SiteOptions struct {
	// Approval is the operator's level; its zero value asks.
	Approval policy.Operator
	// Params are parameter defaults that clients may send in config: property
	// schemas by parameter name.
	Params map[string]json.RawMessage
	// Rate bounds the calls of all callers together, and Rates those of single
	// tools. Callers share them equally. The zero values bound nothing.
	Rate  policy.Rate
	Rates []policy.RateRule
	// CallTimeout is how long a call may take; zero means Limits.CallTimeout.
	CallTimeout time.Duration
	// AllowConfig names the keys of config that callers may use to change their
	// page; see PageKeys.
	AllowConfig []string
	// Locked, when it is not nil, names the only tools that are offered, with
	// the digests that ToolDigests gave for them.
	Locked map[string]string
}

// Bridge runs calls. It is safe for concurrent use.
type Bridge struct {
	router Router
	limits Limits
	memory Memory
	log    *slog.Logger
	now    func() time.Time
	rates  *policy.Rates
	sites  map[string]*siteState
	run    handler

	taints     taints
	runs       registry
	watchers   watchers
	life       context.Context //nolint:containedctx // of calls that go on without their callers
	endLife    context.CancelCauseFunc
	background sync.WaitGroup
}

// siteState is what the bridge knows about a site beyond its catalogs.
type siteState struct {
	site             Site
	options          SiteOptions
	configSchema     *schema.Schema
	configSchemaJSON json.RawMessage
	defaultConfig    json.RawMessage
	defaults         settings
	schemaLimits     schema.Limits
	versions         Versions // nil: nothing outlives the process
	clock            func() time.Time

	seen seen

	mu        sync.Mutex
	histories map[string]*history // by action; "" is the site's own webtool
}

// New makes a Bridge over the sites of the router. It fails when an operator's
// parameter default is not a schema.
func New(r Router, o Options) (*Bridge, error) {
	b := &Bridge{router: r, limits: o.Limits.withDefaults(), memory: o.Memory, log: o.Log, now: o.Now, sites: map[string]*siteState{}}
	b.runs = newRegistry()
	b.life, b.endLife = context.WithCancelCause(context.Background())
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.now == nil {
		b.now = time.Now
	}
	rates := policy.RatesOptions{Callers: o.Rates, Sites: map[string]policy.SiteRates{}}
	for _, site := range r.Sites() {
		s, err := b.newSiteState(site, o.Sites[site.Name])
		if err != nil {
			return nil, fmt.Errorf("site %s: %w", site.Name, err)
		}
		b.sites[site.Name] = s
		rates.Sites[site.Name] = policy.SiteRates{Rate: s.options.Rate, Tools: s.options.Rates}
	}
	b.rates = policy.NewRates(rates)
	b.run = chain(b.stages(), b.invoke)
	if n, ok := r.(Notifier); ok {
		n.Notify(b.toolsChanged)
	}
	return b, nil
}

func (b *Bridge) newSiteState(site Site, o SiteOptions) (*siteState, error) {
	l := b.limits
	if o.CallTimeout == 0 {
		o.CallTimeout = l.CallTimeout
	}
	o.CallTimeout = min(o.CallTimeout, l.MaxTimeout)
	s := &siteState{site: site, options: o, histories: map[string]*history{}, versions: b.memory.Versions, clock: b.now, schemaLimits: l.Schema}
	var err error
	if s.configSchemaJSON, s.defaultConfig, err = configDocs(o, l); err != nil {
		return nil, err
	}
	if s.configSchema, err = schema.Compile(s.configSchemaJSON, schema.Limits{}); err != nil {
		return nil, fmt.Errorf("config-params: %w", err)
	}
	if err = s.configSchema.Validate(s.defaultConfig); err != nil {
		return nil, fmt.Errorf("config-params: a default does not fit its own schema: %w", err)
	}
	s.defaults, err = s.decodeSettings(s.defaultConfig, Caller{})
	return s, err
}

// history gives the history of a webtool: of the site's own (action ""), or of one
// of its tools. One that was not observed yet is made anew each time.
func (s *siteState) history(action string) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.histories[action]; h != nil {
		return h
	}
	return s.newHistory(action)
}

func (s *siteState) newHistory(action string) *history {
	webtool := s.site.Name
	if action != "" {
		webtool += "/" + action // a site's name has no slash
	}
	return &history{webtool: webtool, store: s.versions, clock: s.clock}
}

// maxHistories bounds the webtools that a page can make us remember by inventing
// names. Beyond it only those of its present tools are kept.
const maxHistories = 2048

// observe makes the catalog current: for the site's own webtool, and for the
// webtool of every tool in it and of every tool that was in one before. It gives
// the document of one of them, nil when that does not exist in this catalog.
func (s *siteState) observe(ctx context.Context, c *Catalog, wanted string) (*Document, error) {
	if now := s.history(wanted).now.Load(); now != nil && now.catalog == c {
		return now.document, nil
	}
	s.mu.Lock()
	for _, name := range append(c.names(), "") {
		if s.histories[name] == nil {
			s.histories[name] = s.newHistory(name)
		}
	}
	if len(s.histories) > maxHistories {
		maps.DeleteFunc(s.histories, func(name string, _ *history) bool { return name != "" && c.byName[name] == nil })
	}
	all := maps.Clone(s.histories)
	s.mu.Unlock()
	var found *Document
	for action, h := range all {
		d, err := h.observe(ctx, c, func() *Document {
			name, description, tools := s.describe(c, action)
			if tools == nil {
				return nil
			}
			return draft(name, description, tools, s)
		})
		if err != nil {
			return nil, err
		}
		if action == wanted {
			found = d
		}
	}
	return found, nil
}

func (c *Catalog) names() []string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.name
	}
	return names
}

// siteFor finds a site that the caller may know of.
func (b *Bridge) siteFor(name string, c Caller) (*siteState, error) {
	s := b.sites[name]
	if s == nil || !c.Sees(name) {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no webtool %q here.", printable(name))
	}
	return s, nil
}

// Sites lists the sites that the caller may know of.
func (b *Bridge) Sites(c Caller) []Site {
	var out []Site
	for _, s := range b.router.Sites() {
		if c.Sees(s.Name) {
			out = append(out, s)
		}
	}
	return out
}
