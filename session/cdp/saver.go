package cdp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// savePatience says how long a call waits, after its tool, for the files that began in it, and for
// the links of a server that it clicked. startPatience bounds the part of it in which a navigation
// may become a file, nearPatience that for what the page has itself, and leftPatience that after a
// navigation that led to no document.
const (
	savePatience, startPatience = 10 * time.Second, 3 * time.Second
	nearPatience, leftPatience  = time.Second, 500 * time.Millisecond
)

// saveEvery says how often the size of what is being saved is looked at.
const saveEvery = 50 * time.Millisecond

// maxSaves bounds the files of a call that are told, with those that are refused.
const maxSaves = 8

// maxFileName bounds the bytes of a file's name.
const maxFileName = 255

// saver lets a page save files while calls are under way. Between calls the browser denies them,
// or, until the page has tried, they are cancelled as soon as they begin. The calls and their files
// are behind the lock; the rest is the owner's.
type saver struct {
	root    *wire.Session // on the browser
	in      cdp.BrowserContextID
	base    string // where folders of pages are made
	shared  bool   // the browser context has other pages
	off     bool   // no call gets files
	tasks   tasks
	page    *wire.Session
	frames  *frames
	changes bridge.Changes // of calls and their files

	mu    sync.Mutex
	dir   string   // "" until a call was under way
	calls []*saves // in the order in which they began

	open            atomic.Bool // calls need not ask for the browser to save
	allowed, denied bool        // what the browser was told last, and that it heeds it
	noisy           bool        // the page tried to save what no call may have
}

// saves are the files of a call.
type saves struct {
	caller string
	want   bridge.FileRoom
	begun  int64 // in the page, since the call began
	all    []save
	full   bool // it has as many as it gets
}

// save is a file that the browser writes, or has written.
type save struct {
	id, name string
	state    bridge.FileState // "" while it is whole, or may become so
	ended    bool             // nothing more comes
}

// newSaver returns nil where the browser denies all files.
func newSaver(b *instance, own *owner, in cdp.BrowserContextID, o session.TabOptions) *saver {
	if b.process == nil || !o.Downloads && !b.keepsProfile {
		return nil
	}
	v := &saver{root: b.own, in: in, base: b.process.Files(), shared: b.keepsProfile,
		off: !o.Downloads, tasks: own.tasks, page: own.target, frames: own.frames}
	if v.denied = !v.shared; v.shared { // one browser context, and one folder, for the pages of all sites
		v.dir, v.allowed = v.base, true
		v.open.Store(true)
		b.saves.CompareAndSwap(false, o.Downloads)
	}
	own.setup.invoker = append(own.setup.invoker, addScript(shim.SavesSource(own.watcher.name)))
	return v
}

// prepared returns what the browser is told about files before a page shows anything.
func (v *saver) prepared(b *instance, in cdp.BrowserContextID) browser.SetDownloadBehaviorParams {
	if v != nil && v.shared && b.saves.Load() {
		return browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: v.dir}
	}
	return browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: in}
}

// begin notes a call, whose files are saved from now on. It returns nil when it wants none.
func (v *saver) begin(ctx context.Context, inv *session.Invocation) *saves {
	if v == nil || v.off || inv.Files.Take == nil {
		return nil
	}
	s := &saves{caller: inv.Caller, want: inv.Files}
	v.mu.Lock()
	v.calls = append(v.calls, s)
	v.mu.Unlock()
	if !v.open.Load() {
		v.tasks.ask(ctx, 0, v.allow)
	}
	return s
}

// allow has the browser save files, under names of its own. The owner calls it.
func (v *saver) allow() {
	if v.allowed || v.idle() {
		return
	}
	dir, err := v.folder()
	if err != nil {
		return // then the browser denies them
	}
	v.allowed, v.denied = true, false
	v.tell(browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName,
		BrowserContextID: v.in, DownloadPath: dir})
	v.open.Store(!v.noisy)
}

// folder returns where the page's files are written.
func (v *saver) folder() (string, error) {
	v.mu.Lock()
	dir := v.dir
	v.mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp(v.base, "")
	v.mu.Lock()
	v.dir = dir
	v.mu.Unlock()
	return dir, err
}

// tell tells the browser what to do with files from now on.
func (v *saver) tell(params browser.SetDownloadBehaviorParams) <-chan wire.Reply {
	bounded, cancel := farewell()
	defer cancel()
	reply, _ := v.root.Send(bounded, browser.CommandSetDownloadBehavior, params) // a browser that is gone saves nothing
	return reply
}

// deny has the browser save nothing any more. The owner calls it. What began before the browser
// heeds it is cancelled when that is told.
func (v *saver) deny() {
	if !v.allowed || v.shared {
		return
	}
	v.allowed = false
	v.open.Store(false)
	reply := v.tell(browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: v.in})
	if reply == nil {
		return
	}
	go func() { // ends with the reply, or the browser
		<-reply
		v.tasks.add(context.Background(), v.page.Delivered(), func() { v.denied = !v.allowed })
	}()
}

