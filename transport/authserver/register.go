package authserver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// registered is the answer to a client that registered itself (RFC 7591, 3.2.1).
type registered struct {
	ID         string   `json:"client_id"`
	At         int64    `json:"client_id_issued_at"`
	Name       string   `json:"client_name,omitempty"`
	Redirects  []string `json:"redirect_uris"`
	Grants     []string `json:"grant_types"`
	Responses  []string `json:"response_types"`
	AuthMethod string   `json:"token_endpoint_auth_method"`
	Scope      string   `json:"scope"`
}

// register lets a client register itself, without a secret: nothing is proved by that.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	c, p := s.newClient(r)
	if p != nil {
		answer(w, r, p)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusCreated, registered{ID: c.ID, At: c.At.Unix(), Name: c.Name, Redirects: c.Redirects,
		Grants: []string{grantCode, grantRefresh}, Responses: []string{"code"}, AuthMethod: "none", Scope: Scope})
}

func (s *Server) newClient(r *http.Request) (c bridge.Client, _ *problem) {
	body, err := transport.ReadBody(r)
	if err != nil {
		return c, fault("invalid_client_metadata", bridge.AsError(err).Message)
	}
	var d clientDocument
	if err := json.Unmarshal(body, &d); err != nil || len(d.Name) > maxName {
		return c, fault("invalid_client_metadata", "The metadata of a client is a JSON object with redirect_uris, and a client_name of 200 bytes at most.")
	}
	if p := checkRedirects(d.Redirects); p != nil {
		return c, p
	}
	if p := checkUse(d.Grants, d.Responses); p != nil {
		return c, p
	}
	if wait := s.registrations.take(addressOf(r)); wait > 0 {
		return c, tooMany(seconds(wait), "Too many clients were registered from this address. Try again later.")
	}
	c = bridge.Client{ID: rand.Text(), Name: d.Name, Redirects: d.Redirects, At: s.o.Now()}
	switch err := s.o.Clients.Register(r.Context(), c); {
	case errors.Is(err, bridge.ErrTooManyClients):
		p := tooMany(seconds(hour), "There are too many clients here.")
		p.status = http.StatusServiceUnavailable
		return c, p
	case err != nil:
		return c, failed(err)
	}
	return c, nil
}
