package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// A page has so many frames, and each of them so many tools.
const (
	manyFrames     = 62
	manyFrameTools = 120
)

const framesPage = `<!doctype html><title>frames</title><link rel=icon href=data:,><body><script>
const tool = (name, execute) => navigator.modelContext.registerTool({name, description: name,
	inputSchema: {type: 'object', properties: {}}, annotations: {readOnlyHint: true}, execute});
tool('answers', () => 'yes');
tool('never', () => new Promise(() => {}));
tool('spins', () => { for (;;); });
for (let i = 0; i < %d; i++) {
	const frame = document.createElement('iframe');
	frame.src = '/frame?' + i;
	document.body.append(frame);
}
</script>`

const frameWithTools = `<!doctype html><link rel=icon href=data:,><body><script>
const at = 'f' + location.search.slice(1) + '_', inputSchema = {type: 'object', properties: {a: {type: 'string', description: 'y'.repeat(1500)}}};
for (let i = 0; i < %d; i++) navigator.modelContext.registerTool({name: at + i, description: 'x'.repeat(200), inputSchema, execute: () => i});
</script>`

// TestManyFramesWithManyTools (B9): calls to a page with 62 frames, each of which declares 120
// large tools, succeed, or end with one outcome: at their deadline in the page, or before it, where
// the machine is too busy to open another one in time. TestCallsEndAtTheirDeadline of session
// checks the times.
func TestManyFramesWithManyTools(t *testing.T) {
	gatetest.Nightly(t, "62 frames with 7,440 tools keep a core busy for twenty seconds")
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/frame" {
			_, _ = fmt.Fprintf(w, frameWithTools, manyFrameTools)
		} else {
			_, _ = fmt.Fprintf(w, framesPage, manyFrames)
		}
	}))
	defer site.Close()
	s := suite.Serve(t, "many="+site.URL, "--warm", "0")
	call := func(tool string, timeout int) suite.Reply {
		return s.Ask("/webtools/many", fmt.Sprintf(`{"sessionId":"a","action":%q,"request":{},"config":{"timeout":%d}}`, tool, timeout))
	}
	// The page is busy, and is closed when it does not answer a call: the next call reports that
	// nothing ran.
	busy := func(f suite.Failure) bool {
		return f.Outcome == "not_run" && slices.Contains([]string{"PAGE_HUNG", "PAGE_CRASHED", "OVERLOAD"}, f.Reason)
	}
	for _, tool := range []string{"never", "spins"} {
		r := call("answers", 50_000)
		for range 5 {
			if r.Status == http.StatusOK || !busy(r.Failed(t)) {
				break
			}
			r = call("answers", 50_000)
		}
		if got := string(r.Data(t)); got != `"yes"` {
			t.Errorf("it answers %s", got)
		}
		if f := call(tool, 3000).Failed(t); f.Reason+" "+f.Outcome != "TIMEOUT unknown" && !busy(f) {
			t.Errorf("%s ends with %+v", tool, f)
		}
	}
}
