package mcp_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

// frameworkSources has a shop for each framework, and the lock of the packages.
const frameworkSources = "../frameworks"

// build bundles a shop as its framework's users do, and returns its files by name.
func (f framework) build(node, modules string) (map[string][]byte, error) {
	dir, err := filepath.Abs(frameworkSources)
	if err != nil {
		return nil, err
	}
	mode := "production"
	if f.development {
		mode = "development"
	}
	made := api.Build(api.BuildOptions{
		AbsWorkingDir:       dir,
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: f.source, OutputPath: "app"}},
		NodePaths:           []string{modules},
		Bundle:              true, Splitting: true, Format: api.FormatESModule, Outdir: "/",
		Conditions: []string{mode},
		Define: map[string]string{"process.env.NODE_ENV": `"` + mode + `"`,
			"__VUE_OPTIONS_API__": "true", "__VUE_PROD_DEVTOOLS__": "false",
			"__VUE_PROD_HYDRATION_MISMATCH_DETAILS__": "false",
			"ngDevMode": "false", "ngJitMode": "true", "ngServerMode": "false"},
		MinifyWhitespace: !f.development, MinifyIdentifiers: !f.development,
		MinifySyntax: !f.development,
		JSX:          api.JSXAutomatic, JSXDev: f.development,
		TsconfigRaw: `{"compilerOptions": {"experimentalDecorators": true, "useDefineForClassFields": false}}`,
		Plugins:     []api.Plugin{svelte(node, modules)},
		LogLevel:    api.LogLevelSilent, // warnings are about the packages of others
	})
	if len(made.Errors) > 0 {
		lines := api.FormatMessages(made.Errors, api.FormatMessagesOptions{})
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	files := map[string][]byte{}
	for _, file := range made.OutputFiles {
		files[filepath.Base(file.Path)] = file.Contents
	}
	return files, nil
}

// svelte compiles components with Svelte's own compiler.
func svelte(node, modules string) api.Plugin {
	return api.Plugin{Name: "svelte", Setup: func(b api.PluginBuild) {
		b.OnLoad(api.OnLoadOptions{Filter: `\.svelte$`}, func(a api.OnLoadArgs) (r api.OnLoadResult, err error) {
			cmd := exec.Command(node, filepath.Join(frameworkSources, "svelte.mjs"), modules, a.Path)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				return r, fmt.Errorf("compiling %s: %w\n%s", a.Path, err, &said)
			}
			text := string(out)
			r.Contents, r.Loader = &text, api.LoaderJS
			return r, nil
		})
	}}
}

// shop is the site of a framework. It has no item that is called sold-out, breaks at one that is
// called broken,
// and fails late at one that is called slow.
type shop struct {
	framework
	files map[string][]byte
	pages *template.Template
}

// shopPage holds the values that the templates of pages.html show.
type shopPage struct {
	App, Item, Count, Alert string
	Number                  int
}

// open starts the shop's server, and returns its address.
func (f framework) open(t *testing.T, files map[string][]byte, pages *template.Template) string {
	t.Helper()
	s := &shop{f, files, pages}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		s.show(w, http.StatusOK, "", shopPage{})
	})
	mux.HandleFunc("GET /{file}", s.file)
	mux.HandleFunc("POST /api/order", s.orderJSON)
	mux.HandleFunc("POST /order", s.orderForm)
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// file answers with a script, or with a page that a shop has besides the first.
func (s *shop) file(w http.ResponseWriter, r *http.Request) {
	switch name := r.PathValue("file"); {
	case s.files[name] != nil:
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(s.files[name]) // a page that is gone needs no answer
	case name == "find" || name == "orders" || name == "ordered":
		p := shopPage{Number: 4711, Item: r.FormValue("item"), Count: r.FormValue("count")}
		s.show(w, http.StatusOK, name, p)
	default:
		http.NotFound(w, r)
	}
}

// show sends a template, or without a name the page on which an order is made.
func (s *shop) show(w http.ResponseWriter, status int, name string, p shopPage) {
	p.App = s.name
	if name = cmp.Or(name, p.App); s.pages.Lookup(name) == nil {
		name = "app"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = s.pages.ExecuteTemplate(w, name, p) // a page that is gone needs no answer
}

// slowly says how long the answer to an order of something slow takes: longer than a page that does
// nothing counts as quiet.
const slowly = 600 * time.Millisecond

// verdict says what becomes of an order: a status, and an alert when it is not taken.
func verdict(r *http.Request, item string) (status int, alert string) {
	switch item {
	case "slow": // and then it fails
		select {
		case <-time.After(slowly):
		case <-r.Context().Done():
		}
		return http.StatusServiceUnavailable, "Try again later"
	case "sold-out":
		return http.StatusUnprocessableEntity, "Sold out"
	case "broken":
		return http.StatusInternalServerError, "Something went wrong"
	default:
		return http.StatusCreated, ""
	}
}

// orderJSON takes the orders of pages that fetch.
func (*shop) orderJSON(w http.ResponseWriter, r *http.Request) {
	var order struct{ Item string }
	status, alert := http.StatusBadRequest, "Not an order"
	if err := json.NewDecoder(r.Body).Decode(&order); err == nil {
		status, alert = verdict(r, order.Item)
	}
	answer := map[string]any{"number": 4711}
	if alert != "" {
		answer = map[string]any{"message": alert}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // a page that is gone needs no answer
}

// orderForm takes the orders of forms: htmx gets a part of a page, and the others a page.
func (s *shop) orderForm(w http.ResponseWriter, r *http.Request) {
	p := shopPage{Item: r.FormValue("item"), Count: r.FormValue("count")}
	var status int
	status, p.Alert = verdict(r, p.Item)
	switch {
	case s.name == "htmx":
		if p.Alert == "" {
			p.Number = 4711
		}
		s.show(w, status, "said", p)
	case p.Alert != "":
		s.show(w, status, "", p)
	default:
		http.Redirect(w, r, "ordered?"+r.PostForm.Encode(), http.StatusSeeOther)
	}
}
