package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// room lets a call of a test have files as the bridge does, and counts what is taken.
func room(taken *atomic.Int64) bridge.FileRoom {
	return bridge.FileRoom{Most: 4, MaxBytes: 16 << 20, Give: func(n int64) { taken.Add(-n) },
		Take: func(n int64) bool { taken.Add(n); return true }}
}

// saving is the script of pages that save files.
const saving = `<a id=k href=/file>k</a><a id=n target=_blank href=/file>k</a><iframe id=i></iframe><script>
	const $ = (x) => document.getElementById(x);
	const blob = (n, type) => URL.createObjectURL(new Blob(['x'.repeat(n)], {type}));
	const link = (href, download) => Object.assign(document.createElement('a'), {href, download});
	const click = (href, download) => { link(href, download).click(); return 1 };
	tool('run', ({script}) => (0, eval)(script));
</script>`

// showSaving opens a page that saves what scripts tell it to.
func showSaving(t *testing.T, e *Engine, more map[string]http.HandlerFunc) *shown {
	t.Helper()
	pages := map[string]http.HandlerFunc{
		"/": html(saving), "/next": html(`<script>tool('next', () => 1)</script>`),
		"/plain": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "plain") },
		"/gone":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
		"/hang":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="a b.sh"`)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<b>x")
		},
		"/slow": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename=slow.txt`)
			for range 6 {
				_, _ = w.Write(make([]byte, 1000))
				w.(http.Flusher).Flush()
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
					return
				}
			}
		},
	}
	for path, h := range more {
		pages[path] = h
	}
	return showPageWith(t, e, session.TabOptions{Downloads: true}, site(t, pages)+"/")
}

// savesIn runs a script in a call, and returns the files of the call.
func (s *shown) savesIn(limit time.Duration, files bridge.FileRoom, script string) ([]bridge.File, *bridge.Error) {
	s.t.Helper()
	d := s.find("run")
	in, _ := json.Marshal(map[string]string{"script": script})
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	step := s.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: in, MaxBytes: 1 << 20, Files: files})
	return step.Files, step.Err
}

// saves is savesIn with the usual limits.
func (s *shown) saves(script string) (files []bridge.File, e *bridge.Error) {
	s.t.Helper()
	var taken atomic.Int64
	files, e = s.savesIn(hang, room(&taken), script)
	for _, f := range files {
		taken.Add(-int64(len(f.Data)))
	}
	if taken.Load() != 0 {
		s.t.Errorf("%s: %d bytes of room are lost", script, taken.Load())
	}
	return files, e
}

// listed says what became of files.
func listed(files []bridge.File, e *bridge.Error) string {
	var all []string
	for _, f := range files {
		if f.State != "" {
			all = append(all, f.Name+" "+string(f.State))
			continue
		}
		all = append(all, fmt.Sprintf("%s %d", f.Name, len(f.Data)))
	}
	if e != nil {
		all = append(all, string(e.Code))
	}
	return strings.Join(all, ", ")
}

