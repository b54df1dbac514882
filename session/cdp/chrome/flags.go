package chrome

import (
	"fmt"
	"slices"
	"strings"
)

// managedFlags are the flags of every browser that we start, beyond its profile
// and its pipe. They take away what a bridge has no use for and what speaks to
// the network by itself. Flags that other controllers copy and that take away a
// protection against hostile pages (popup blocking, hang monitor, IPC flooding)
// are left out on purpose.
var managedFlags = []string{
	"--remote-debugging-pipe",
	"--no-first-run",
	"--no-default-browser-check",
	"--no-startup-window",
	"--no-pings",
	"--disable-quic",
	"--no-service-autorun",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-component-extensions-with-background-pages",
	"--disable-sync",
	"--disable-default-apps",
	"--disable-extensions",
	"--disable-breakpad",
	"--disable-crash-reporter",
	"--disable-client-side-phishing-detection",
	"--disable-field-trial-config",
	"--disable-search-engine-choice-screen",
	"--site-per-process", // the headless shell leaves it out
	"--disable-back-forward-cache",
	"--disable-background-timer-throttling",
	"--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding",
	"--disable-prompt-on-repost",
	"--deny-permission-prompts",
	"--use-fake-ui-for-media-stream=deny",                        // or a call hangs that asks which screen to share
	"--disable-blink-features=WebUSB,Serial,WebHID,WebBluetooth", // or one hangs that asks which device
	"--disable-features=" + strings.Join(disabledFeatures, ","),
	"--metrics-recording-only",
	"--password-store=basic",
	"--use-mock-keychain",
	"--force-color-profile=srgb",
	"--mute-audio",
	"--autoplay-policy=no-user-gesture-required", // or a call hangs that plays: nobody clicks
	"--hide-scrollbars",
	"--webrtc-ip-handling-policy=disable_non_proxied_udp", // of a whole Chromium; the shell has the next
	"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	"--js-flags=--max-old-space-size=1024",
}

// disabledFeatures lists features that use the network, and three that open a renderer
// beside the one of the page: two pages of the address bar, which nobody sees, took ten
// times the processor's time of an empty page, and a spare one lay in each context.
var disabledFeatures = []string{
	"Translate", "MediaRouter", "DialMediaRouteProvider", "OptimizationHints",
	"AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
	"WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess", "NetworkTimeServiceQuerying",
}

// forbiddenArgs are the names of flags that would open the browser to others or change how we
// speak to it.
var forbiddenArgs = []string{"--remote-debugging-port", "--remote-debugging-pipe",
	"--remote-debugging-address", "--remote-debugging-io-pipes", "--user-data-dir"}

// networkArgs are the names of flags that would lead pages round the proxy that confines them.
var networkArgs = []string{"--proxy-server", "--proxy-bypass-list", "--proxy-pac-url", "--proxy-auto-detect",
	"--no-proxy-server", "--host-resolver-rules", "--host-rules", "--enable-quic", "--force-webrtc-ip-handling-policy",
	"--webrtc-ip-handling-policy"}

// checkArgs refuses operator's arguments that are not flags or that would take
// the browser out of our hands.
func (o *Options) checkArgs() error {
	option := o.Words.Of("Args")
	for _, a := range o.Args {
		name, _, _ := strings.Cut(a, "=")
		name = strings.ToLower(strings.TrimSpace(name)) // as browsers on Windows, and all, read it
		if !strings.HasPrefix(a, "--") || len(name) < 3 {
			return fmt.Errorf("%s %q is not a flag of a browser: it must begin with two dashes, such "+
				"as --lang=de", option, a)
		}
		if name == "--no-sandbox" {
			return fmt.Errorf("%s: --no-sandbox is an option of pagetools itself, so that it is never "+
				"set by the way: give it without %[1]s", option)
		}
		if o.ProxyServer != "" && slices.Contains(networkArgs, name) {
			return fmt.Errorf("%s: %s cannot be set, because it would lead pages round the proxy that "+
				"confines them: leave it out; %s and %s are options of pagetools itself", option, name,
				o.Words.Of("ProxyServer"), o.Words.Of("Private"))
		}
		if slices.Contains(forbiddenArgs, name) {
			return fmt.Errorf("%s: %s cannot be set, because pagetools needs it for itself: leave it out",
				option, name)
		}
	}
	return nil
}

// english are the languages of pages that nobody sees.
const english = "en-US,en"

// Languages returns the Accept-Language of headless pages, such as "de-CH,de": both kinds
// of browsers have lists of their own, and one uses the machine's. It returns english
// unless the operator's flags name others.
func (o *Options) Languages() string {
	lang := "en-US"
	for _, a := range o.Args {
		name, value, _ := strings.Cut(a, "=")
		switch {
		case value == "":
		case name == "--accept-lang":
			return value
		case name == "--lang":
			lang = value
		}
	}
	return LanguageList(lang)
}

// LanguageList returns the Accept-Language for a locale, such as "de-CH,de" for "de-CH".
func LanguageList(locale string) string {
	if base, _, more := strings.Cut(locale, "-"); more {
		return locale + "," + base
	}
	return locale
}

// arguments builds the command line of a browser of a kind.
func (o *Options) arguments(kind Kind, profile string) []string {
	args := append([]string{}, managedFlags...)
	args = append(args, "--user-data-dir="+profile)
	if !o.Headful {
		args = append(args, "--headless", "--accept-lang="+o.Languages())
		if o.Languages() == english {
			args = append(args, "--lang=en-US") // whatever the machine speaks
		}
	}
	if kind == Shell && !o.Windows {
		args = append(args, "--block-new-web-contents") // it has no popup blocker
	}
	if o.NoSandbox {
		args = append(args, "--no-sandbox")
	}
	if o.AcceptInsecureCerts {
		args = append(args, "--ignore-certificate-errors")
	}
	if o.ProxyServer != "" {
		// Without <-loopback> loopback addresses go round every proxy. The browser resolves no
		// name itself, not even one that a page only announces.
		args = append(args, "--proxy-server="+o.ProxyServer, "--proxy-bypass-list=<-loopback>",
			"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
	}
	if o.Width > 0 && o.Height > 0 {
		args = append(args, fmt.Sprintf("--window-size=%d,%d", o.Width, o.Height))
	}
	if smallSharedMemory() {
		args = append(args, "--disable-dev-shm-usage")
	}
	if !o.WebMCP {
		return append(args, o.Args...)
	}
	const features = "--enable-features="
	enabled := features + "WebMCP" // of several such flags the browser takes the last
	for _, a := range o.Args {
		if list, ok := strings.CutPrefix(a, features); ok {
			enabled += "," + list
		} else {
			args = append(args, a)
		}
	}
	return append(args, enabled)
}
