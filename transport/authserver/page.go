package authserver

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

//go:embed style.css
var style string

// pagePolicy lets a page show our style, and nothing else: no script, in no frame.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
}()

// asking holds what a page shows besides the request.
type asking struct {
	person *Person  // who is at the browser; nil: that is asked, too
	why    *problem // what was wrong with the last answer
	name   string   // that was typed
}

// ask shows the page on which a person lets a client in.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, q *request, a asking) {
	who := []any{attr("class", "who")}
	if q.Host != "" {
		who = append(who, el(atom.Strong, q.Host), " asks to use the tools of this server. It calls itself ", quoted(q.Name), ".")
	} else {
		who = append(who, "A client that calls itself ", quoted(q.Name), " asks to use the tools of this server. ",
			el(atom.Strong, "Nobody has verified this name."))
	}
	facts := el(atom.Dl)
	fact := func(name string, value ...any) { add(facts, el(atom.Div, el(atom.Dt, name), el(atom.Dd, value...))) }
	fact("You come back to", el(atom.Strong, place(q.Redirect)))
	fact("It may use", s.sitesOf(q, a.person))
	fact("It may", s.rightsOf(a.person))
	fact("Until", said(s.o.Words.Of("the operator ends it, or it was not used for 30 days"))...)
	form := el(atom.Form, attr("method", "post"), attr("action", consentPath), hidden("token", s.sealed(q)))
	status := http.StatusOK
	if a.why != nil {
		status = a.why.status
		add(form, add(el(atom.P, attr("role", "alert")), said(a.why.About)...))
	}
	add(form, s.fields(a)...)
	add(form, el(atom.P, attr("class", "buttons"), button(doAllow, "Allow"), button(doDeny, "Cancel")))
	show(w, r, a.why, status, policyOf(q.Redirect), "Let a client in", el(atom.H1, "Let this client in?"), el(atom.P, who...), facts,
		el(atom.P, attr("class", "care"), "Allow this only if you began it yourself, a moment ago. Whoever sent you here gets in with your rights."),
		form, el(atom.P, attr("class", "quiet"), "pagetools at "+s.o.host()))
}

// fields returns the fields in which a person says who they are.
func (s *Server) fields(a asking) []any {
	if a.person != nil {
		return []any{el(atom.P, "You are logged in here as ", el(atom.Strong, a.person.Name), ". ", button(doOther, "Somebody else"))}
	}
	code := el(atom.Input, attr("id", "code"), attr("name", "code"), attr("autocomplete", "one-time-code"), attr("autocapitalize", "characters"),
		attr("spellcheck", "false"), attr("maxlength", "32"), attr("placeholder", "ABCD-EFGH"), attr("aria-describedby", "how"))
	if a.why != nil && a.name == "" { // not at first: a person reads what is asked before it scrolls away
		add(code, attr("autofocus", ""))
	}
	all := []any{el(atom.P, el(atom.Label, attr("for", "code"), "Code"), code),
		add(el(atom.P, attr("id", "how"), attr("class", "quiet")), said(s.o.Words.Of("The operator of this server has a code for you."))...)}
	if !s.hasPasswords() {
		return all
	}
	more := el(atom.Details, el(atom.Summary, "Use a password instead"),
		el(atom.P, el(atom.Label, attr("for", "person"), "Name"), el(atom.Input, attr("id", "person"), attr("name", "person"),
			attr("autocomplete", "username"), attr("maxlength", "64"), attr("value", text.Short(a.name, maxName)))),
		el(atom.P, el(atom.Label, attr("for", "password"), "Password"), el(atom.Input, attr("id", "password"), attr("name", "password"),
			attr("type", "password"), attr("autocomplete", "current-password"), attr("maxlength", strconv.Itoa(MaxPassword)))))
	if a.name != "" {
		add(more, attr("open", ""))
	}
	return append(all, more)
}

