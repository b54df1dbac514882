package console

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/js"
	"github.com/pagetools/pagetools/transport"
)

// PagePaths are the paths that a browser gets without a credential: the page asks
// for one, and shows nothing before. A link that logs in once brings its own.
var PagePaths = append([]string{"", "/console.css", "/api/login"}, slices.Collect(maps.Keys(scripts))...)

// scripts holds the modules of the page by their paths.
var scripts = func() map[string]string {
	const dir = "dist/console"
	all := map[string]string{}
	files, err := js.Console.ReadDir(dir)
	for _, file := range files {
		text, failed := js.Console.ReadFile(dir + "/" + file.Name())
		err = cmp.Or(err, failed)
		all["/console/"+file.Name()] = string(text)
	}
	if err != nil {
		panic(err) // they are in the program
	}
	return all
}()

// pagePolicy lets the page load what is ours, and nothing else; no markup can be
// made of a text in it (CSP, Trusted Types).
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// pagePermissions lets the page copy, and nothing else that a browser asks a person about or does for
// a page (Permissions Policy, the features that Chromium and Firefox know).
const pagePermissions = "accelerometer=(), ambient-light-sensor=(), attribution-reporting=(), autoplay=(), bluetooth=(), browsing-topics=(), camera=(), " +
	"clipboard-read=(), clipboard-write=(self), compute-pressure=(), cross-origin-isolated=(), display-capture=(), encrypted-media=(), fullscreen=(), " +
	"gamepad=(), geolocation=(), gyroscope=(), hid=(), identity-credentials-get=(), idle-detection=(), local-fonts=(), magnetometer=(), microphone=(), " +
	"midi=(), otp-credentials=(), payment=(), picture-in-picture=(), publickey-credentials-create=(), publickey-credentials-get=(), screen-wake-lock=(), " +
	"serial=(), shared-storage=(), storage-access=(), sync-xhr=(), unload=(), usb=(), web-share=(), window-management=(), xr-spatial-tracking=()"

func pageRoutes() []transport.Route {
	routes := []transport.Route{
		static("/", "text/html; charset=utf-8", js.ConsoleHTML),
		static("/console.css", "text/css; charset=utf-8", js.ConsoleCSS),
	}
	for path, text := range scripts {
		routes = append(routes, static(path, "text/javascript; charset=utf-8", text))
	}
	return routes
}

func static(path, contentType, text string) transport.Route {
	return transport.Get(path, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Length", strconv.Itoa(len(text)))
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Permissions-Policy", pagePermissions)
		h.Set("Origin-Agent-Cluster", "?1")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, text) // a client that is gone
		}
	})
}
