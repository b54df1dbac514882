package opentools_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// TestSet: the API of a site that is taken out gets no more calls; those under way may go on for
// Drain, and one of which something was sent is never told not to have run. A site that stays keeps
// its sessions; those of one that was changed are told to be gone, once.
func TestSet(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/cart", "get", "cart", free)+","+operation("/slow", "post", "slow", free))
	s.on("/cart", func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("cart"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "cart", Value: "1"})
			_, _ = io.WriteString(w, "new")
			return
		}
		_, _ = io.WriteString(w, "known")
	})
	began, may := make(chan struct{}, 2), make(chan struct{})
	s.on("/slow", func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-may:
		case <-r.Context().Done():
		}
	})
	over := make(chan int64, 100)
	of := func(generation int64) opentools.SiteOptions {
		return opentools.SiteOptions{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL, Generation: generation}, URL: s.URL + "/openapi.json",
			Transport: direct, Ended: func() { over <- generation }}
	}
	for name, x := range map[string]struct {
		drain time.Duration
		want  string
	}{"a call that ends": {time.Minute, `{"status":200}`}, "a call that takes too long": {50 * time.Millisecond, "INTERNAL_ERROR DRAINING unknown"}} {
		t.Run(name, func(t *testing.T) {
			r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{of(1)}, Drain: x.drain})
			t.Cleanup(r.Close)
			o := bridge.SiteOptions{}
			o.Approval.Mode = "auto"
			b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"api": o}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Close)
			set := func(sites ...opentools.SiteOptions) {
				t.Helper()
				all := map[string]bridge.SiteOptions{}
				for _, s := range sites {
					all[s.Name] = o
				}
				take, err := b.PrepareSites(all)
				if err != nil {
					t.Fatal(err)
				}
				take(func() { r.Set(sites, nil) })
			}
			in := func(tool, session string) string {
				return told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: tool, Session: session, Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}))
			}
			says := func(got, want string) {
				t.Helper()
				if !strings.HasPrefix(got, want) {
					t.Errorf("it says %s, want %s", got, want)
				}
			}
			says(in("cart", "a"), `"new"`)
			set(of(1))
			says(in("cart", "a"), `"known"`)

			runs, waits := make(chan string, 1), make(chan string, 1)
			go func() { runs <- in("slow", "b") }()
			<-began
			go func() { waits <- in("cart", "b") }() // its turn comes after that
			for r.Waiting("api") == 0 {
				runtime.Gosched()
			}
			set(of(2))
			says(<-waits, "INTERNAL_ERROR DRAINING not_run")
			says(in("cart", "a"), "SESSION_EXPIRED  not_run")
			says(in("cart", "a"), `"new"`)
			if x.drain == time.Minute {
				select {
				case g := <-over:
					t.Errorf("generation %d is over while a call has it", g)
				default:
				}
				may <- struct{}{}
			}
			says(<-runs, x.want)
			if g := <-over; g != 1 {
				t.Errorf("generation %d is over", g)
			}
			set()
			says(in("cart", "a"), "WEBTOOL_NOT_FOUND  not_run")
			<-over
		})
	}
}

// TestTakenOut: where no site has pages, one that is not there any more is no site, whoever asks.
func TestTakenOut(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	site := opentools.SiteOptions{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL}, URL: s.URL + "/openapi.json", Transport: direct}
	r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{site}})
	defer r.Close()
	ref := bridge.Ref{Site: "api"}
	if _, err := r.Await(t.Context(), ref); err != nil || len(r.Sites()) != 1 {
		t.Fatalf("the control: %v, %v", r.Sites(), err)
	}
	r.Set(nil, nil)
	_, known := r.Catalog(ref)
	_, awaited := r.Await(t.Context(), ref)
	_, acquired := r.Acquire(t.Context(), ref)
	for _, err := range []error{known, awaited, acquired} {
		if e := bridge.AsError(err); e == nil || e.Code != bridge.WebtoolNotFound || e.Outcome != bridge.NotRun {
			t.Errorf("a site that was taken out: %v", err)
		}
	}
	if shown := r.Shows(ref); shown != nil || len(r.Sites()) != 0 {
		t.Errorf("%v, %v", shown, r.Sites())
	}
}

// TestSetManyTimes: sites that come and go while calls run leave nothing behind.
func TestSetManyTimes(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	var runs atomic.Int64
	s.on("/get", func(w http.ResponseWriter, _ *http.Request) { runs.Add(1); _, _ = io.WriteString(w, "x") })
	var over atomic.Int64
	of := func(generation int64) opentools.SiteOptions {
		return opentools.SiteOptions{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL, Generation: generation}, URL: s.URL + "/openapi.json",
			Transport: direct, Ended: func() { over.Add(1) }}
	}
	r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{of(1)}})
	b, err := bridge.New(r, bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop, ran := make(chan struct{}), make(chan int64)
	go func() {
		n := int64(0)
		for {
			end := call(t, b, "get", "{}")
			if end.Err == nil || end.Err.Outcome != bridge.NotRun {
				n++
			}
			select {
			case <-stop:
				ran <- n
				return
			default:
			}
		}
	}()
	for i := range int64(50) {
		take, err := b.PrepareSites(map[string]bridge.SiteOptions{"api": {}})
		if err != nil {
			t.Fatal(err)
		}
		take(func() { r.Set([]opentools.SiteOptions{of(i + 2)}, nil) })
		_, _, _ = r.About(t.Context(), "api")
	}
	close(stop)
	if n := <-ran; n != runs.Load() || n == 0 {
		t.Errorf("%d calls are told to have run, and %d ran", n, runs.Load())
	}
	b.Close()
	r.Close()
	if over.Load() != 50 {
		t.Errorf("%d of 50 are over", over.Load())
	}
}
