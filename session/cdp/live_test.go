package cdp

import (
	"bytes"
	"image"
	"image/jpeg"
	"net/http"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// workedPage shows what a person did in it by its color.
const workedPage = `<style>html, body { margin: 0; height: 100% } #hit, #name { position: absolute; left: 0; top: 0; width: 100px; height: 100px }
	#name { top: 200px; caret-color: transparent } #far { position: absolute; top: 5000px }</style>
<body style="background: #ff0000"><button id=hit></button><input id=name><p id=far>far</p>` + askingPage + `<script>
	history.scrollRestoration = 'manual'; // what is loaded anew is red
	const done = (colour) => { document.body.style.background = colour };
	hit.addEventListener('click', (e) => e.isTrusted && done('#0000ff'));
	hit.addEventListener('dblclick', () => done('#ffff00'));
	const field = document.getElementById('name');
	field.addEventListener('input', () => field.value === 'Ada' && done('#00ff00'));
	field.addEventListener('keydown', (e) => e.key === 'Enter' && e.shiftKey && done('#00ffff'));
	addEventListener('scroll', () => scrollY > 100 && done('#ff00ff'));
	tool('rest', () => new Promise((r) => { let n = 30; const next = () => n-- ? requestAnimationFrame(next) : r('rested'); next() }));
	tool('colour', (i) => done(i.colour) ?? 'done');
	tool('boil', () => setInterval(() => done('#' + Math.floor(Math.random() * 4096).toString(16).padStart(3, '0')), 20) && 'boils');
</script>`

// colourOf returns the color of a frame's corner, rounded to what JPEG keeps.
func colourOf(t *testing.T, f bridge.Frame) [3]bool {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(f.JPEG))
	if err != nil {
		t.Fatal(err)
	}
	at := img.Bounds().Max.Sub(image.Pt(40, 40))
	r, g, b, _ := img.At(at.X, at.Y).RGBA()
	return [3]bool{r > 1<<15, g > 1<<15, b > 1<<15}
}

