package cdp

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"net/http"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// TestScreenshot: a page that asks a person to act in it can be seen; one that shows
// a dialog cannot, and goes on afterwards.
func TestScreenshot(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<body style="background:#00ff00">` + askingPage)})+"/")
	asked := w.asks("seat", `{}`)
	picture, err := w.Screenshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	if got := color.RGBAModel.Convert(img.At(size.X-5, size.Y-5)); size.X < 200 || size.Y < 200 || got != (color.RGBA{0, 255, 0, 255}) {
		t.Errorf("the picture is %v, and %v in its corner", size, got)
	}
	if got, err := answered(t, asked, value(`1`)); err != nil || got != `1` {
		t.Errorf("after the picture the call gives %s, %v", got, err)
	}
	asked = w.asks("confirm", `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if picture, err := w.Screenshot(ctx); err == nil { // a browser that can is as good
		t.Logf("a page with a dialog shows %d bytes", len(picture))
	} else if e := bridge.AsError(err); e.Code != bridge.InternalError || e.Reason != bridge.Timeout {
		t.Errorf("with a dialog: %v", e)
	}
	if got, err := answered(t, asked, yes); err != nil || got != `true` {
		t.Errorf("after the dialog the call gives %s, %v", got, err)
	}
}
