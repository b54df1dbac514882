package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/opentools"
)

// apiDocument has one operation that needs no consent.
const apiDocument = `{"openapi":"3.1.0","info":{"title":"Bench","version":"1"},"x-llm":{"version":"0.1","name":"Bench"},"paths":{"/search":{"get":{
"operationId":"search","x-llm":{"approval":"auto"},"parameters":[{"name":"query","in":"query","required":true,"schema":{"type":"string"}}],
"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object","required":["found"]}}}}}}}}}`

// apiMost limits how much longer than a bare client a call of an API may take.
const apiMost = 1.3

// serveAPI is the API, until its standard input ends. It prints its address.
func serveAPI() error {
	l, err := listen()
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/openapi.json" {
			_, _ = io.WriteString(w, apiDocument)
			return
		}
		_, _ = io.WriteString(w, `{"found":["rye","wheat"]}`)
	})}
	go func() { _ = server.Serve(l) }()
	fmt.Println("http://" + l.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return server.Close()
}

// apiServer starts another process that serves the API, as APIs on a machine are.
func apiServer(ctx context.Context) (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-api")
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = in.Close(); _ = cmd.Wait() }
	if _, err := fmt.Fscanln(out, &address); err != nil {
		stop()
		return "", nil, err
	}
	return address, stop, nil
}

// apiRows compares a call of an API through the whole bridge with the same request of a bare
// client.
func apiRows(ctx context.Context) ([]row, error) {
	address, stop, err := apiServer(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	defer transport.CloseIdleConnections()
	site, err := opentools.Connect(ctx, address+"/openapi.json", opentools.Options{Transport: transport})
	if err != nil {
		return nil, err
	}
	defer site.Close()
	ours := func() error {
		_, err := site.Call(ctx, "search", json.RawMessage(`{"query":"bread"}`))
		return err
	}
	client := &http.Client{Transport: transport}
	floor := func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/search?query=bread", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		var found struct{ Found []string }
		return json.NewDecoder(res.Body).Decode(&found)
	}
	var ratios []float64
	var all, bare []time.Duration
	for range size.rounds {
		a, err := sample(size.calls, ours)
		if err != nil {
			return nil, err
		}
		b, err := sample(size.calls, floor)
		if err != nil {
			return nil, err
		}
		all, bare = slices.Concat(all, a), slices.Concat(bare, b)
		ratios = append(ratios, float64(quantile(a, 0.5))/float64(quantile(b, 0.5)))
	}
	ratio := median(ratios)
	return []row{{"a warm call of an API, p50", quantile(all, 0.5).Round(time.Microsecond).String(), quantile(bare, 0.5).Round(time.Microsecond).String() + ", a bare client",
		fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.1f", apiMost), ratio <= apiMost}}, nil
}

// largeStart limits how long a start with a large document, such as GitHub's, may take.
const largeStart = 1500 * time.Millisecond

// startRows lists the tools of a large document. file is a document of others; "" makes one of
// 1,200 operations.
func startRows(ctx context.Context, bin, file string) ([]row, error) {
	text := largeDocument(1200)
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	changed := time.Now().Add(-time.Hour)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "openapi.json", changed, bytes.NewReader(text))
	}))
	defer site.Close()
	var all []time.Duration
	for range size.starts {
		took, err := timed(exec.CommandContext(ctx, bin, "tools", site.URL+"/openapi.json", "--expose", "all",
			"--allow-origin", "https://api.github.com", "--format", "text", "--quiet", "--data-dir", "off"))
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	a := median(all)
	return []row{{fmt.Sprintf("start to the list of a document of %d MB", len(text)>>20), ms(a), "", "",
		"under " + ms(largeStart), a < largeStart}}, nil
}

// largeDocument has so many operations, each with a few parameters, a body and a result of its own.
func largeDocument(operations int) []byte {
	var paths, schemas bytes.Buffer
	for i := range operations {
		if i > 0 {
			paths.WriteByte(',')
			schemas.WriteByte(',')
		}
		fmt.Fprintf(&paths, `"/repos/{owner}/things%d":{"put":{"operationId":"things/put-%d","summary":"Replaces a thing","description":%q,"x-llm":{},
			"parameters":[{"$ref":"#/components/parameters/owner"},{"name":"page","in":"query","schema":{"type":"integer","minimum":1,"default":1}}],
			"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/thing%d"}}}},
			"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/thing%d"},"example":%q}}}}}}`,
			i, i, bytes.Repeat([]byte("What it does, and when. "), 20), i, i, bytes.Repeat([]byte("x"), 6<<10))
		fmt.Fprintf(&schemas, `"thing%d":{"type":"object","required":["p0"],"properties":{`, i)
		for p := range 12 {
			if p > 0 {
				schemas.WriteByte(',')
			}
			fmt.Fprintf(&schemas, `"p%d":{"type":"string","maxLength":%d,"description":"The property %d of the thing, in words."}`, p, 100+i, p)
		}
		schemas.WriteString(`}}`)
	}
	return fmt.Appendf(nil, `{"openapi":"3.1.0","info":{"title":"Large","version":"1"},"x-llm":{"version":"0.1"},"paths":{%s},"components":{
		"parameters":{"owner":{"name":"owner","in":"path","required":true,"schema":{"type":"string"}}},"schemas":{%s}}}`, &paths, &schemas)
}