// kept lists what is in the page's folder for files.
func (s *shown) kept() (names []string) {
	s.t.Helper()
	dir, err := s.saver.folder()
	if err != nil {
		s.t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// keepsNothing waits until the page's folder for files is empty: a file that the browser completed as its call ended goes
// when the browser has said so.
func (s *shown) keepsNothing() {
	s.t.Helper()
	over, tick := time.After(hang), time.NewTicker(saveEvery)
	defer tick.Stop()
	for left := s.kept(); len(left) > 0; left = s.kept() {
		select {
		case <-tick.C:
		case <-over:
			s.t.Fatalf("%v are left", left)
		}
	}
}

// TestSaves: what a page saves in a call is the call's, with the page's name, whichever way it
// saves; what is no file any more costs nothing.
func TestSaves(t *testing.T) {
	t.Parallel()
	s := showSaving(t, shared, nil)
	long := strings.Repeat("\u00e9", 127)
	for _, x := range []struct{ script, want string }{
		{`1`, ""},
		{`click(blob(10), '../../x\u202e.txt')`, "_.._x_.txt 10"}, {`click(blob(0), 'nothing')`, "nothing.txt 0"},
		{`click('data:text/html,hi', 'CON')`, "CON.html 2"}, {`click('/plain', 'a\0b/..')`, "a_b_.txt 5"},
		{`click(blob(3), 'é'.repeat(300))`, long + " 3"},
		{`$('k').click()`, "a b.sh 4"}, {`location.href = '/file'; 1`, "a b.sh 4"}, {`$('i').src = '/file'; 1`, "a b.sh 4"},
		{`click('/slow', '')`, "slow.txt 6000"}, {`link(blob(5), 'd.txt').dispatchEvent(new MouseEvent('click')); 1`, "d.txt 5"},
		{`click('/gone', 'x')`, "x.txt unfinished"}, {`click(blob(1), 'a.txt'); click(blob(2), 'b.txt'); throw 1`, "a.txt 1, b.txt 2, TOOL_ERROR"},
		{`{ const a = link('/plain', 'x'); a.onclick = (e) => e.preventDefault(); a.click() }; 1`, ""},
		{`location.hash = 'a'; 1`, ""}, {`history.pushState({}, '', '/'); 1`, ""}, {`location.href = 'mailto:a@b.example'; 1`, ""},
		{`location.href = '/next'; 1`, ""},
	} {
		if got := listed(s.saves(x.script)); got != x.want {
			t.Errorf("%s saves %q, want %q", x.script, got, x.want)
		}
	}
	s.find("next")
	s.keepsNothing()
}

// TestSavesAreBounded: at each limit, and one past it, by streams too, which say no size before.
func TestSavesAreBounded(t *testing.T) {
	t.Parallel()
	stream := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=s")
			w.Header().Set("Content-Type", "application/octet-stream")
			for range n {
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
			}
			if n > 100 {
				<-r.Context().Done() // it goes on without end
			}
		}
	}
	s := showSaving(t, shared, map[string]http.HandlerFunc{"/100": stream(100), "/101": stream(101),
		"/endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=e")
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}})
	taken := int64(0)
	small := bridge.FileRoom{Most: 2, MaxBytes: 100, Give: func(n int64) { taken -= n }, Take: func(n int64) bool {
		if taken+n > 150 {
			return false
		}
		taken += n
		return true
	}}
	for _, x := range []struct{ script, want string }{
		{`click(blob(0), 'a'); click(blob(100), 'b')`, "a.txt 0, b.txt 100"}, {`click(blob(101), 'a')`, "a.txt too_large"},
		{`click(blob(51), 'a'); click(blob(49), 'b')`, "a.txt too_large, b.txt 49"},
		{`taken = 0; click('/100', '')`, "s 100"}, {`click('/101', '')`, "s too_large"}, {`click('/endless', '')`, "e too_large"},
		{`new Promise((r) => setTimeout(r, 1100))`, ""}, // the browser begins ten files a second
		{`click(blob(1), 'a'); click(blob(2), 'b'); click(blob(3), 'c')`, "a.txt 1, b.txt 2, c.txt denied"},
		{`click(blob(4), 'd')`, "d.txt 4"},
	} {
		if strings.HasPrefix(x.script, "taken") {
			taken = 0
		}
		if got := listed(s.savesIn(hang, small, x.script)); got != x.want {
			t.Errorf("%s saves %q, want %q", x.script, got, x.want)
		}
	}
	if got := listed(s.savesIn(time.Second, room(new(atomic.Int64)), `click('/slow', 'a'); click('/hang', 'x')`)); got != "slow.txt 6000" && got != "slow.txt unfinished" {
		t.Errorf("at the end of its time the call has %q", got)
	}
	s.keepsNothing()
}

// TestSavesOfNobody: between calls, and of calls of two callers, files are nobody's, and none
// stays; a page that goes on with it for ever gets the next call's own file through.
func TestSavesOfNobody(t *testing.T) {
	t.Parallel()
	s := showSaving(t, shared, nil)
	if got := listed(s.saves(`window.late = new Promise((r) => { window.go = r }).then(() => click(blob(5), 'late.txt')); 1`)); got != "" {
		t.Errorf("what begins after the call is its %q", got)
	}
	s.must("run", `{"script":"go(); late"}`) // a call that wants no files
	s.must("run", `{"script":"setInterval(() => click(blob(7), 'loop.txt'), 20)"}`)
	for range 20 {
		s.must("run", `{"script":"new Promise((r) => setTimeout(r, 20))"}`)
	}
	s.keepsNothing()
	s.must("run", `{"script":"for (let i = 0; i < 1000; i++) clearInterval(i); new Promise((r) => setTimeout(r, 1100))"}`)
	if got := listed(s.saves(`click(blob(5), 'mine.txt')`)); got != "mine.txt 5" {
		t.Errorf("afterwards a call saves %q", got)
	}
	d := s.find("run")
	other := make(chan bridge.Step, 1)
	go func() { // ends with its own end
		other <- s.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Caller: "other", MaxBytes: 1 << 20,
			Files: room(new(atomic.Int64)), Input: json.RawMessage(`{"script":"new Promise((r) => { window.go = r })"}`)})
	}()
	for s.must("run", `{"script":"typeof window.go"}`) != `"function"` {
	}
	if got := listed(s.saves(`click(blob(5), 'whose.txt')`)); got != "" {
		t.Errorf("while another caller's call runs, a call has %q", got)
	}
	s.must("run", `{"script":"go()"}`)
	if step := <-other; len(step.Files) > 0 {
		t.Errorf("the other caller has %s", listed(step.Files, step.Err))
	}
	dir, _ := s.saver.folder()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder outlives its page: %v", err)
	}
}

