package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/har"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// shop is a page whose tools ask its backend.
const shop = `<!doctype html><title>Shop</title><script>
const ask = async (path, body) => {
  const r = await fetch(path, body && {method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}});
  return {content: [{type: 'text', text: await r.text()}]};
};
const tool = (name, execute) => document.modelContext.registerTool({name, description: 'Asks the backend of the shop.',
  inputSchema: {type: 'object', properties: {item: {type: 'string'}}}, execute});
tool('next', () => ask('/api/next#part'));
tool('add', ({item}) => ask('/api/add', {item}));
tool('moved', () => ask('/api/moved'));
tool('other', () => ask('/api/other').catch((e) => ({content: [{type: 'text', text: String(e)}]})));
</script>`

// backend serves it.
func backend(t *testing.T) *httptest.Server {
	t.Helper()
	var next atomic.Int64
	mux := http.NewServeMux()
	reply := func(path string, f http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "very-secret"})
			f(w, r)
		})
	}
	reply("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, shop) })
	reply("/api/next", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "number ", next.Add(1)) })
	reply("/api/add", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s \xff\x00", r.Method, body)
	})
	reply("/api/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/api/new", http.StatusFound)
	})
	reply("/api/new", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here it is") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

const shopCases = `via: %s
cases:
  - name: counts
    steps:
      - {call: next, expect: {content: [{text: number 1}]}}
      - {call: next, expect: {content: [{text: number 2}]}}
  - name: adds
    steps:
      - {call: add, with: {item: %s}, expect: {content: [{text: {$contains: "POST {\"item\":\"rye\"}"}}]}}
      - {call: moved, expect: {content: [{text: here it is}]}}
`

// network is the file of the shop, in a folder, with a network.
func network(t *testing.T, folder, site, network, via, item string) *scenario.File {
	t.Helper()
	text := fmt.Sprintf("site: {url: %s, network: {%s: shop.har}}\n"+shopCases, site, network, via, item)
	f, err := scenario.Read(filepath.Join(folder, "shop.webtool.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func runNetwork(ctx context.Context, f *scenario.File, o run.Options) (*report.Run, error) {
	o.Open, o.Version = open, "1.2.3"
	o.Recorded = func(name string, text []byte) error { return os.WriteFile(name, text, 0o600) }
	return run.Files(ctx, []*scenario.File{f}, o)
}

// TestNetwork: a site is recorded, and runs without its backend through its doors; what the
// recording lacks fails by name.
func TestNetwork(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := backend(t)
	site := server.URL + "/"
	done, err := runNetwork(t.Context(), network(t, folder, site, "record", "page", "rye"), run.Options{})
	if err != nil || !strings.Contains(transcript(done), "adds (page): passed\nnote: shop.har was recorded") {
		t.Fatalf("it was recorded so: %v\n%s", err, transcript(done))
	}
	text, err := os.ReadFile(filepath.Join(folder, "shop.har"))
	if err != nil || strings.Contains(string(text), "very-secret") {
		t.Fatalf("the recording: %v\n%s", err, text)
	}
	if f, err := har.Read(text); err != nil || len(f.Log.Pages) != 2 || len(f.Log.Entries) != 6 {
		t.Fatalf("the recording: %v\n%s", err, text)
	}

	server.Close()
	via := fmt.Sprintf("%q", doors())
	replay := network(t, folder, site, "replay", strings.ReplaceAll(via, `" "`, `", "`), "rye")
	replay.Cases = append(replay.Cases, network(t, folder, site, "replay", "page", "wheat").Cases[1])
	replay.Cases[2].Name = "adds another"
	done, err = runNetwork(t.Context(), replay, run.Options{})
	got := transcript(done)
	if want := "adds another (page): failed\n    10: call add: the recording shop.har lacks POST " +
		"http://SITE/api/add with this body of 16 bytes: record it again, with site: {network: {record: " +
		"shop.har}}; "; err != nil || strings.Count(got, ": passed") != 2*len(doors()) || !strings.Contains(got, want) {
		t.Errorf("it was replayed so: %v\n%s", err, got)
	}
}

// TestNetworkLacks: a page that handles a request that failed still fails the case; a recording of
// some of the cases, or of those that fail, is not written; and one that cannot be read is named.
func TestNetworkLacks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := backend(t)
	site := server.URL + "/"
	part, err := runNetwork(t.Context(), network(t, folder, site, "record", "page", "rye"), run.Options{
		Select: scenario.Options{Run: regexp.MustCompile("counts")}})
	if got := transcript(part); err != nil || !strings.Contains(got, "shop.har was not written: 1 of the cases") {
		t.Errorf("some of the cases: %v\n%s", err, got)
	}
	fails := network(t, folder, site, "record", "page", "rye")
	fails.Cases[1].Steps[0].Call = "none"
	bad, err := runNetwork(t.Context(), fails, run.Options{})
	if got := transcript(bad); err != nil || !strings.Contains(got, "shop.har was not written: cases of") {
		t.Errorf("a case fails: %v\n%s", err, got)
	}
	_, err = runNetwork(t.Context(), network(t, folder, site, "replay", "page", "rye"), run.Options{})
	if err == nil || !strings.Contains(err.Error(), `"shop.har" is not there`) {
		t.Errorf("without a recording: %v", err)
	}
	for text, want := range map[string]string{
		"{\"log\":\n {\"entries\": [}}":            "line 2, column 15: it is not JSON",
		`{"log": {"version": "1.2"}}`:              "/log/entries is missing",
		`{"log": {"version": "1.2","entries":[]}}`: "lacks GET http://127.0.0.1:",
	} {
		if err := os.WriteFile(filepath.Join(folder, "shop.har"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := runNetwork(t.Context(), network(t, folder, site, "replay", "page", "rye"), run.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the recording %s: %v", text, err)
		}
	}

	handled := fmt.Sprintf("site: {url: %s, network: {%%s: shop.har}}\nvia: page\n"+
		"cases: [{name: x, steps: [{call: %%s}]}]", site)
	for _, c := range [][3]string{{"record", "moved", "passed"},
		{"replay", "other", "failed\n    1: network: the recording shop.har lacks GET http://SITE/api/other: record it again"}} {
		f, err := scenario.Read(filepath.Join(folder, "x.webtool.yaml"), fmt.Appendf(nil, handled, c[0], c[1]))
		if err != nil {
			t.Fatal(err)
		}
		done, err := runNetwork(t.Context(), f, run.Options{})
		if got := transcript(done); err != nil || !strings.HasPrefix(got, "x (page): "+c[2]) {
			t.Errorf("%s %s: %v\n%s", c[0], c[1], err, got)
		}
	}
}

// openLocal is open for pages that reach other servers of this machine.
func openLocal(ctx context.Context, t *app.Target, complete func(*app.Options)) (*app.App, error) {
	return open(ctx, t, func(o *app.Options) {
		complete(o)
		o.Sites[0].Page.Tab.Reach = &policy.Reach{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	})
}

// TestNetworkOfFolder: a folder is served at another address each time. Its files are not in the
// recording; what its page may read of a backend elsewhere, it may still read.
func TestNetworkOfFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
		fmt.Fprint(w, "POST ", r.URL.Path)
	}))
	t.Cleanup(server.Close)
	page := strings.ReplaceAll(strings.ReplaceAll(shop, "fetch(path", "fetch('"+server.URL+"' + path"),
		"<title>", "<link rel=stylesheet href=style.css><title>")
	for name, text := range map[string]string{"index.html": page, "style.css": "p{}"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(network string) string {
		t.Helper()
		text := fmt.Sprintf("site: {dir: ., network: {%s: net/shop.har}}\nvia: page\ncases:\n"+
			"  - {name: adds, steps: [{call: add, with: {item: rye}, expect: {content: [{text: POST /api/add}]}}]}", network)
		f, err := scenario.Read(filepath.Join(folder, "x.webtool.yaml"), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		done, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{Open: openLocal,
			Recorded: func(name string, text []byte) error {
				return errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600))
			}})
		if err != nil {
			t.Fatal(err)
		}
		return transcript(done)
	}
	if got := run("record"); !strings.HasPrefix(got, "adds (page): passed\n") {
		t.Fatalf("it was recorded so:\n%s", got)
	}
	server.Close()
	text, err := os.ReadFile(filepath.Join(folder, "net", "shop.har"))
	if err != nil || strings.Contains(string(text), "style.css") {
		t.Errorf("the recording has files of the folder: %v\n%s", err, text)
	}
	if got := run("replay"); got != "adds (page): passed\n" {
		t.Errorf("it was replayed so:\n%s\nof\n%s", got, text)
	}
}
