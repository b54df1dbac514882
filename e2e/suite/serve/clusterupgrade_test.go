package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// edit replaces a text of a file of the working tree.
type edit struct{ file, was, is string }

// otherBuild builds the program from the working tree with changes, which are in no file.
func otherBuild(t *testing.T, edits ...edit) string {
	t.Helper()
	root, folder := docs.Root(t), t.TempDir()
	texts := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		if texts[path] == "" {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(content)
		}
		if strings.Count(texts[path], e.was) != 1 {
			t.Fatalf("%s has not %q once", e.file, e.was)
		}
		texts[path] = strings.Replace(texts[path], e.was, e.is, 1)
	}
	replaced := map[string]string{}
	for path, content := range texts {
		replaced[path] = filepath.Join(folder, fmt.Sprint(len(replaced), ".go"))
		if err := os.WriteFile(replaced[path], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "pagetools")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(folder, "overlay.json"), "-o", program, "./cmd/pagetools")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building another program: %v\n%s", err, out)
	}
	return program
}

// named has a build say its name as its version.
func named(name string) edit {
	const begin = "func ownVersion() string {\n"
	return edit{"cmd/pagetools/version.go", begin, begin + "\tif name := \"" + name + "\"; name != \"\" {\n\t\treturn name\n\t}\n"}
}

// writesMore has a build write one member more into each record and each request that it passes on, and read
// it: one that is there must be as this build writes it.
var writesMore = []edit{
	{"bridge/records/records.go", "head := fmt.Appendf(nil, `{\"v\":%d`, version)", "head := fmt.Appendf(nil, `{\"v\":%d,\"more\":7`, version)"},
	{"bridge/records/records.go", "		V int `json:\"v\"`\n", "		V    int  `json:\"v\"`\n		More *int `json:\"more\"`\n"},
	{"bridge/records/records.go", "	if head.V < 1 {\n", "	if head.More != nil && *head.More != 7 {\n		return errors.New(\"reading a record: it has another member\")\n	}\n	if head.V < 1 {\n"},
	{"transport/cluster/hop.go", "attempt=%d; left=%d\",", "attempt=%d; left=%d; more=7\","},
}

// ownBuild returns the version of the program under test, as its nodes say it.
func ownBuild(t *testing.T) string {
	t.Helper()
	var own struct{ Version string }
	out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "version", "--format", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &own)
	}
	if err != nil || own.Version == "" {
		t.Fatalf("version: %v\n%s", err, out)
	}
	return own.Version
}

// buildsAre checks the builds in cluster status, and the exit code.
func buildsAre(t *testing.T, n *node, a, b, warning string) {
	t.Helper()
	var status struct {
		Nodes    []struct{ Name, State, Build string }
		Warnings []string
	}
	said := ""
	var out []byte
	if !suite.Within(suite.ReplyWithin, func() bool {
		out, _ = exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--json", "--data-dir", n.data).Output()
		if json.Unmarshal(out, &status) != nil || len(status.Nodes) != 2 {
			return false
		}
		said = strings.Join(status.Warnings, "\n")
		return status.Nodes[0].Build == a && status.Nodes[1].Build == b && strings.Contains(said, warning)
	}) {
		t.Errorf("the builds are not %s and %s, with %q:\n%s", a, b, warning, out)
	}
}