// idle reports whether no call is under way.
func (v *saver) idle() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.calls) == 0
}

// event takes an event about a file. The owner calls it.
func (v *saver) event(msg *cdproto.Message) {
	if v == nil {
		return
	}
	if msg.Method == eventDownload {
		if ev, ok := wire.Decode[browser.EventDownloadWillBegin](msg); ok {
			if f := v.frames.all[ev.FrameID]; f != nil {
				f.saved = v.frames.handled
			}
			v.begins(&ev)
		}
	} else if ev, ok := wire.Decode[browser.EventDownloadProgress](msg); ok {
		v.progresses(&ev)
	}
	v.changes.Signal()
}

// begins takes a file that the browser begins to save, or denies.
func (v *saver) begins(ev *browser.EventDownloadWillBegin) {
	x := save{id: ev.GUID, name: fileName(ev.SuggestedFilename)}
	if v.take(x) {
		return
	}
	if !v.denied {
		v.cancel(x.id)
	}
	v.noisy = true
	if v.open.Store(false); v.idle() {
		v.deny()
	}
}

// take makes a file that of the call that is under way: the newest, unless there are others'. It
// reports false when the file is nobody's, or the call has as many as it gets.
func (v *saver) take(x save) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.calls) == 0 {
		return false
	}
	s := v.calls[len(v.calls)-1]
	foreign := false
	for _, o := range v.calls {
		o.begun++
		foreign = foreign || o.caller != s.caller
	}
	if foreign || !isFileID(x.id) {
		return false
	}
	good := 0
	for _, one := range s.all {
		if one.state == "" {
			good++
		}
	}
	if s.full = s.full || good >= s.want.Most; s.full {
		x.state, x.ended = bridge.FileDenied, true
	}
	if len(s.all) < maxSaves {
		s.all = append(s.all, x)
	}
	return !s.full
}

// isFileID reports whether a name of the browser's is one of a file: never part of a path.
func isFileID(id string) bool {
	return len(id) > 0 && len(id) <= 64 && strings.Trim(id, "0123456789abcdefABCDEF-") == ""
}

// progresses takes how far the browser has come with a file.
func (v *saver) progresses(ev *browser.EventDownloadProgress) {
	v.mu.Lock()
	dir := v.dir
	x, s := v.find(ev.GUID)
	large := x != nil && !x.ended && max(ev.TotalBytes, ev.ReceivedBytes) > float64(s.want.MaxBytes)
	stray := ev.State == browser.DownloadProgressStateCompleted && (x == nil || x.state != "")
	switch {
	case x == nil || x.ended:
	case large:
		x.ended, x.state = true, bridge.FileTooLarge
	case ev.State == browser.DownloadProgressStateCompleted:
		x.ended = true
	case ev.State == browser.DownloadProgressStateCanceled:
		x.ended, x.state = true, bridge.FileUnfinished
	}
	v.mu.Unlock()
	if large {
		v.cancel(ev.GUID)
	}
	if (stray || large) && dir != "" && isFileID(ev.GUID) {
		_ = os.Remove(filepath.Join(dir, ev.GUID)) // else the folder goes with the page
	}
}

// find returns a file that has a call, and the call. Called with mu held.
func (v *saver) find(id string) (*save, *saves) {
	for _, s := range v.calls {
		for i := range s.all {
			if s.all[i].id == id {
				return &s.all[i], s
			}
		}
	}
	return nil, nil
}

// cancel ends the saving of a file; what is there of it goes.
func (v *saver) cancel(id string) {
	bounded, cancel := farewell()
	defer cancel()
	_, _ = v.root.Send(bounded, browser.CommandCancelDownload, // a browser that is gone writes nothing
		browser.CancelDownloadParams{GUID: id, BrowserContextID: v.in})
}

// saved adds to the end of a call the files that the page saved in it.
func (t *tab) saved(ctx context.Context, c *call, s *saves, began int64, step bridge.Step) bridge.Step {
	if s == nil {
		return step
	}
	if p := step.Pause; p != nil {
		goOn := p.Continue
		p.Continue = func(ctx context.Context, a *bridge.Answer) bridge.Step {
			return t.saved(ctx, c, s, began, goOn(ctx, a))
		}
		return step
	}
	if t.target.Delivered() != began || c.saves > 0 { // else nothing happened in the page: the usual case
		t.saver.await(ctx, c, s, began)
		t.saver.sweep()
	}
	step.Files = t.saver.end(s)
	return step
}

