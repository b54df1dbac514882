package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// Lasting is a browser that outlives the engines over it.
type Lasting struct {
	// Engine makes an engine over the browser, as a process of its own has it, and closes it at the end of the
	// test. An impatient one soon takes a page for hung. It is a session.Reattacher.
	Engine func(t *testing.T, impatient bool) session.Engine
	// Cut ends an engine as the SIGKILL of its process does: the browser is told nothing.
	Cut func(t *testing.T, e session.Engine)
	// Has reports whether the browser has the tab of a handle, by an engine that was not cut.
	Has func(t *testing.T, e session.Engine, handle []byte) bool
	// Stuck says that a page answers nobody when its last owner died while it showed a dialog.
	Stuck bool
}

// lastingSite has a page with state, and tools that go on when their caller has ended. Each document says on
// loads that it came, and `reload` waits for goes.
type lastingSite struct {
	loads, goes chan struct{}
}

func newLastingSite() *lastingSite {
	return &lastingSite{make(chan struct{}, 100), make(chan struct{})}
}

// loaded waits for the next document.
func (s *lastingSite) loaded(t *testing.T) {
	t.Helper()
	select {
	case <-s.loads:
	case <-time.After(patience):
		t.Fatal("no document came")
	}
}

func (s *lastingSite) pages() Pages {
	page := Page{
		HTML: `<script>fetch('/loads')</script><iframe name=inner src=/frame></iframe><script>
			let n = 0, over = 0, free;
			const works = () => tool('at_work', () => 1);
			tool('count', () => ++n); tool('over', () => over); tool('frees', () => { free(); return 1 });
			tool('long', async () => { works(); await new Promise((r) => { free = r }); over++; return 'long' });
			tool('reload', () => { works(); fetch('/goes').then(() => location.reload()); return forever });
			tool('next', () => { setTimeout(() => { location.href = '/next' }, 0); return 1 });
			tool('spins', () => { setTimeout(() => { for (;;); }, 0); return 1 });
			tool('confirm', () => confirm('c'));
			let acted = 0; tool('acted', () => acted);
			tool('act', async (i, c) => { try { await c.requestUserInteraction(() => new Promise(() => {})) } finally { acted++ } });
		</script>`,
		Fake: s.fake,
	}
	return Pages{"/": page, "/next": page, "/frame": {HTML: `<script>tool('framed', () => 'inner')</script>`},
		"/loads": {Handler: func(http.ResponseWriter, *http.Request) { s.loads <- struct{}{} }},
		"/goes": {Handler: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-s.goes:
			case <-r.Context().Done():
			}
		}}}
}

// fake is the page for the fake engine.
func (s *lastingSite) fake(d *Document) {
	n, over, acted, free := 0, 0, 0, make(chan struct{})
	number := func(of func() int) func(*Call) (json.RawMessage, error) {
		return func(*Call) (json.RawMessage, error) { return json.Marshal(of()) }
	}
	works := func(c *Call) { c.Document.Register(Tool{Name: "at_work"}) }
	d.Register(
		Tool{Name: "count", Run: number(func() int { n++; return n })}, Tool{Name: "over", Run: number(func() int { return over })},
		Tool{Name: "frees", Run: number(func() int { free <- struct{}{}; <-free; return 1 })},
		Tool{Name: "long", Run: func(c *Call) (json.RawMessage, error) {
			works(c)
			<-free
			over++
			free <- struct{}{}
			return json.RawMessage(`"long"`), nil
		}},
		Tool{Name: "reload", Run: func(c *Call) (json.RawMessage, error) {
			works(c)
			<-s.goes
			c.Document.Reload()
			<-c.Over()
			return nil, nil
		}},
		Tool{Name: "next", Run: number(func() int { go d.Navigate(d.join("/next")); return 1 })},
		Tool{Name: "spins", Run: number(func() int { d.Hang(); return 1 })},
		Tool{Name: "confirm", Run: func(c *Call) (json.RawMessage, error) {
			a := c.Ask(bridge.Confirm, "c", nil)
			return json.Marshal(a != nil && a.OK)
		}},
		Tool{Name: "acted", Run: number(func() int { return acted })},
		Tool{Name: "act", Run: func(c *Call) (json.RawMessage, error) { c.Ask(bridge.Interact, "", nil); acted++; return nil, nil }})
	d.Frame("inner", "", func(f *Document) {
		f.Register(Tool{Name: "framed", Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(`"inner"`), nil }})
	})
	s.loads <- struct{}{}
}

