package cdp

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
	"github.com/pagetools/pagetools/shim"
)

// lasting makes an engine over a browser whose tabs outlive it.
func lasting(t *testing.T, host string) *Engine {
	t.Helper()
	o := remoteAt("http://" + host)
	o.Reattach = true
	e, err := NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// inBoth runs a test in the browser of the day, and in a whole one.
func inBoth(t *testing.T, test func(t *testing.T, host string, whole bool)) {
	t.Helper()
	shell := gatetest.Browser() != os.Getenv("PAGETOOLS_EXECUTABLE_PATH") && !gatetest.IsNightly()
	for name, whole := range map[string]bool{"day": false, "whole": true} {
		t.Run(name, func(t *testing.T) {
			if whole {
				needsWhole(t)
			}
			t.Parallel()
			test(t, somebodysBrowser(t, whole), whole || !shell)
		})
	}
}

// TestReattach holds engines over a browser that outlives them to the contract.
func TestReattach(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, host string, whole bool) {
		sessiontest.TestEngine(t, sessiontest.Harness{Groups: []string{"Reattach"},
			Serve: func(t *testing.T, _ session.Engine, pages sessiontest.Pages, tls bool) string {
				t.Helper()
				return sessiontest.Serve(t, pages, tls)
			},
			Lasting: func(*testing.T) sessiontest.Lasting {
				return sessiontest.Lasting{
					Engine: func(t *testing.T, impatient bool) session.Engine {
						t.Helper()
						e := lasting(t, host)
						e.times.pulse = hang // a busy machine takes its time
						if impatient {
							e.times.pulse = quick.pulse
						}
						return e
					},
					Cut: func(t *testing.T, e session.Engine) { t.Helper(); cut(e.(*Engine)) },
					Has: func(t *testing.T, e session.Engine, handle []byte) bool {
						t.Helper()
						return isThere(t, e.(*Engine), handle)
					},
					Stuck: whole,
				}
			},
		})
	})
}

// cut ends the connection of an engine as the death of its process does.
func cut(e *Engine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	current(e).kill()
}

// isThere reports whether the browser of an engine has the browser context of a handle.
func isThere(t *testing.T, e *Engine, text []byte) bool {
	t.Helper()
	h, err := readHandle(text)
	if err != nil {
		return false
	}
	b, err := e.instance(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := cdp.Call(t.Context(), b.root, cdptarget.GetBrowserContexts, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(all.BrowserContextIDs, h.Context)
}

// ownerOf owns a tab, for as long as the test.
func ownerOf(epoch int64) session.TabOptions {
	return session.TabOptions{Owner: session.Owner{Epoch: epoch, Holds: func() bool { return true }}}
}

// TestReattachDocuments: the documents that come after another process has attached to a page know their owner before they
// run anything.
func TestReattachDocuments(t *testing.T) {
	t.Parallel()
	host := somebodysBrowser(t, false)
	origin := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('said', () => said)</script>`)})
	first := showPageWith(t, lasting(t, host), ownerOf(1), origin)
	x, err := lasting(t, host).Attach(t.Context(), first.Handle(), ownerOf(2))
	if err != nil {
		t.Fatal(err)
	}
	second := showing(t, x.(*tab))
	t.Cleanup(func() { _ = second.Close(context.WithoutCancel(t.Context())) })
	// It runs right after ours, and before we hear of the document.
	said := func(epoch int64) string { return shim.As(second.name, epoch) + ".outcome('none')" }
	asks := addScript("globalThis.said = [" + said(1) + ", " + said(2) + "]")
	if err := second.target.Call(t.Context(), asks.Method, asks.Params, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/?next", "/?last"} {
		second.begin(t, origin+path)
		if said := second.must("said", "{}"); said != `["gone","unknown"]` {
			t.Errorf("%s says %s to its owners", path, said)
		}
	}
}

// TestReattachAlone: without re-attachment the page ends with its process, as it does for who has no owner.
func TestReattachAlone(t *testing.T) {
	t.Parallel()
	host := somebodysBrowser(t, false)
	e := lasting(t, host)
	for name, x := range map[string]struct {
		reattach bool
		owner    session.TabOptions
	}{
		"no re-attachment": {false, ownerOf(1)}, "no owner": {true, session.TabOptions{}}, "both": {true, ownerOf(1)},
	} {
		o := remoteAt("http://" + host)
		o.Reattach = x.reattach
		other, err := NewRemote(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		s := openWith(t, other, x.owner)
		lasts := x.reattach && x.owner.Owner.Epoch > 0
		if h := s.Handle(); lasts != (h != nil) {
			t.Errorf("%s: its handle is %s", name, h)
		}
		handle, err := json.Marshal(handle{Context: s.context, Target: s.id, Name: s.name})
		if err != nil {
			t.Fatal(err)
		}
		cut(other)
		if lasts {
			if !isThere(t, e, handle) {
				t.Errorf("%s: the page is gone", name)
			}
			continue
		}
		for late := time.Now().Add(hang); isThere(t, e, handle); {
			if time.Now().After(late) {
				t.Fatalf("%s: the page is there", name)
			}
		}
	}
}

// TestReattachToNothing: handles that name nothing of the browser are not attached to.
func TestReattachToNothing(t *testing.T) {
	t.Parallel()
	e := lasting(t, somebodysBrowser(t, false))
	for _, handle := range []string{`{"context":"x","target":"y","name":"alert(1)"}`, `{"context":"x","target":"y","name":"` + shim.NewName() + `"}`,
		`{"endpoint":"other","context":"x","target":"y","name":"` + shim.NewName() + `"}`} {
		if _, err := e.Attach(t.Context(), []byte(handle), ownerOf(1)); reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" {
			t.Errorf("%s: %v", handle, err)
		}
	}
}
