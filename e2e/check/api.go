package check

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
)

// API is a document of OpenAPI with x-llm, as it was read.
type API struct {
	// URL says where it is: an address, or a file.
	URL string `json:"url"`
	// Auth quotes what llm.json says of signing in; "" means nothing.
	Auth string `json:"auth,omitempty"`
	// Document is its text as JSON.
	Document json.RawMessage `json:"document"`
	// Problem says why it cannot be read as a whole; "" is nothing.
	Problem string `json:"problem,omitempty"`
	// Left are the operations that a model does not get, or not wholly.
	Left []Left `json:"left,omitempty"`
}

// Left is an operation of which something is left out.
type Left struct {
	// Operation is its method and path, such as "POST /stamps".
	Operation string `json:"operation"`
	Reason    string `json:"reason"`
	// Unusable is true when it is not a tool at all.
	Unusable bool `json:"unusable,omitempty"`
}

// description holds what the rules read of a document.
type description struct {
	*API       `json:"-"`
	XLLM       map[string]json.RawMessage `json:"x-llm"`
	Servers    []apiServer                `json:"servers"`
	Security   []map[string][]string      `json:"security"`
	Components struct {
		Schemes map[string]struct{ Type, Scheme string } `json:"securitySchemes"`
	} `json:"components"`
	operations []*operation
}

type apiServer struct{ URL string }

type operation struct {
	method, path string

	ID          string `json:"operationId"`
	Summary     string
	Description string
	Security    *[]map[string][]string
	Servers     []apiServer
	XLLM        map[string]json.RawMessage `json:"x-llm"`
}

// apiMethods are the members of a path that are operations.
var apiMethods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}

// readAPI reads a document as far as it is one: what has another type than it should is left out,
// because the bridge's own reading has found it.
func readAPI(a *API) *description {
	if a == nil {
		return nil
	}
	d := &description{API: a}
	var paths struct {
		Paths map[string]map[string]json.RawMessage
	}
	_ = json.Unmarshal(a.Document, d)
	_ = json.Unmarshal(a.Document, &paths)
	for _, path := range sortedKeys(paths.Paths) {
		item := paths.Paths[path]
		var near []apiServer
		_ = json.Unmarshal(item["servers"], &near)
		for _, method := range apiMethods {
			if item[method] == nil {
				continue
			}
			o := &operation{method: method, path: path}
			_ = json.Unmarshal(item[method], o)
			o.Servers = append(o.Servers, near...)
			d.operations = append(d.operations, o)
		}
	}
	return d
}

func (o *operation) name() string { return strings.ToUpper(o.method) + " " + o.path }

// reads reports whether the method only reads (RFC 9110, section 9.2.1).
func (o *operation) reads() bool {
	return slices.Contains([]string{"get", "head", "query", "options"}, o.method)
}

// offered reports whether models see the operation.
func (o *operation) offered() bool { return o.XLLM != nil && !says(o.XLLM, "enabled", "false") }

func says(members map[string]json.RawMessage, name, value string) bool {
	return string(members[name]) == value
}

func (d *description) at(pointer string) place { return place{url: d.URL, pointer: pointer} }

func (d *description) of(o *operation, part string) place {
	pointer := schema.Pointer("paths", o.path, o.method) + part
	return place{url: d.URL, name: o.name(), pointer: pointer}
}

func (r *run) operations(visit func(*operation)) {
	if r.api == nil {
		return
	}
	for _, o := range r.api.operations {
		visit(o)
	}
}

// elsewhere reports whether a server is of another origin than the document. Of a file nothing is
// known.
func (d *description) elsewhere(s apiServer) bool {
	base, err := url.Parse(d.URL)
	if err != nil || base.Host == "" {
		return false
	}
	to, err := base.Parse(s.URL)
	return err != nil || !origin.SameURL(to, base)
}
