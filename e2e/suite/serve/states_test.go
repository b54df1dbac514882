package serve_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/transport/console"
)

// mood makes a server answer the operators' page well, late, with an error, or not at all.
type mood struct {
	mu  sync.Mutex
	is  string
	end context.CancelFunc // ends what is under way
	ctx context.Context
}

// The moods.
const (
	isWell    = ""
	isLoading = "loading"
	isError   = "error"
	isRefused = "refused"
	isOffline = "offline"
)

// turn changes the mood; what is under way ends.
func (m *mood) turn(to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end != nil {
		m.end()
	}
	m.is = to
	m.ctx, m.end = context.WithCancel(context.Background())
}

func (m *mood) around(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		is, over := m.is, m.ctx
		m.mu.Unlock()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(over, cancel)()
		stream := r.URL.Path == "/api/events"
		if !strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/api/me") || strings.HasPrefix(r.URL.Path, "/api/login") {
			is = isWell
		}
		switch {
		case is == isLoading && !stream:
			<-ctx.Done()
			panic(http.ErrAbortHandler)
		case is == isOffline:
			panic(http.ErrAbortHandler)
		case is == isError && !stream:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"error":{"code":"INTERNAL_ERROR","message":"The store does not answer."}}`))
		case is == isRefused && !stream:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":{"code":"FORBIDDEN","message":"The right view is needed."}}`))
		default:
			h.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// TestStatesInThemes looks at every screen while it loads, with nothing in it, when the server says that
// something failed or that this person may not see it, and when nobody answers, in every theme.
func TestStatesInThemes(t *testing.T) {
	gatetest.Nightly(t, "it looks at 300 pages in ten browsers")
	m := &mood{}
	m.turn(isWell)
	_, login := wholePage(t, m.around)
	_, nothing := serveRouter(t, bridgetest.NewRouter(), store.Memory(store.Options{}), bridge.Options{Sessions: newScriptedPages(t)}, console.Options{})
	for n, theme := range themes {
		t.Run(theme.name, func(t *testing.T) {
			page := inTheme(t, login(), "#inbox-title", n)
			for _, state := range []struct{ name, shows string }{
				{isLoading, "document.querySelector('main .skeleton') !== null"},
				{isError, "document.querySelector('main').innerText.includes('The store does not answer.')"},
				{isRefused, "document.querySelector('main').innerText.includes('The right view is needed.')"},
				{isOffline, "document.querySelector('header').innerText.includes('not connected')"},
			} {
				sheet := page.sheet(t)
				for _, screen := range screens {
					m.turn(isWell)
					page.eval(t, "(location.hash = '#/inbox', '')")
					page.until(t, "document.querySelector('main h1')?.id === 'inbox-title' && document.querySelector('header').innerText.includes('live')")
					m.turn(state.name)
					page.reload(t, screen[1])
					page.dress(t, n)
					if state.name == isOffline || screen[0] != "inbox" && screen[0] != "sites" { // the one stream tells these
						page.until(t, state.shows)
					}
					page.clean(t, screen[0]+" "+state.name+" "+theme.name)
					sheet.add(t)
				}
				sheet.write(t, state.name+"-"+theme.name)
			}
			m.turn(isWell)
			empty := inTheme(t, nothing(), "#inbox-title", n)
			sheet := empty.sheet(t)
			for _, screen := range screens {
				empty.eval(t, "(location.hash = '"+screen[1]+"', '')")
				empty.until(t, "location.hash === '"+screen[1]+"' && document.querySelector('main h1') !== null && document.querySelector('main .skeleton') === null")
				empty.clean(t, screen[0]+" empty "+theme.name)
				sheet.add(t)
			}
			sheet.write(t, "empty-"+theme.name)
		})
	}
}

// reload loads the page anew, at another place of it.
func (p *shownPage) reload(t *testing.T, address string) {
	t.Helper()
	p.eval(t, "(window.before = true, location.hash = '"+address+"', location.reload(), '')")
	suite.Eventually(t, suite.StopWithin, "a page that is loaded anew at "+address, func() bool {
		is, err := cdp.Evaluate(t.Context(), p.Tab, "String(window.before === undefined && document.querySelector('main')?.childElementCount > 0)")
		return err == nil && is == "true"
	})
}

// sheet holds small pictures of a page, to be looked at together.
type sheet struct {
	page *shownPage
	all  []image.Image
}

func (p *shownPage) sheet(t *testing.T) *sheet {
	t.Helper()
	return &sheet{page: p}
}

// add takes a picture, with -screens.
func (s *sheet) add(t *testing.T) {
	t.Helper()
	if !*newScreens {
		return
	}
	data, err := s.page.Tab.(session.Photographer).Screenshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	s.all = append(s.all, one)
}

// write draws all pictures in rows of five, half as large, with -screens.
func (s *sheet) write(t *testing.T, name string) {
	t.Helper()
	if len(s.all) == 0 {
		return
	}
	const across, gap = 5, 8
	size := s.all[0].Bounds().Size()
	cell := size.Add(image.Pt(gap, gap))
	whole := image.NewRGBA(image.Rect(0, 0, cell.X*across, cell.Y*((len(s.all)+across-1)/across)))
	draw.Draw(whole, whole.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	for n, one := range s.all {
		at := image.Pt(n%across*cell.X, n/across*cell.Y)
		draw.Draw(whole, image.Rectangle{at, at.Add(size)}, one, image.Point{}, draw.Src)
	}
	if size.X > 640 {
		whole = halved(whole)
	}
	var data bytes.Buffer
	err := png.Encode(&data, whole)
	if err == nil {
		err = os.WriteFile(filepath.Join(docs.Root(t), "docs", "console", name+".png"), data.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// halved makes one pixel of four.
func halved(of *image.RGBA) *image.RGBA {
	size := of.Bounds().Size().Div(2)
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range 4 * size.X {
			at := of.PixOffset(x/4*2, 2*y) + x%4
			out.Pix[out.PixOffset(0, y)+x] = uint8((int(of.Pix[at]) + int(of.Pix[at+4]) + int(of.Pix[at+of.Stride]) + int(of.Pix[at+of.Stride+4])) / 4)
		}
	}
	return out
}