// TestSavesOfForms: a file that answers a submit is the call's, through the page script and through
// the browser's own WebMCP.
func TestSavesOfForms(t *testing.T) {
	t.Parallel()
	engines := map[string]*Engine{"shim": shared}
	if native, err := nativeEngine(); err == nil {
		engines["native"] = native
	}
	for name, e := range engines {
		s := showSaving(t, e, map[string]http.HandlerFunc{
			"/": html(saving + `<form id=f toolname=t tooldescription=d toolautosubmit method=post action=/file><input name=q><button>go</button></form>`)})
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		call := func() bridge.Step {
			d := s.find("t")
			return s.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(`{"q":"v"}`), MaxBytes: 1 << 20, Files: room(new(atomic.Int64))})
		}
		step := call()
		for step.Err != nil && errors.Is(step.Err, session.ErrGone) && ctx.Err() == nil { // the browser registers a form again when it has its fields
			step = call()
		}
		cancel()
		if got := listed(step.Files, step.Err); got != "a b.sh 4" || !strings.Contains(string(step.Data), `"status":200`) {
			t.Errorf("%s: the form saves %q, %s %v", name, got, step.Data, step.Err)
		}
		if got := listed(s.saves(`click(blob(5), 'x')`)); got != "x.txt 5" {
			t.Errorf("%s: a script saves %q", name, got)
		}
	}
}

// TestSavesInKeptProfile: in the operator's profile, whose pages share a browser context, a call
// has its own page's files, and pages without downloads have none.
func TestSavesInKeptProfile(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	e := engine(t, func(o *LocalOptions) { o.UserDataDir = dir })
	s := showSaving(t, e, nil)
	off := showPageWith(t, e, session.TabOptions{}, s.shows())
	if got := listed(s.saves(`click(blob(5), 'x')`)); got != "x.txt 5" {
		t.Errorf("a call saves %q", got)
	}
	if got := listed(off.saves(`click(blob(6), 'y'); new Promise((r) => setTimeout(r, 300))`)); got != "" {
		t.Errorf("without downloads a call saves %q", got)
	}
	if got := listed(s.saves(`click(blob(7), 'z')`)); got != "z.txt 7" {
		t.Errorf("then a call saves %q", got)
	}
	s.keepsNothing()
}

// TestSavesOfFrames: what frames save is the call's, also one of another site; so is what a bridged
// window saves. A window that is not bridged saves nothing.
func TestSavesOfFrames(t *testing.T) {
	t.Parallel()
	other := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		onmessage = () => {
			Object.assign(document.createElement('a'), {href: URL.createObjectURL(new Blob(['frame'])), download: 'f.txt'}).click();
			parent.postMessage('clicked', '*');
		};
		parent.postMessage('there', '*');
	</script>`)})
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	s := showSaving(t, shared, map[string]http.HandlerFunc{
		"/": html(saving + `<script>
			const heard = (word) => new Promise((r) => addEventListener('message', ({data}) => { if (data === word) r(); })), there = heard('there');
		</script><iframe id=o src="` + other + `/"></iframe>`)})
	if got := listed(s.saves(`new Promise((r) => { const i = $('i'); i.onload = r; i.src = '/next'; }).then(() => i.contentWindow.eval(
		"Object.assign(document.createElement('a'), {href: 'data:,inner', download: 'i.txt'}).click()")).then(() => new Promise((r) => setTimeout(r, 200)))`)); got != "i.txt 5" {
		t.Errorf("a frame saves %q", got)
	}
	if got := listed(s.saves(`there.then(() => { $('o').contentWindow.postMessage(1, '*'); return heard('clicked'); }).then(() => new Promise((r) => setTimeout(r, 500)))`)); got != "f.txt 5" {
		t.Errorf("a frame of another site saves %q", got)
	}
	if got := listed(s.saves(`open('/file'); new Promise((r) => setTimeout(r, 500))`)); got != "" {
		t.Errorf("a window saves %q", got)
	}
	s.keepsNothing()
}
