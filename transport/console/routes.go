package console

import (
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// Routes are the paths of the API and of its page.
func (f *Face) Routes() []transport.Route {
	return append(pageRoutes(), []transport.Route{
		transport.Get("/api/questions", f.operating(f.list)),
		{Pattern: "/api/questions/{id}", Methods: map[string]http.HandlerFunc{
			http.MethodGet:  f.elsewhere(f.operating(f.question)),
			http.MethodPost: f.elsewhere(f.operating(f.answer))}},
		transport.Get("/api/questions/{id}/picture", f.elsewhere(f.operating(f.picture))),
		transport.Get("/api/questions/{id}/live", f.elsewhere(f.operating(f.live))),
		transport.Get("/api/events", f.operating(f.events)),
		transport.Get("/api/console", f.operating(f.page)),
		{Pattern: "/api/links", Methods: map[string]http.HandlerFunc{
			http.MethodPost: f.operating(f.link)}},
		transport.Get("/api/connections", f.connecting(f.listConnections)),
		{Pattern: "/api/connections/{id}", Methods: map[string]http.HandlerFunc{
			http.MethodDelete: f.connecting(f.disconnect)}},
		transport.Get("/api/links/{id}", f.operating(f.waits)),
		{Pattern: "/api/login", Methods: map[string]http.HandlerFunc{http.MethodPost: f.login}},
	}...)
}

func (f *Face) page(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, pageAddress{f.links.Page()})
}

// link makes a link that logs in once.
func (f *Face) link(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
	address := f.links.New(time.Now())
	if address == "" {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"This process serves no page for operators."))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, pageAddress{address})
}

// waits says whether a link is not used yet.
func (f *Face) waits(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, struct {
		Waits bool `json:"waits"`
	}{f.links.Waits(r.PathValue("id"), time.Now())})
}

// login returns the credential for the code of a link.
func (f *Face) login(w http.ResponseWriter, r *http.Request) {
	body, err := transport.ReadBody(r)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	v, err := bridge.ReadValue("The body", body)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	token, ok := f.links.take(v.Get("code").String(), time.Now())
	if !ok {
		transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"%s", f.words.Of("This link was used, or it is older than a minute.")))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, struct {
		Token string `json:"token"`
	}{token})
}
