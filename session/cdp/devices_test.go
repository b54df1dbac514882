package cdp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
)

// devices maps what a page may ask a person for to the errors that it may get when nobody
// allowed it. A TypeError says that the browser has no such thing.
var devices = map[string]struct{ ask, denied string }{
	"a camera":           {`navigator.mediaDevices.getUserMedia({video: true})`, "NotAllowedError NotFoundError"},
	"a microphone":       {`navigator.mediaDevices.getUserMedia({audio: true})`, "NotAllowedError NotFoundError"},
	"the screen":         {`navigator.mediaDevices.getDisplayMedia()`, "NotAllowedError NotSupportedError"},
	"the screens":        {`getScreenDetails()`, "NotAllowedError"},
	"notifications":      {`Notification.requestPermission()`, "denied default"},
	"the clipboard":      {`navigator.clipboard.readText()`, "NotAllowedError"},
	"all of a clipboard": {`navigator.clipboard.read()`, "NotAllowedError"},
	"MIDI":               {`navigator.requestMIDIAccess({sysex: true})`, "NotAllowedError"},
	"USB":                {`navigator.usb.requestDevice({filters: []})`, "TypeError"},
	"HID":                {`navigator.hid.requestDevice({filters: []})`, "TypeError"},
	"a serial port":      {`navigator.serial.requestPort()`, "TypeError"},
	"Bluetooth":          {`navigator.bluetooth.requestDevice({acceptAllDevices: true})`, "TypeError"},
	"fonts":              {`queryLocalFonts().then((all) => all.length)`, "0 NotAllowedError SecurityError"},
	"a file to read":     {`showOpenFilePicker()`, "AbortError NotAllowedError SecurityError"},
	"a file to write":    {`showSaveFilePicker()`, "AbortError NotAllowedError SecurityError"},
	"a folder":           {`showDirectoryPicker()`, "AbortError NotAllowedError SecurityError"},
	"a file of a form":   {`(() => { const i = document.createElement("input"); i.type = "file"; i.click(); return i.files.length; })()`, "0"},
	"a password":         {`navigator.credentials.get({password: true, mediation: "required"})`, "null NotSupportedError"},
	"a passkey":          {`navigator.credentials.get({publicKey: {challenge: new Uint8Array(16)}})`, "NotAllowedError SecurityError"},
	"idleness":           {`IdleDetector.requestPermission()`, "denied prompt NotAllowedError"},
	"payment":            {`new PaymentRequest([{supportedMethods: "https://pay.invalid/"}], {total: {label: "a", amount: {currency: "EUR", value: "1"}}}).show()`, "NotSupportedError UnknownError AbortError"},
	"a place on disk":    {`navigator.storage.persist()`, "false"},
	"paper":              {`print()`, "undefined"},
}

// TestDevices: what a page may ask a person for is denied, also right after a person's click, and
// leaves nothing hanging.
func TestDevices(t *testing.T) {
	t.Parallel()
	var asks strings.Builder
	for name, d := range devices {
		fmt.Fprintf(&asks, "asks[%q] = async () => %s;\n", name, d.ask)
	}
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>const asks = {};` + asks.String() + `
		const said = async (name) => { try { return String(await asks[name]()); } catch (e) { return e.name; } };
		tool("ask", ({name}) => said(name));</script>`)})
	p := showPage(t, shared, base+"/")
	clicked := func(name string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // only what hangs reaches it
		defer cancel()
		yes := true
		got, err := cdp.Call(ctx, p.shown.top.Load().target, runtime.Evaluate, runtime.EvaluateParams{
			Expression: fmt.Sprintf("said(%q)", name), AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &yes,
		})
		if err != nil {
			return err.Error()
		}
		return string(got.Result.Value)
	}
	for name, d := range devices {
		for how, got := range map[string]string{"by itself": p.must("ask", fmt.Sprintf(`{"name":%q}`, name)), "after a click": clicked(name)} {
			if !strings.Contains(" "+d.denied+" ", " "+strings.Trim(got, `"`)+" ") {
				t.Errorf("a page that asks for %s %s gets %s, want one of %s", name, how, got, d.denied)
			}
		}
	}
	_, err := cdp.Call(t.Context(), p.browser.root, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted, BrowserContextID: p.context,
	})
	if got := clicked("notifications"); err != nil || got != `"granted"` {
		t.Errorf("what is allowed: %s, %v: the test proves nothing", got, err)
	}
}
