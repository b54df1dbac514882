package cdp

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pagetools/pagetools/session"
)

// awaitReady opens a page that waits for something, and returns the events in
// order.
func awaitReady(t *testing.T, a session.Await, address string) <-chan session.Event {
	t.Helper()
	opened, err := shared.Open(t.Context(), session.TabOptions{Await: a})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan session.Event, 1000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ev := range opened.Events() {
			told <- ev
		}
	}()
	t.Cleanup(func() {
		if err := opened.Close(t.Context()); err != nil {
			t.Log(err) // the context of the test is over
		}
		<-ended
	})
	if err := opened.Load(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	return told
}

// before collects events until one is as wanted.
func before(t *testing.T, told <-chan session.Event, last func(session.Event) bool) (earlier []session.Event) {
	t.Helper()
	timer := time.NewTimer(hang)
	defer timer.Stop()
	for {
		select {
		case ev := <-told:
			if last(ev) {
				return earlier
			}
			earlier = append(earlier, ev)
		case <-timer.C:
			t.Fatalf("it never came; told was %T", earlier)
		}
	}
}

func isReady(ev session.Event) bool { _, ok := ev.(session.Ready); return ok }

func has[T session.Event](all []session.Event) bool {
	for _, ev := range all {
		if _, ok := ev.(T); ok {
			return true
		}
	}
	return false
}

// TestAwaitSelector: Ready comes when an element matches, whatever the page did
// to the functions that look for it, and again for the next document.
func TestAwaitSelector(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<div id=app></div><script>
			MutationObserver.prototype.observe = Document.prototype.querySelector = () => null;
			fetch('/hold').then(() => { app.className = 'done'; tool('late', () => 1) });
		</script>`),
		"/hold": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-released:
			case <-r.Context().Done():
			}
		},
	})
	told := awaitReady(t, session.Await{Selector: `div.done[id="app"]`}, base+"/")
	first := before(t, told, func(ev session.Event) bool { _, ok := ev.(session.Loaded); return ok })
	if has[session.Ready](first) {
		t.Error("it is ready before there is the element")
	}
	close(released)
	before(t, told, isReady)
}

// TestReadyAfterTools: what a document registered with the element comes before Ready, however
// much that is.
func TestReadyAfterTools(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		addEventListener('load', () => setTimeout(() => {
			document.body.append(Object.assign(document.createElement('main'), {id: 'app'}));
			for (let i = 0; i < 200; i++) tool('late' + i, () => 1, {description: 'd'.repeat(8000)});
		}, 100));
	</script>`)})
	told := awaitReady(t, session.Await{Selector: "#app"}, base+"/")
	tools := 0
	for _, ev := range before(t, told, isReady) {
		if c, ok := ev.(session.ToolsChanged); ok {
			tools = len(c.Tools)
		}
	}
	if tools != 200 {
		t.Errorf("%d tools came before", tools)
	}
}

// TestAwaitIdle: Ready comes when the network was idle, not before.
func TestAwaitIdle(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>fetch('/hold')</script>`),
		"/hold": func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-released:
				fmt.Fprint(w, "1")
			case <-r.Context().Done():
			}
		},
	})
	told := awaitReady(t, session.Await{Idle: true}, base+"/")
	before(t, told, func(ev session.Event) bool { _, ok := ev.(session.Loaded); return ok })
	select {
	case ev := <-told:
		if isReady(ev) {
			t.Error("it is ready while a request runs")
		}
	case <-time.After(time.Second): // twice the browser's half second
	}
	close(released)
	before(t, told, isReady)
}