// await waits until the files of a call have come that began in it: what is being saved, what the
// page script has counted, and navigations, which may become files.
func (v *saver) await(ctx context.Context, c *call, s *saves, began int64) {
	start, clicks, far := time.Now(), c.saves, c.far
	deadline, tick := time.NewTimer(savePatience), time.NewTicker(saveEvery)
	defer deadline.Stop()
	defer tick.Stop()
	for {
		next := v.changes.Next()
		leads := false
		look := func() {
			if leads = v.frames.underWay(began); c.doc.frame == nil || c.doc.frame.doc != c.doc {
				clicks, far = 0, 0 // of a document that is gone
			}
		}
		if !v.tasks.ask(ctx, v.page.Delivered(), look) {
			return
		}
		if time.Since(start) > nearPatience {
			clicks = far
		}
		if !v.awaited(s, clicks) && (!leads || time.Since(start) > startPatience) {
			return
		}
		select {
		case <-next:
		case <-tick.C:
			v.weigh(s)
		case <-v.tasks.gone:
			return
		case <-ctx.Done():
			return
		case <-deadline.C:
			return
		}
	}
}

// awaited reports whether a file of a call is still to come.
func (v *saver) awaited(s *saves, clicks int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return s.begun < clicks && !s.full || slices.ContainsFunc(s.all, func(x save) bool { return !x.ended })
}

// weigh cancels the files of a call that have become too large: the browser tells their size twice
// a second.
func (v *saver) weigh(s *saves) {
	v.mu.Lock()
	dir, all := v.dir, slices.Clone(s.all)
	v.mu.Unlock()
	for _, x := range all {
		if x.ended {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, x.id+partly))
		if err == nil && info.Size() > s.want.MaxBytes {
			v.progresses(&browser.EventDownloadProgress{GUID: x.id, ReceivedBytes: float64(info.Size()),
				State: browser.DownloadProgressStateInProgress})
		}
	}
}

// sweep cancels and removes what no call has: the files of windows that are not the page's.
func (v *saver) sweep() {
	v.mu.Lock()
	dir := v.dir
	v.mu.Unlock()
	if v.shared || dir == "" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // it goes with the browser's folder
	}
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), partly)
		v.mu.Lock()
		x, _ := v.find(id)
		v.mu.Unlock()
		if x == nil {
			v.cancel(id)
			_ = os.Remove(filepath.Join(dir, e.Name())) // the same
		}
	}
}

// partly ends the name of a file as long as it is written.
const partly = ".crdownload"

// end returns the files of a call that is over. What has not come is cancelled.
func (v *saver) end(s *saves) (files []bridge.File) {
	if s == nil {
		return nil
	}
	v.mu.Lock()
	v.calls = slices.DeleteFunc(v.calls, func(o *saves) bool { return o == s })
	dir := v.dir
	v.mu.Unlock()
	for _, x := range s.all {
		f := bridge.File{Name: x.name, State: x.state}
		if !x.ended {
			f.State = bridge.FileUnfinished
			v.cancel(x.id)
		}
		if f.State == "" {
			f.State = s.read(filepath.Join(dir, x.id), &f)
		}
		files = append(files, f)
	}
	if !v.open.Load() {
		v.tasks.add(context.Background(), 0, func() {
			if v.idle() {
				v.deny()
			}
		})
	}
	return files
}

// read reads a file that is there, and removes it. It returns why the call does not get it, or "".
func (s *saves) read(path string, into *bridge.File) bridge.FileState {
	defer func() { _ = os.Remove(path) }() // else the folder goes with the page
	f, err := os.Open(path)
	if err != nil {
		return bridge.FileUnfinished
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return bridge.FileUnfinished
	case info.Size() > s.want.MaxBytes, !s.want.Take(info.Size()):
		return bridge.FileTooLarge
	}
	into.Data = make([]byte, info.Size())
	if _, err := io.ReadFull(f, into.Data); err != nil {
		s.want.Give(info.Size())
		into.Data = nil
		return bridge.FileUnfinished
	}
	return ""
}

// close forgets the page's folder.
func (v *saver) close() {
	if v == nil || v.shared {
		return
	}
	v.mu.Lock()
	dir := v.dir
	v.mu.Unlock()
	if dir != "" {
		_ = os.RemoveAll(dir) // what is left goes with the browser's folder
	}
}

// fileName returns the name that the browser proposes for a file, in the page's words, on one line.
func fileName(proposed string) string { return text.Line(text.Bytes(proposed, maxFileName)) }

// underWay reports whether a frame is on its way to another document since so many events, or to
// what becomes a file.
func (fs *frames) underWay(after int64) bool {
	for _, f := range fs.all {
		asked := max(f.requested, f.started)
		if asked <= after || max(f.moved, f.saved) > asked || f.doc != nil && f.doc.began > asked {
			continue
		}
		if f.stopped < asked || time.Since(f.left) < leftPatience {
			return true
		}
	}
	return false
}
