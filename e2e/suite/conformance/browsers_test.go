package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
)

// A browser shows pages, each in a document of its own, and in a window of its own when it is to be
// alone. show returns at once; its channel is closed when the page crashes. leave ends the page.
type browser interface {
	show(ctx context.Context, address string, alone bool) (crashed <-chan struct{}, leave func(), err error)
}

// resolver makes a host that is not a secure context.
const resolver = "--host-resolver-rules=MAP plain.test 127.0.0.1"

// executable returns the path of the lightest installed browser, or "", which leaves the choice to
// the engine.
func executable() string {
	return gatetest.Browser()
}

// withShim is a stock browser with our script in its pages. It uses its tabs
// again: a case has a document of its own, not more.
type withShim struct {
	engine *cdp.Engine
	free   chan *shimTab
}

type shimTab struct {
	session.Tab
	died chan struct{}
}

func newWithShim(t *testing.T) *withShim {
	t.Helper()
	e, err := cdp.NewLocal(cdp.LocalOptions{
		Options: chrome.Options{
			Path: executable(), NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1", Args: []string{resolver},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &withShim{engine: e, free: make(chan *shimTab, atOnce)}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		close(b.free)
		for tab := range b.free {
			<-tab.died
		}
	})
	return b
}

// tab returns one that is free, or opens one.
func (b *withShim) tab(ctx context.Context, free <-chan *shimTab) (*shimTab, error) {
	select {
	case tab := <-free:
		return tab, nil
	default:
	}
	opened, err := b.engine.Open(ctx, session.TabOptions{})
	if err != nil {
		return nil, err
	}
	tab := &shimTab{opened, make(chan struct{})}
	go func() { // ends with the tab
		defer close(tab.died)
		for range tab.Events() {
		}
	}()
	return tab, nil
}

func (b *withShim) show(ctx context.Context, address string, alone bool) (<-chan struct{}, func(), error) {
	free := b.free
	if alone {
		free = nil
	}
	tab, err := b.tab(ctx, free)
	if err != nil {
		return nil, nil, err
	}
	leave := func() {
		select {
		case <-tab.died:
		default:
			select {
			case free <- tab:
				return
			default:
			}
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_ = tab.Close(bounded)
		<-tab.died
	}
	if err := tab.Load(ctx, address); err != nil {
		leave()
		return nil, nil, err
	}
	return tab.died, leave, nil
}

// plain is a browser with its own WebMCP and nothing of ours: it gets the pages to open through its
// pipe, and nobody attaches to them.
type plain struct {
	cmd  *exec.Cmd
	in   *os.File
	life context.Context // ends when the browser does
	end  context.CancelFunc

	mu      sync.Mutex
	next    int
	replies map[int]chan plainReply
	crashed map[string]chan struct{} // by target

	free chan plainWindow
}

type plainWindow struct {
	target string
	gone   chan struct{} // closed when the page crashed
}

type plainReply struct {
	Result struct {
		TargetID  string `json:"targetId"`
		SessionID string `json:"sessionId"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func newPlain(t *testing.T) *plain {
	t.Helper()
	path, _, err := chrome.Find(chrome.Options{Path: executable()})
	if err != nil {
		t.Fatal(err)
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pt")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--headless", "--remote-debugging-pipe", "--enable-features=WebMCP", "--user-data-dir=" + filepath.Join(dir, "data"), "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--disable-crash-reporter", "--site-per-process", resolver}
	if os.Getenv("PAGETOOLS_NO_SANDBOX") == "1" {
		args = append(args, "--no-sandbox")
	}
	life, end := context.WithCancel(context.Background())
	cmd := exec.CommandContext(life, path, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser}
	tree := proctree.New(cmd, false)
	cmd.Cancel = func() error { tree.Kill(); return nil }
	if err := tree.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &plain{cmd: cmd, in: in, life: life, end: end, replies: map[int]chan plainReply{}, crashed: map[string]chan struct{}{}, free: make(chan plainWindow, atOnce)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(out)
	}()
	t.Cleanup(func() {
		end()
		_ = cmd.Wait()
		in.Close()
		<-read
		out.Close()
		if err := removeAll(dir); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.call(t.Context(), "", "Target.setDiscoverTargets", map[string]any{"discover": true}); err != nil {
		t.Fatal(err)
	}
	return b
}

// removeAll removes a folder that processes which are ending may still write to.
func removeAll(dir string) error {
	var err error
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
	return err
}

// read reads replies and crashes until the browser ends.
func (b *plain) read(out *os.File) {
	defer b.end()
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var msg struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
			Params struct {
				TargetID string `json:"targetId"`
			} `json:"params"`
			plainReply
		}
		if json.Unmarshal(line[:len(line)-1], &msg) != nil {
			continue
		}
		b.mu.Lock()
		if to := b.replies[msg.ID]; msg.ID != 0 && to != nil {
			delete(b.replies, msg.ID)
			to <- msg.plainReply
		}
		if gone := b.crashed[msg.Params.TargetID]; msg.Method == "Target.targetCrashed" && gone != nil {
			delete(b.crashed, msg.Params.TargetID)
			close(gone)
		}
		b.mu.Unlock()
	}
}

// call speaks to the browser, or to the session that it names.
func (b *plain) call(ctx context.Context, session, method string, params any) (plainReply, error) {
	to := make(chan plainReply, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.replies[id] = to
	text, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return plainReply{}, err
	}
	select {
	case r := <-to:
		if r.Error != nil {
			return r, fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		return r, nil
	case <-b.life.Done():
		return plainReply{}, errors.New("the browser ended")
	case <-ctx.Done():
		return plainReply{}, context.Cause(ctx)
	}
}

// show uses windows again, as withShim does its tabs. A session is attached for
// as long as it takes to navigate, so nobody watches the case.
func (b *plain) show(ctx context.Context, address string, alone bool) (<-chan struct{}, func(), error) {
	free := b.free
	if alone {
		free = nil
	}
	w, err := b.window(ctx, free)
	if err != nil {
		return nil, nil, err
	}
	leave := func() {
		select {
		case <-w.gone:
		default:
			select {
			case free <- w:
				return
			default:
			}
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_, _ = b.call(bounded, "", "Target.closeTarget", map[string]any{"targetId": w.target})
		b.mu.Lock()
		delete(b.crashed, w.target)
		b.mu.Unlock()
	}
	if err := b.navigate(ctx, w.target, address); err != nil {
		leave()
		return nil, nil, err
	}
	return w.gone, leave, nil
}

// window returns one that is free, or opens one.
func (b *plain) window(ctx context.Context, free <-chan plainWindow) (plainWindow, error) {
	select {
	case w := <-free:
		return w, nil
	default:
	}
	r, err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true})
	if err != nil {
		return plainWindow{}, err
	}
	w := plainWindow{r.Result.TargetID, make(chan struct{})}
	b.mu.Lock()
	b.crashed[w.target] = w.gone
	b.mu.Unlock()
	return w, nil
}

func (b *plain) navigate(ctx context.Context, target, address string) error {
	r, err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})
	if err != nil {
		return err
	}
	_, err = b.call(ctx, r.Result.SessionID, "Page.navigate", map[string]any{"url": address})
	_, left := b.call(ctx, "", "Target.detachFromTarget", map[string]any{"sessionId": r.Result.SessionID})
	return errors.Join(err, left)
}
