package console

import (
	"net/http"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// clusterFeature says that the server is a node of a cluster.
const clusterFeature = "cluster"

// clusterRoutes tell of the nodes, where this process is one.
func clusterRoutes(f *Face) []transport.Route {
	if f.cluster == nil {
		return nil
	}
	return []transport.Route{transport.Get("/api/cluster", f.viewing(ofAllSites(func(w http.ResponseWriter, r *http.Request, _ bridge.Caller) {
		write(w, r, f.cluster(r.Context()))
	})))}
}

// features names the parts of the API that a caller has.
func features(f *Face, c bridge.Caller) []string {
	all := []string{"events", "logins", "sessions"}
	if f.cluster != nil && c.Sites == nil {
		all = append(all, clusterFeature)
	}
	if f.scenario != nil {
		all = append(all, "scenario")
	}
	return all
}