// TestUpgrade: nodes are replaced one after the other by those of a build that writes more and reads it, while
// calls are in flight: none is lost, and what the builds know of each other's sessions, keys and versions
// goes on. By day, one node is.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	newer, older := otherBuild(t, append(writesMore, named("newer"))...), suite.Pagetools(t)
	c := newNodes(t)
	c.args = []string{"--drain-time", "4s"}
	shop, visited := pageOf(t, draining)
	starts := func(name, program string) *node {
		t.Helper()
		return c.start(t, name, clusterCallers, func(_, dir, tmp string, args ...string) (*suite.Server, error) {
			return suite.Start(program, dir, tmp, args...)
		}, "shop="+shop)
	}
	keyed := func(n *node, key string) suite.Reply {
		t.Helper()
		return n.In(t.Context(), suite.AgentToken, http.MethodPost, n.URL+"/webtools/shop", `{"action":"inc","request":{}}`, "Idempotency-Key", key)
	}
	one, two := starts("a", older), starts("b", older)
	is := ownBuild(t)
	buildsAre(t, two, is, is, "")
	first, version := keyed(one, "key-of-older"), ""
	version, _ = one.document(t, "shop")

	// replace drains a node with calls in flight, through both and at both, and starts another build for it.
	replace := func(out, stays *node, name string) *node {
		t.Helper()
		suite.AsksFor(t, out.Server, suite.AgentToken, "shop", "of-"+name, "inc", "{}").OK(t)
		suite.AsksFor(t, stays.Server, suite.AgentToken, "shop", "stays-"+name, "inc", "{}").OK(t)
		began := visited.of("/began")
		inFlight := []struct {
			at      *node
			session string
		}{{stays, "of-" + name}, {out, "stays-" + name}, {out, ""}, {stays, ""}}
		replies := make(chan suite.Reply, len(inFlight))
		for _, x := range inFlight {
			go func() { replies <- suite.AsksFor(t, x.at.Server, suite.AgentToken, "shop", x.session, "slow", "{}") }()
		}
		if !suite.Within(suite.ReplyWithin, func() bool { return visited.of("/began") == began+len(inFlight) }) {
			t.Fatalf("%d calls began", visited.of("/began")-began)
		}
		if said, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "drain", name, "--data-dir", stays.data).CombinedOutput(); err != nil {
			t.Fatalf("cluster drain: %v\n%s", err, said)
		}
		for range inFlight {
			if r := <-replies; !strings.Contains(string(r.Body), `"data":"slow"`) {
				t.Errorf("a call in flight: %d %s", r.Status, r.Body)
			}
		}
		<-out.Ended
		n := starts(name, newer)
		for i, at := range []*node{n, stays} { // a session of the node that stays, through both builds
			if got := suite.AsksFor(t, at.Server, suite.AgentToken, "shop", "stays-"+name, "inc", "{}").OK(t); got != float64(i+2) {
				t.Errorf("a session that stays counts to %v", got)
			}
		}
		return n
	}
	one = replace(one, two, "a")
	buildsAre(t, two, "newer", is, "different builds of pagetools: newer (a), "+is+" (b)")
	buildsAre(t, one, "newer", is, "different builds of pagetools")
	second := keyed(one, "key-of-newer")
	for _, n := range []*node{one, two} {
		for key, want := range map[string]suite.Reply{"key-of-older": first, "key-of-newer": second} {
			if r := keyed(n, key); r.Status != http.StatusOK || string(r.Body) != string(want.Body) {
				t.Errorf("%s at another build: %d %s, not %s", key, r.Status, r.Body, want.Body)
			}
		}
		if is, _ := n.document(t, "shop"); is != version {
			t.Errorf("another build has version %s, not %s", is, version)
		}
	}
	if !gatetest.IsNightly() {
		return
	}
	two = replace(two, one, "b")
	buildsAre(t, two, "newer", "newer", "")
	if r := keyed(two, "key-of-older"); string(r.Body) != string(first.Body) {
		t.Errorf("a key of a build that is gone: %d %s", r.Status, r.Body)
	}
	// The control: records of a form that a build does not know are seen.
	starts("c", otherBuild(t, named("future"), edit{"bridge/records/records.go", "	version = 1\n", "	version = 2\n"}))
	if !suite.Within(suite.ReplyWithin, func() bool {
		out, _ := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--data-dir", two.data).CombinedOutput()
		return strings.Contains(string(out), "is of a newer version of pagetools")
	}) {
		t.Error("records of a newer form are not seen")
	}
}