// owner is a process that has a page of the site.
type owner struct {
	*watched
	engine session.Engine
	over   atomic.Bool // it has not the session any more
	lost   func()      // ends it
}

// handle returns the name by which the next owner attaches.
func (o *owner) handle() []byte { return o.Tab.(session.Detachable).Handle() }

// lastingTest is one test of re-attachment.
type lastingTest struct {
	of      Lasting
	site    *lastingSite
	origin  string
	options session.TabOptions
	// impatient are the engines that follow.
	impatient bool
}

// options returns the options of the tab for an owner.
func (o *owner) options(t *lastingTest, epoch int64) session.TabOptions {
	is := t.options
	is.Owner = session.Owner{Epoch: epoch, Holds: func() bool { return !o.over.Load() }}
	return is
}

// begin shows the page to its first owner.
func (x *lastingTest) begin(t *testing.T) *owner {
	t.Helper()
	o := &owner{engine: x.of.Engine(t, x.impatient)}
	o.watched = openTabWith(t, o.engine, o.options(x, 1))
	o.lost = func() { o.over.Store(true); x.of.Cut(t, o.engine) }
	o.load(x.origin + "/")
	o.loaded()
	o.tool("count")
	o.tool("framed")
	return o
}

// attach makes another process the owner of a page.
func (x *lastingTest) attach(t *testing.T, handle []byte, epoch int64) (*owner, error) {
	t.Helper()
	o := &owner{engine: x.of.Engine(t, x.impatient)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tab, err := o.engine.(session.Reattacher).Attach(ctx, handle, o.options(x, epoch))
	if err != nil {
		return o, err
	}
	o.watched = watch(t, tab)
	o.lost = func() { o.over.Store(true); x.of.Cut(t, o.engine) }
	return o, nil
}

// next is attach for what has to succeed.
func (x *lastingTest) next(t *testing.T, handle []byte, epoch int64) *owner {
	t.Helper()
	o, err := x.attach(t, handle, epoch)
	if err != nil {
		t.Fatalf("Attach: %v", err)
	}
	o.loaded()
	return o
}

// none checks that a page cannot be attached to, and that nothing is left of it.
func (x *lastingTest) none(t *testing.T, why string, handle []byte) {
	t.Helper()
	o, err := x.attach(t, handle, 9)
	if err == nil {
		t.Errorf("%s: it was attached to", why)
		return
	}
	fails(t, err, bridge.InternalError, bridge.BrowserLost, bridge.NotRun)
	if x.of.Has(t, o.engine, handle) {
		t.Errorf("%s: the page is left in the browser", why)
	}
}

// gives checks a result.
func (o *owner) gives(tool, want string) {
	o.t.Helper()
	if got := o.result(tool, "{}"); got != want {
		o.t.Errorf("%s gives %s, want %s", tool, got, want)
	}
}

func testReattach(t *testing.T, h Harness) {
	if h.Lasting == nil {
		t.Skip("its tabs end with it")
	}
	of := h.Lasting(t)
	for name, run := range map[string]func(*testing.T, *lastingTest){
		"state": reattachState, "settings": reattachSettings, "call": reattachCall, "owners": reattachOwners, "dialogs of two": reattachDialogs,
		"in order": reattachInOrder, "gone": reattachGone, "bare": reattachBare, "hung": reattachHung, "dialog": reattachDialog,
		"swept": reattachSwept,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &lastingTest{of: of, site: newLastingSite()}
			e := of.Engine(t, false) // where the fake has its pages
			pages := x.site.pages()
			if name == "settings" {
				pages = settingsPages()
			}
			x.origin = h.Serve(t, e, pages, false)
			x.options.Origin = x.origin
			run(t, x)
		})
	}
}

// reattachState: a page whose owner was killed goes on with its state and its frames, also in its next documents, and
// outlives its next owner, too.
func reattachState(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	first.gives("count", "1")
	handle := first.handle()
	first.lost()
	second := x.next(t, handle, 2)
	second.gives("count", "2")
	second.gives("framed", `"inner"`)
	second.result("next", "{}")
	second.await("the next document", func(all []session.Event) bool {
		return named(tools(all), "framed") != nil && lastURL(all) == x.origin+"/next"
	})
	second.gives("count", "1")
	handle = second.handle()
	second.lost()
	third := x.next(t, handle, 3)
	third.gives("count", "2")
	third.gives("framed", `"inner"`)
	if all, _ := third.told(); lastURL(all) != x.origin+"/next" {
		t.Errorf("it shows %s", lastURL(all))
	}
}

