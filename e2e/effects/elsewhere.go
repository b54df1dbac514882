package effects

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/e2e/app"
)

// The bounds of what is read of pages that a page links to.
const (
	maxElsewhere  = 20              // pages
	maxScripts    = 5               // scripts of each
	maxLinks      = 200             // links of a page
	maxSource     = 512 << 10       // bytes of a document or a script
	elsewhereTime = 3 * time.Second // for all together
)

// Elsewhere returns the paths of pages that pages of a site link to and that seem to declare tools:
// a form in their document says so, or a script that the pages themselves do not have. They are
// read and not opened: within bounds, without the login of the site, and no script runs. Pages are
// all of one origin; those that are given are not told.
func Elsewhere(ctx context.Context, site []*app.Target) (paths []string) {
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime)
	defer cancel()
	top := site[0].Origin
	r := &sourceReader{origin: top, client: &http.Client{CheckRedirect: within(top)}}
	if folder := site[0].Folder; folder != "" {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil
		}
		defer func() { _ = root.Close() }()
		r.client.Transport = http.NewFileTransportFS(root.FS())
	}
	var known, given, links []string
	for _, t := range site {
		d := r.document(ctx, t.URL)
		known, links = append(known, d.scripts...), append(links, d.links...)
		given = append(given, pathOf(t.URL))
	}
	slices.Sort(links)
	links = slices.DeleteFunc(slices.Compact(links), func(l string) bool { return slices.Contains(given, pathOf(l)) })
	links = links[:min(len(links), maxElsewhere)]
	declares := make([]bool, len(links))
	var reading sync.WaitGroup
	for i, link := range links {
		reading.Go(func() { declares[i] = r.declares(ctx, link, known) })
	}
	reading.Wait()
	for i, link := range links {
		if declares[i] {
			paths = append(paths, pathOf(link))
		}
	}
	return paths
}

// pathOf returns the path of an address. The index of a folder is the folder.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(cmp.Or(u.EscapedPath(), "/"), "index.html")
}

// within ends a request at the first redirect that leads to another origin.
func within(top string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if origin.OfURL(req.URL) != top || len(via) > maxScripts {
			return http.ErrUseLastResponse
		}
		return nil
	}
}

// sourceReader reads documents and scripts of one origin. What cannot be read is empty.
type sourceReader struct {
	origin string
	client *http.Client
}

func (r *sourceReader) read(ctx context.Context, address string) []byte {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil || origin.OfURL(req.URL) != r.origin {
		return nil
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil
	}
	source, _ := io.ReadAll(io.LimitReader(res.Body, maxSource)) // the beginning says enough
	return source
}

// declares reports whether a page seems to declare a tool, in more than the scripts that are known.
func (r *sourceReader) declares(ctx context.Context, address string, known []string) bool {
	d := r.document(ctx, address)
	return d.declares || slices.ContainsFunc(d.scripts, func(script string) bool {
		return !slices.Contains(known, script) && namesInterface(r.read(ctx, script))
	})
}

// namesInterface reports whether a script uses the interface that registers tools.
func namesInterface(script []byte) bool { return bytes.Contains(script, []byte("modelContext")) }

// source holds what the text of a document says.
type source struct {
	declares       bool // a tool, itself
	scripts, links []string
}

func (r *sourceReader) document(ctx context.Context, address string) (d source) {
	base, err := url.Parse(address)
	if err != nil {
		return d
	}
	z := html.NewTokenizer(bytes.NewReader(r.read(ctx, address)))
	inScript := false
	for {
		switch z.Next() {
		case html.ErrorToken: // the end
			return d
		case html.TextToken:
			d.declares = d.declares || inScript && namesInterface(z.Text())
		case html.StartTagToken:
			t := z.Token()
			inScript = t.Data == "script"
			for _, a := range t.Attr {
				d.attribute(base, t.Data, a.Key, strings.TrimSpace(a.Val))
			}
		default:
			inScript = false
		}
	}
}

// attribute reads an attribute of an element. An address with a query is not followed: it may do
// something, and is one of many.
func (d *source) attribute(base *url.URL, element, name, value string) {
	switch element + " " + name {
	case "form toolname":
		d.declares = true
	case "script src":
		if u, err := base.Parse(value); err == nil && len(d.scripts) < maxScripts {
			d.scripts = append(d.scripts, u.String())
		}
	case "a href":
		if u, err := base.Parse(value); err == nil && u.RawQuery == "" && origin.OfURL(u) == origin.OfURL(base) &&
			len(d.links) < maxLinks {
			d.links = append(d.links, u.Scheme+"://"+u.Host+pathOf(u.String()))
		}
	}
}
