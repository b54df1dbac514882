package bridge_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
)

// shopAdapter is the operator's script of a test.
var shopAdapter = bridge.Adapter{Name: "shop", Version: "1.2.0", SHA256: strings.Repeat("1f", 32)}

// TestAdapterAsksAgain (anyone 4.3): consent that is kept is for the file that it was given to, the
// question names the adapter, and so does the audit.
func TestAdapterAsksAgain(t *testing.T) {
	s, _ := kept(t, t.TempDir())
	tool := bridgetest.Asking("write", "")
	tool.Adapter = &shopAdapter
	r := bridgetest.NewRouter().Add("shop", tool)
	b := remembering(t, r, s.Memory, once)
	call := write(`{}`)
	q, _ := parked(t, b, &call, bridge.ApprovalRequired)
	asked := bridgetest.Questions(b, operator)
	if len(asked) != 1 || asked[0].Adapter == nil || *asked[0].Adapter != shopAdapter {
		t.Fatalf("the operator sees %+v", asked)
	}
	said := ""
	for _, fact := range asked[0].Facts() {
		said += fact.Text + "\n"
	}
	if want := "A tool that your adapter shop 1.2.0 adds to site.example\n"; !strings.Contains(said, want) {
		t.Errorf("the facts are %q", said)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true, Always: true}); err != nil {
		t.Fatal(err)
	}
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Errorf("the same file: %v", e)
	}
	for what, other := range map[string]*bridge.Adapter{
		"another file":       {Name: "shop", Version: "1.2.0", SHA256: strings.Repeat("2f", 32)},
		"another version":    {Name: "shop", Version: "1.2.1", SHA256: shopAdapter.SHA256},
		"the page's own one": nil,
	} {
		changed := tool
		changed.Adapter = other
		r.Declare("shop", changed)
		if _, e := do(t, b, "write", `{}`, ""); e == nil || e.Code != bridge.ApprovalRequired {
			t.Errorf("%s: %v", what, e)
		}
	}
	r.Declare("shop", tool)
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Errorf("the file that was agreed to: %v", e)
	}
	records, err := s.Records(t.Context(), bridge.CallFilter{})
	named := func(e store.Entry) bool { return e.Adapter == "shop 1.2.0 sha256:"+shopAdapter.SHA256 }
	if err != nil || !slices.ContainsFunc(records, named) {
		t.Errorf("the audit has %+v, %v", records, err)
	}
}

// TestForgedMark (anyone 4.3): a mark earns nothing. A tool of a frame, or of another origin, that
// has one is asked about as without, whatever it claims.
func TestForgedMark(t *testing.T) {
	reads := json.RawMessage(`{"readOnlyHint":true}`)
	for what, x := range map[string]struct {
		change func(*bridge.Declaration)
		asks   bool
	}{
		"the site's own page":  {func(*bridge.Declaration) {}, false}, // the control
		"a frame":              {func(d *bridge.Declaration) { d.Frame = "0" }, true},
		"another origin":       {func(d *bridge.Declaration) { d.Own, d.Origin = false, "https://evil.example" }, true},
		"a tool without hints": {func(d *bridge.Declaration) { d.Annotations = nil }, true},
	} {
		for mark, by := range map[string]*bridge.Adapter{"marked": &shopAdapter, "not marked": nil} {
			tool := bridgetest.Asking("read", "")
			tool.Annotations, tool.Adapter = reads, by
			x.change(&tool)
			b := open(t, bridgetest.NewRouter().Add("shop", tool), bridge.SiteOptions{})
			_, e := do(t, b, "read", `{}`, "")
			if asks := e != nil && e.Code == bridge.ApprovalRequired; asks != x.asks {
				t.Errorf("%s, %s: %v", what, mark, e)
			}
		}
	}
}

// TestAdapterInDocuments (anyone 4.3): the document of a webtool names the adapter, another file is
// a patch, and a version that was pinned before does not run it.
func TestAdapterInDocuments(t *testing.T) {
	tool := bridgetest.Tool("read", "")
	tool.Adapter = &shopAdapter
	r := bridgetest.NewRouter().Add("shop", tool)
	b := open(t, r, bridge.SiteOptions{})
	ref := bridge.Ref{Site: "shop", Caller: bridge.Local()}
	before, err := b.Webtool(t.Context(), ref, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(before.JSON()), `"adapter":{"name":"shop","version":"1.2.0","sha256":"1f1f`) {
		t.Errorf("the document is %s", before.JSON())
	}
	changed := tool
	changed.Adapter = &bridge.Adapter{Name: "shop", Version: "1.2.0", SHA256: strings.Repeat("2f", 32)}
	r.Declare("shop", changed)
	after, err := b.Webtool(t.Context(), ref, "", "")
	if err != nil || before.Version != "1.0.0" || after.Version != "1.0.1" {
		t.Fatalf("%s, then %+v, %v", before.Version, after, err)
	}
	in, _ := bridge.ReadValue("request", json.RawMessage(`{}`))
	_, e := run(t, b, &bridge.Call{Site: "shop", Tool: "read", Version: "1.0.0", Caller: bridge.Local(), Input: in})
	want(t, e, bridge.VersionMismatch, "", bridge.NotRun)
	_, e = run(t, b, &bridge.Call{Site: "shop", Tool: "read", Version: "1.0.1", Caller: bridge.Local(), Input: in})
	if e != nil && e.Code == bridge.VersionMismatch {
		t.Errorf("the present version: %v", e)
	}
}
