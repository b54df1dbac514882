package console

import (
	"context"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// Connections keeps the clients that people let in, as bridge.Connections does.
type Connections interface {
	// All lists them, oldest first.
	All(ctx context.Context) ([]bridge.Connection, error)
	// Disconnect ends one at once, in all processes; false means that there was none.
	Disconnect(ctx context.Context, id string) (bool, error)
}

// ConnectionList has the clients that people let in, in JSON.
type ConnectionList struct {
	Connections []Connection `json:"connections"`
}

// Connection is a client that a person let in, in JSON. Name is its own word, and RedirectURI says
// where it returned to.
type Connection struct {
	ID          string    `json:"id"`
	Person      string    `json:"person"`
	Client      string    `json:"client"`
	Name        string    `json:"name"`
	RedirectURI string    `json:"redirectUri"`
	Resource    string    `json:"resource"`
	Since       time.Time `json:"since"`
	LastUsed    time.Time `json:"lastUsed"`
}

// ListConnections is their list.
func ListConnections(all []bridge.Connection) ConnectionList {
	out := ConnectionList{Connections: make([]Connection, len(all))}
	for i, c := range all {
		out.Connections[i] = Connection{c.ID, c.Person, c.Client, c.ClientName, c.Redirect, c.Resource, c.Since, c.Used}
	}
	return out
}

// connecting serves who has the right and sees all sites: a client that was let in may be for any of
// them.
func (f *Face) connecting(right bridge.Right, serve func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return f.with(right, func(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
		w.Header().Set("Cache-Control", "no-store")
		if c.Sites != nil {
			transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
				"This credential is for some sites, and who was let in is a matter of all."))
			return
		}
		serve(w, r)
	})
}

func (f *Face) listConnections(w http.ResponseWriter, r *http.Request) {
	var all []bridge.Connection
	if f.connections != nil {
		var err error
		if all, err = f.connections.All(r.Context()); err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
	}
	transport.WriteJSON(w, r, http.StatusOK, ListConnections(all))
}

func (f *Face) disconnect(w http.ResponseWriter, r *http.Request) {
	id, gone := r.PathValue("id"), false
	if f.connections != nil {
		var err error
		if gone, err = f.connections.Disconnect(r.Context(), id); err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
	}
	if !gone {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "No client with this ID was let in."))
		return
	}
	f.log.InfoContext(r.Context(), "connection: revoked", "connection", id, "by", transport.CallerOf(r.Context()).Name)
	transport.WriteJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
}