// sitesOf says which sites a client gets.
func (s *Server) sitesOf(q *request, p *Person) string {
	rest := strings.TrimPrefix(q.Resource, s.o.Public)
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "/mcp"), "/webtools")
	if site := strings.TrimPrefix(rest, "/"); site != "" {
		return "the site " + text.Quote(site) + ", if you may use it"
	}
	if all := s.everybody(); p == nil && len(all) == 1 {
		p = all[0]
	}
	switch {
	case p == nil:
		return "the sites that you may use"
	case p.Sites == nil:
		return "all sites of this server"
	case len(p.Sites) == 0:
		return "no site"
	}
	return "the sites " + text.List(p.Sites, "and")
}

// rightsOf says what a client may do.
func (s *Server) rightsOf(p *Person) string {
	if all := s.everybody(); p == nil && len(all) == 1 {
		p = all[0]
	}
	switch {
	case p != nil && !slices.Contains(p.May, bridge.MayCall):
		return "see the tools, and call none"
	case p != nil && !slices.Contains(p.May, bridge.MayElicit):
		return "call tools as you"
	}
	return "call tools as you, and put the questions of calls to you"
}

// refuse tells a person of a problem after which nothing goes on.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p *problem) {
	show(w, r, p, p.status, pagePolicy, "This cannot go on", el(atom.H1, "This cannot go on"), el(atom.P, attr("role", "alert"), p.About),
		el(atom.P, attr("class", "quiet"), el(atom.Code, p.Code), ", pagetools at "+s.o.host()))
}

// policyOf is the policy of a page whose form leads to an address: browsers judge that way, too.
func policyOf(redirect string) string {
	scheme, _, _ := strings.Cut(redirect, ":")
	return pagePolicy + " " + scheme + ":"
}

// show writes a page.
func show(w http.ResponseWriter, r *http.Request, p *problem, status int, policy, title string, content ...any) {
	page := &html.Node{Type: html.DocumentNode}
	page.AppendChild(&html.Node{Type: html.DoctypeNode, Data: "html"})
	page.AppendChild(el(atom.Html, attr("lang", "en"),
		el(atom.Head, el(atom.Meta, attr("charset", "utf-8")), el(atom.Meta, attr("name", "viewport"), attr("content", "width=device-width, initial-scale=1")),
			el(atom.Title, title), el(atom.Style, style)),
		el(atom.Body, el(atom.Main, content...))))
	var b bytes.Buffer
	if err := html.Render(&b, page); err != nil {
		panic(err) // of a tree of ours
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // without an origin, the form would not count
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if p == nil {
		transport.WriteText(w, r, status, b.Bytes(), nil)
		return
	}
	e := p.bridged()
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retry))
		e.Retry = time.Duration(p.retry) * time.Second
	}
	transport.WriteText(w, r, status, b.Bytes(), e)
}

func attr(name, value string) html.Attribute { return html.Attribute{Key: name, Val: value} }

// el returns an element with attributes, texts and elements.
func el(a atom.Atom, inner ...any) *html.Node {
	return add(&html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}, inner...)
}

// add adds attributes, texts and elements to an element, and returns it.
func add(to *html.Node, inner ...any) *html.Node {
	for _, x := range inner {
		switch x := x.(type) {
		case html.Attribute:
			to.Attr = append(to.Attr, x)
		case string:
			to.AppendChild(&html.Node{Type: html.TextNode, Data: x})
		case *html.Node:
			to.AppendChild(x)
		}
	}
	return to
}

// said are words of ours, in which what is between ` is typed.
func said(words string) (all []any) {
	for i, part := range strings.Split(words, "`") {
		if i%2 == 1 {
			all = append(all, el(atom.Code, part))
		} else {
			all = append(all, part)
		}
	}
	return all
}

// quoted is a name that a stranger chose: it stays on its own, whatever is in it.
func quoted(name string) *html.Node {
	if name == "" {
		return el(atom.Bdi, attr("class", "name"), "nothing")
	}
	return el(atom.Bdi, attr("class", "name"), "\u201c"+called(name)+"\u201d")
}

func hidden(name, value string) *html.Node {
	return el(atom.Input, attr("type", "hidden"), attr("name", name), attr("value", value))
}

func button(does, words string) *html.Node {
	return el(atom.Button, attr("name", "do"), attr("value", does), attr("class", does), words)
}
