package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/bridge/webtool"
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
	// Bytes counts what strangers make us hold; nil means an account of
	// Limits.TotalBytes.
	Bytes *policy.Account
	// Memory holds the stores that outlive the process.
	Memory Memory
	// Node returns the name of this process among the nodes of a cluster, as it is now: 8 characters,
	// A to Z and 2 to 7. What only this process can go on with begins with it: tokens, and the ids of
	// questions and files. Nil means that there is no cluster.
	Node func() string
	// Holds reports whether this process may still run calls of sessions: no other one can have taken
	// them over. It is asked right before each dispatch, and waits for nothing; nil is always.
	Holds func() bool
	// While returns a context that ends when Holds is false: what is asked before such a call runs does not
	// wait for longer. Whoever has it calls the function. Nil is always.
	While func(ctx context.Context) (context.Context, context.CancelFunc)
	// Lost reports whether the node of that name is known to have ended, with what only it could go on
	// with; nil knows of none.
	Lost func(node string) bool
	// Sessions has the sessions of callers, for operators; nil means that nobody is shown any.
	Sessions Sessions
	// Log gets an intent and an outcome of every call; nil is silent.
	Log *slog.Logger
	// Tracer gets a span of every call and of its steps; nil means none.
	Tracer trace.Tracer
	// Observe gets the calls of all callers as they go on, with arguments and results: it is for
	// who records tests. It must not wait; nil means none.
	Observe func(Observed)
	// Recorder records the pages of calls; nil records none.
	Recorder Recorder
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// SiteOptions holds the operator's decisions about one site.
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
	// CallTimeout limits how long a call may take; zero means Limits.CallTimeout.
	CallTimeout time.Duration
	// AllowConfig names the keys of config that callers may use to change their
	// page; see PageKeys.
	AllowConfig []string
	// StrictOutput refuses a result that does not fit its tool's own outputSchema. Without
	// it such a result is delivered, and the step says so.
	StrictOutput bool
	// Results says what of results callers get; its zero value is all.
	Results policy.Results
	// Locked, when it is not nil, names the only tools that are offered, with
	// the digests that ToolDigests returned for them.
	Locked map[string]string
}

// Bridge runs calls. It is safe for concurrent use.
type Bridge struct {
	pipe  pipeline
	bytes *policy.Account

	runs       registry
	watchers   watchers
	promises   promises
	sessions   Sessions        // nil: none are shown
	files      files           // that pages saved
	life       context.Context //nolint:containedctx // of calls that go on without their callers
	endLife    context.CancelCauseFunc
	background sync.WaitGroup
}

// siteState holds the bridge's state of a site besides its catalogs.
type siteState struct {
	site         Site
	options      SiteOptions
	configSchema *schema.Schema
	config       webtool.Config
	defaults     settings
	schemaLimits schema.Limits
	longest      time.Duration // time of a call, in config.timeout, unless it is detached
	versions     webtool.Store // nil: nothing outlives the process
	clock        func() time.Time
	historyBytes int64                    // that one webtool's history may hold
	minting      func(now time.Time) bool // a version of any webtool
	bytes        *policy.Account

	seen   seen
	unkept unkept
	*past
}

// New makes a Bridge over the sites of the router. It fails when an operator's
// parameter default is not a schema.
func New(r Router, o Options) (*Bridge, error) {
	b := &Bridge{pipe: pipeline{router: r, limits: o.Limits.WithDefaults(), memory: o.Memory,
		log: o.Log, tracer: o.Tracer, observer: o.Observe, recorder: o.Recorder, now: o.Now}}
	b.bytes = cmp.Or(o.Bytes, policy.NewAccount(b.pipe.limits.TotalBytes, nil))
	b.pipe.names = newNames(&b.pipe.memory, &o)
	b.runs = newRegistry(b.pipe.limits.CallerBytes, b.bytes)
	b.files = newFiles(b.pipe.limits.CallerFiles, b.bytes)
	b.life, b.endLife = context.WithCancelCause(context.Background())
	b.pipe.log = cmp.Or(b.pipe.log, slog.New(slog.DiscardHandler))
	if b.pipe.now == nil {
		b.pipe.now = time.Now
	}
	b.pipe.shares.store, b.pipe.shares.log = b.pipe.memory.Rates, b.pipe.log
	b.pipe.taints.store, b.pipe.taints.shared, b.pipe.taints.log = b.pipe.memory.Taints, o.Node != nil, b.pipe.log
	b.pipe.consents = consents{&b.pipe.memory, b.pipe.log, b.pipe.now}
	b.pipe.rates = policy.NewRates(policy.RatesOptions{Callers: o.Rates})
	b.pipe.sites.Store(&siteStates{})
	if err := firstSites(b, o.Sites); err != nil {
		return nil, err
	}
	b.pipe.refusals = policy.NewRates(policy.RatesOptions{Sites: map[string]policy.SiteRates{"": {Rate: refusals}}})
	stages := b.pipe.stages()
	for i := 1; b.pipe.tracer != nil && i < len(stages); i++ { // audit, the first, has that of the call
		stages[i] = b.pipe.traced(stages[i])
	}
	b.pipe.run = chain(stages, b.pipe.invoke)
	if n, ok := r.(Notifier); ok {
		n.Notify(func(site string) { toolsChanged(b, site) })
	}
	if b.sessions = o.Sessions; b.sessions != nil {
		b.sessions.NotifyOf(b.watchers.sessionsChanged)
	}
	return b, nil
}

func newSiteState(b *Bridge, o SiteOptions) (*siteState, error) {
	l := b.pipe.limits
	o.CallTimeout = min(cmp.Or(o.CallTimeout, l.CallTimeout), l.MaxTimeout)
	s := &siteState{options: o, past: &past{histories: map[string]*webtool.History{}},
		versions: b.pipe.memory.Versions, clock: b.pipe.now, schemaLimits: l.Schema, longest: l.MaxTimeout,
		historyBytes: l.HistoryBytes, minting: policy.Burst(siteVersionsAtOnce, siteVersionEvery), bytes: b.bytes}
	var err error
	if s.config.Schema, s.config.Default, err = configDocs(o, l); err != nil {
		return nil, err
	}
	if s.configSchema, err = schema.Compile(s.config.Schema, schema.Limits{}); err != nil {
		return nil, fmt.Errorf("config-params: %w", err)
	}
	if err = s.configSchema.Validate(s.config.Default); err != nil {
		return nil, fmt.Errorf("config-params: a default does not fit its own schema: %w", err)
	}
	s.config = s.config.Sealed()
	s.defaults, err = s.decodeSettings(s.config.Default, Caller{})
	return s, err
}

func (c *Catalog) names() []string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.name
	}
	return names
}

// siteFor finds a site that the caller may know of.
func (pl *pipeline) siteFor(name string, c Caller) (*siteState, error) {
	s := pl.sites.Load().named[name]
	if s == nil || !c.Sees(name) {
		return nil, Errorf(WebtoolNotFound, "", NotRun,
			"There is no webtool %q here; GET /webtools lists those that there are.", text.Brief(name, 64))
	}
	return s, nil
}

// Sites lists the sites that the caller may know of.
func (b *Bridge) Sites(c Caller) []Site {
	var out []Site
	for _, s := range b.pipe.sites.Load().list {
		if c.Sees(s.site.Name) {
			out = append(out, s.site)
		}
	}
	return out
}

// SetRates bounds callers, by name, in place of the rates until now. A caller whose rate
// is unchanged keeps its usage.
func (b *Bridge) SetRates(callers map[string]policy.Rate) { b.pipe.rates.SetCallers(callers) }