func watchTab(t *testing.T, w *shown) bridge.View {
	t.Helper()
	v, err := w.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// until reads frames until one has the color.
func until(t *testing.T, v bridge.View, want [3]bool) bridge.Frame {
	t.Helper()
	over := time.After(hang)
	for {
		select {
		case f, ok := <-v.Frames():
			if !ok {
				t.Fatal("the view ended")
			}
			if colourOf(t, f) == want {
				return f
			}
		case <-over:
			t.Fatalf("no frame shows %v", want)
		}
	}
}

var (
	red     = [3]bool{true, false, false}
	green   = [3]bool{false, true, false}
	blue    = [3]bool{false, false, true}
	yellow  = [3]bool{true, true, false}
	cyan    = [3]bool{false, true, true}
	magenta = [3]bool{true, false, true}
)

// TestView: a person sees the page and what changes in it, works in it with mouse,
// keys, text and wheel, and gets nothing from a page that is still.
func TestView(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(workedPage)})+"/")
	v := watchTab(t, w)
	first := until(t, v, red)
	if first.Width < 200 || first.Height < 200 {
		t.Errorf("a frame shows %v x %v", first.Width, first.Height)
	}
	other := watchTab(t, w)
	until(t, other, red)
	act := func(in ...bridge.Input) {
		t.Helper()
		for _, i := range in {
			if err := v.Act(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
	}
	click := func(x, y float64, clicks int) {
		act(bridge.Input{Type: bridge.MouseMove, X: x, Y: y}, bridge.Input{Type: bridge.MouseDown, X: x, Y: y, Button: "left", Clicks: clicks},
			bridge.Input{Type: bridge.MouseUp, X: x, Y: y, Button: "left", Clicks: clicks})
	}
	click(50, 50, 1)
	until(t, v, blue)
	until(t, other, blue)
	other.Close()
	click(50, 50, 2)
	until(t, v, yellow)
	click(50, 250, 1)
	act(bridge.Input{Type: bridge.Text, Text: "Ad"}, bridge.Input{Type: bridge.KeyDown, Key: "a", Code: "KeyA", Text: "a"}, bridge.Input{Type: bridge.KeyUp, Key: "a", Code: "KeyA"})
	until(t, v, green)
	act(bridge.Input{Type: bridge.KeyDown, Key: "Enter", Code: "Enter", Modifiers: 8}, bridge.Input{Type: bridge.KeyUp, Key: "Enter", Code: "Enter", Modifiers: 8})
	until(t, v, cyan)
	act(bridge.Input{Type: bridge.Wheel, X: 300, Y: 300, DY: 400})
	until(t, v, magenta)
	act(bridge.Input{Type: bridge.Reload})
	until(t, v, red)
}

// TestViewGoesBack: a person goes back to the document before, and no further; they read the text that is
// selected, or all of it, whatever the page has made of its functions.
func TestViewGoesBack(t *testing.T) {
	t.Parallel()
	at := site(t, map[string]http.HandlerFunc{"/": html(`<body>the first page<script>window.getSelection = () => 'forged';</script>`),
		"/next": html(`<body>the <b id=b>second</b> page`)})
	w := showPage(t, shared, at+"/")
	v := watchTab(t, w)
	reads := func(want string) {
		t.Helper()
		got := ""
		for end := time.Now().Add(hang); time.Now().Before(end); {
			if got, _ = v.Text(t.Context()); got == want {
				return
			}
		}
		t.Fatalf("its text is %q, not %q", got, want)
	}
	reads("the first page")
	if err := v.Act(t.Context(), bridge.Input{Type: bridge.Back}); bridge.AsError(err) == nil || bridge.AsError(err).Code != bridge.Conflict {
		t.Errorf("back to where there is nothing: %v", err)
	}
	if err := w.Load(t.Context(), at+"/next"); err != nil {
		t.Fatal(err)
	}
	reads("the second page")
	for _, in := range []bridge.Input{{Type: bridge.MouseDown, X: 60, Y: 16, Button: "left", Clicks: 2}, {Type: bridge.MouseUp, X: 60, Y: 16, Button: "left", Clicks: 2}} {
		if err := v.Act(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	reads("second")
	if err := v.Act(t.Context(), bridge.Input{Type: bridge.Back}); err != nil {
		t.Fatal(err)
	}
	reads("the first page")
}

// TestStillView: a page that is still sends nothing, and one that is not does.
func TestStillView(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(workedPage)})+"/")
	v := watchTab(t, w)
	until(t, v, red)
	if got, err := w.call("colour", `{"colour":"#00ff00"}`); err != nil || got != `"done"` {
		t.Fatal(got, err)
	}
	until(t, v, green)
	rest := func() (frames int) {
		if got, err := w.call("rest", `{}`); err != nil || got != `"rested"` {
			t.Fatal(got, err)
		}
		for {
			select {
			case <-v.Frames():
				frames++
			default:
				return frames
			}
		}
	}
	if n := rest(); n > 0 {
		t.Errorf("a still page showed %d frames in 30 of its own", n)
	}
	if got, err := w.call("boil", `{}`); err != nil || got != `"boils"` {
		t.Fatal(got, err)
	}
	if n := rest(); n == 0 {
		t.Error("a page that changes showed no frame in 30 of its own")
	}
}

// TestViewAndDialog: what a person does while a dialog is open is lost or refused,
// and nothing waits for it; the page goes on afterwards.
func TestViewAndDialog(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(workedPage)})+"/")
	v := watchTab(t, w)
	until(t, v, red)
	asked := w.asks("confirm", `{}`)
	for range 2 * maxUnanswered {
		if err := v.Act(t.Context(), bridge.Input{Type: bridge.MouseMove, X: 50, Y: 50}); err != nil && bridge.AsError(err).Code != bridge.Conflict {
			t.Fatal(err)
		}
	}
	if got, err := answered(t, asked, yes); err != nil || got != `true` {
		t.Errorf("after the dialog the call gives %s, %v", got, err)
	}
	if got, err := w.call("colour", `{"colour":"#0000ff"}`); err != nil || got != `"done"` {
		t.Fatal(got, err)
	}
	until(t, v, blue)
}

// TestViewEnds: a view ends with its page, and with Close, and nothing is left.
func TestViewEnds(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(workedPage)})+"/")
	ended := func(v bridge.View) {
		t.Helper()
		over := time.After(hang)
		for {
			select {
			case _, ok := <-v.Frames():
				if !ok {
					return
				}
			case <-over:
				t.Fatal("the view did not end")
			}
		}
	}
	v := watchTab(t, w)
	v.Close()
	v.Close()
	ended(v)
	if err := v.Act(t.Context(), bridge.Input{Type: bridge.MouseMove}); bridge.AsError(err).Code != bridge.Conflict {
		t.Errorf("a view that ended takes input: %v", err)
	}
	v = watchTab(t, w)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended(v)
	if _, err := w.View(t.Context()); err == nil || bridge.AsError(err).Outcome != bridge.NotRun {
		t.Errorf("a page that is gone can be watched: %v", err)
	}
}
