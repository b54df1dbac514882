package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// Routes are the paths of the API and of its page.
func (f *Face) Routes() []transport.Route {
	return slices.Concat(pageRoutes(), policyFace{f}.routes(), auditFace{f}.routes(), tracesFace{f}.routes(), f.versionRoutes(), clusterRoutes(f), []transport.Route{
		transport.Get("/api/me", f.viewing(f.me)),
		transport.Get("/api/questions", f.viewing(f.list)),
		{Pattern: "/api/questions/{id}", Methods: map[string]http.HandlerFunc{
			http.MethodGet:  f.elsewhere(bridge.MayView, f.question),
			http.MethodPost: f.elsewhere(bridge.MayAnswer, f.answer)}},
		transport.Get("/api/questions/{id}/picture", f.elsewhere(bridge.MayAnswer, f.picture)),
		transport.Get("/api/questions/{id}/live", f.elsewhere(bridge.MayAnswer, f.live)),
		transport.Get("/api/sites", f.viewing(f.listSites)),
		transport.Get("/api/sites/{site}/tools", f.atNode(f.listTools)),
		transport.Get("/api/sites/{site}/findings", f.atNode(f.listFindings)),
		transport.Get("/api/sites/{site}/config", f.atNode(f.config)),
		{Pattern: "/api/sites/{site}/validate", Methods: map[string]http.HandlerFunc{http.MethodPost: f.atNode(f.validate)}},
		{Pattern: "/api/calls", Methods: map[string]http.HandlerFunc{
			http.MethodGet: f.viewing(callsFace{f}.listCalls), http.MethodPost: callsFace{f}.runningAt(callsFace{f}.run)}},
		transport.Get("/api/calls/{id}", f.viewing(callsFace{f}.call)),
		transport.Get("/api/calls/{id}/live", tracesFace{f}.ofCall(liveCall(f))),
		{Pattern: "/api/calls/{id}/cancel", Methods: map[string]http.HandlerFunc{http.MethodPost: callsFace{f}.runningAt(callsFace{f}.cancel)}},
		transport.Get("/api/sessions", f.viewing(sessionsFace{f}.listSessions)),
		{Pattern: "/api/sessions/{id}", Methods: map[string]http.HandlerFunc{http.MethodDelete: answeringAt(f, sessionsFace{f}.closeSession)}},
		transport.Get("/api/sessions/{id}/picture", answeringAt(f, sessionsFace{f}.sessionPicture)),
		transport.Get("/api/sessions/{id}/live", answeringAt(f, sessionsFace{f}.liveSession)),
		transport.Get("/api/browsers", f.viewing(sessionsFace{f}.listBrowsers)),
		transport.Get("/files/{id}", callsFace{f}.runningAt(func(w http.ResponseWriter, r *http.Request, c bridge.Caller) { transport.ServeFile(f.b, w, r, c) })),
		transport.Get("/api/stats", f.viewing(callsFace{f}.listStats)),
		transport.Get("/api/events", f.viewing(f.stream)),
		transport.Get("/api/console", f.viewing(f.page)),
		{Pattern: "/api/links", Methods: map[string]http.HandlerFunc{
			http.MethodPost: f.operating(f.link)}},
		transport.Get("/api/connections", f.connecting(bridge.MayView, f.listConnections)),
		{Pattern: "/api/connections/{id}", Methods: map[string]http.HandlerFunc{
			http.MethodDelete: f.connecting(bridge.MayAnswer, f.disconnect)}},
		transport.Get("/api/links/{id}", f.operating(f.waits)),
		{Pattern: "/api/login", Methods: map[string]http.HandlerFunc{http.MethodPost: f.login, http.MethodDelete: f.viewing(f.logout)}},
		transport.Get("/api/logins", f.viewing(ofAllSites(f.listLogins))),
		{Pattern: "/api/logins/{id}", Methods: map[string]http.HandlerFunc{http.MethodDelete: f.operating(ofAllSites(f.removeLogin))}},
	})
}

func (f *Face) page(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
	write(w, r, pageAddress{URL: f.links.Page()})
}

// link makes a link that logs in once. Only a process of the user gets one, which shows it at a
// terminal: a credential that was configured makes no others.
func (f *Face) link(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
	if !f.named {
		transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"%s", f.words.Of("A link that logs in is shown at a terminal only.")))
		return
	}
	in, err := readObject(r, "name")
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	name := cmp.Or(text.Brief(text.Line(in.Get("name").String()), maxName), "operator")
	address, err := f.links.New(r.Context(), name, time.Now())
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	if address == "" {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"This process serves no page for operators."))
		return
	}
	write(w, r, f.links.addresses(address))
}

// waits says whether a link is not used yet.
func (f *Face) waits(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
	write(w, r, struct {
		Waits bool `json:"waits"`
	}{f.links.Waits(r.PathValue("id"), time.Now())})
}