// lastURL returns the address that a tab shows.
func lastURL(all []session.Event) (url string) {
	for _, ev := range all {
		if n, ok := ev.(session.Navigated); ok {
			url = n.URL
		}
	}
	return url
}

// reattachSettings: settings are made again, and what the page has stored stays.
func reattachSettings(t *testing.T, x *lastingTest) {
	x.options.Config = checked(t, x.origin, pageconfig.Settings{UserAgent: "a/1", Locale: "fr-FR", Timezone: "Europe/Paris",
		Headers: map[string]pageconfig.Secret{"X-Env": "blue"}, LocalStorage: map[string]pageconfig.Secret{"item": "given"}})
	first := &owner{engine: x.of.Engine(t, x.impatient)}
	first.watched = openTabWith(t, first.engine, first.options(x, 1))
	first.load(x.origin + "/")
	first.loaded()
	first.result("store", "{}")
	handle := first.handle()
	first.over.Store(true)
	x.of.Cut(t, first.engine)
	second := x.next(t, handle, 2)
	for _, document := range []string{"the document", "the next document"} {
		for tool, want := range map[string]string{"sees": `"fr-FR|Europe/Paris|a/1"`, "sent": `"|blue"`, "stored": `"|stored"`} {
			if got := second.result(tool, "{}"); got != want {
				t.Errorf("%s: %s gives %s, want %s", document, tool, got, want)
			}
		}
		second.load(x.origin + "/")
		second.loaded()
	}
}

// reattachCall: a call that was under way when its owner was killed goes on, and ends once. Its owner does not know
// how, and never that it did not run.
func reattachCall(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	ends := first.begin(t.Context(), "long", "{}")
	first.tool("at_work")
	handle := first.handle()
	first.lost()
	if _, err := ends(); err == nil || bridge.AsError(err).Outcome != bridge.Unknown {
		t.Errorf("the call of an owner that was killed: %v", err)
	}
	second := x.next(t, handle, 2)
	second.gives("over", "0")
	second.gives("frees", "1")
	second.gives("over", "1")
}

// reattachOwners: of two owners at once the one before runs nothing, also not in the next document, answers
// nothing, says of nothing that it began that it did not run, and leaves the page as it is.
func reattachOwners(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	first.gives("count", "1") // the control
	ask := first.begin(t.Context(), "act", "{}")
	asked, _ := ask()
	if asked.Pause == nil {
		t.Fatalf("no question: %+v", asked)
	}
	handle, count := first.handle(), first.invocation("count")
	second := x.next(t, handle, 2)
	refused := func(why string, inv session.Invocation) {
		t.Helper()
		_, err := came(first.Invoke(t.Context(), inv))
		fails(t, err, bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
		second.gives("count", why)
	}
	refused("2", count)
	first.over.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := came(asked.Pause.Continue(ctx, &bridge.Answer{OK: true})); err == nil || bridge.AsError(err).Outcome != bridge.Unknown {
		t.Errorf("a call that was under way: %v", err)
	}
	second.gives("acted", "0")
	refused("3", count)
	second.result("next", "{}")
	for _, o := range []*owner{first, second} {
		o.await("the next document", func(all []session.Event) bool { return lastURL(all) == x.origin+"/next" })
	}
	second.tool("framed")
	second.gives("count", "1")
	refused("2", second.invocation("count"))
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	second.gives("count", "3")
	if _, err := x.attach(t, handle, 1); err == nil {
		t.Error("an owner before the newest attached")
	}
	second.gives("count", "4")
}

// reattachDialogs: an owner before the newest answers no dialog, of its own calls or of others.
func reattachDialogs(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	second := x.next(t, first.handle(), 2)
	first.over.Store(true)
	step, err := second.invoke("confirm", "{}")
	if err != nil || step.Pause == nil {
		t.Fatalf("no question: %+v, %v", step, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answered, err := came(step.Pause.Continue(ctx, &bridge.Answer{OK: true}))
	if err != nil || string(answered.Data) != "true" {
		t.Errorf("its answer was %s, %v", answered.Data, err)
	}
	if all, _ := first.told(); count[session.DialogShown](all) > 0 {
		t.Error("the owner before answered it")
	}
}

// reattachInOrder: an owner that detaches leaves the page as it is, and knows no more of it. A tab without an owner is
// not another process's.
func reattachInOrder(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	first.gives("count", "1")
	handle := first.handle()
	if len(handle) == 0 || len(handle) > 1024 || !json.Valid(handle) {
		t.Errorf("its handle is %s", handle)
	}
	if err := first.Tab.(session.Detachable).Detach(t.Context()); err != nil {
		t.Error(err)
	}
	all := first.await("the end", func(all []session.Event) bool { return count[session.Died](all) > 0 })
	if _, last := all[len(all)-1].(session.Died); !last {
		t.Error("the end is not the last event")
	}
	if _, err := came(first.Invoke(t.Context(), first.invocation("count"))); err == nil || bridge.AsError(err).Outcome != bridge.NotRun {
		t.Errorf("a call after that: %v", err)
	}
	x.next(t, handle, 2).gives("count", "2")
	plain := openTab(t, first.engine)
	if h := plain.Tab.(session.Detachable).Handle(); h != nil {
		t.Errorf("the handle of a tab without an owner is %s", h)
	}
}

// reattachGone: what was closed, and what was never there, is not attached to.
func reattachGone(t *testing.T, x *lastingTest) {
	for _, handle := range []string{"", "{}", "null", `"x"`, strings.Repeat("[", 10_000)} {
		x.none(t, handle, []byte(handle))
	}
	first := x.begin(t)
	handle := first.handle()
	if !x.of.Has(t, first.engine, handle) { // the control
		t.Error("the page is not there")
	}
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	x.none(t, "closed", handle)
	second := x.begin(t)
	handle = second.handle()
	second.lost()
	other := x.of.Engine(t, x.impatient)
	for range 2 {
		if err := other.(session.Reattacher).Dispose(t.Context(), handle); err != nil {
			t.Errorf("Dispose: %v", err)
		}
	}
	x.none(t, "disposed of", handle)
}

// reattachBare: a document that came while no process had the page has no page script. It is not mended.
func reattachBare(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	x.site.loaded(t)
	first.begin(t.Context(), "reload", "{}")
	first.tool("at_work")
	handle := first.handle()
	first.lost()
	close(x.site.goes)
	x.site.loaded(t)
	x.none(t, "a document without the page script", handle)
}

// reattachHung: a page that does not answer is closed.
func reattachHung(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	first.result("spins", "{}")
	x.impatient = true
	handle := first.handle()
	first.lost()
	x.none(t, "a page that spins", handle)
}

// reattachSwept: of pages that outlived their makers those are closed that nobody keeps; others are left alone, and where
// nobody can say what is kept, all are.
func reattachSwept(t *testing.T, x *lastingTest) {
	handles := map[string][]byte{}
	for name, by := range map[string]string{"left": "dead maker", "kept": "dead maker", "living": "living maker", "nobody's": ""} {
		o := &owner{engine: x.of.Engine(t, false)}
		options := o.options(x, 1)
		options.Owner.By = by
		o.watched = openTabWith(t, o.engine, options)
		handles[name] = o.handle()
		o.over.Store(true)
		x.of.Cut(t, o.engine)
	}
	e := x.of.Engine(t, false)
	sweep := func(kept func(context.Context) ([][]byte, error)) (int, error) {
		return e.(session.Reattacher).Sweep(t.Context(), func(_ context.Context, by string) bool { return by == "dead maker" }, kept)
	}
	unknown := errors.New("nobody knows")
	if n, err := sweep(func(context.Context) ([][]byte, error) { return nil, unknown }); n != 0 || !errors.Is(err, unknown) {
		t.Errorf("where nobody knows it closed %d, %v", n, err)
	}
	for i := range 2 {
		n, err := sweep(func(context.Context) ([][]byte, error) { return [][]byte{handles["kept"]}, nil })
		if err != nil || n != 1-i {
			t.Errorf("it closed %d, %v", n, err)
		}
	}
	for name, handle := range handles {
		if is := x.of.Has(t, e, handle); is != (name != "left") {
			t.Errorf("%s: it is there: %v", name, is)
		}
		_ = e.(session.Reattacher).Dispose(t.Context(), handle)
	}
}

// reattachDialog: the page whose last owner was killed while it showed a dialog goes on, with the dialog dismissed, or is
// closed; nothing hangs.
func reattachDialog(t *testing.T, x *lastingTest) {
	first := x.begin(t)
	if step, err := first.invoke("confirm", "{}"); err != nil || step.Pause == nil {
		t.Fatalf("no question: %+v, %v", step, err)
	}
	handle := first.handle()
	first.lost()
	if x.impatient = x.of.Stuck; x.of.Stuck {
		x.none(t, "a page with a dialog", handle)
		return
	}
	x.next(t, handle, 2).gives("count", "1")
}
