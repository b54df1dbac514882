package app

import (
	"cmp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records/catalog"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// newCatalogs makes the catalogs of the cluster. While its key is replaced, a site can have an owner under
// each key.
func (c *Cluster) newCatalogs(o *ClusterOptions) {
	c.catalogs = catalog.New(catalog.Options{Records: c.records, Sealer: o.Keys.Sealer(key.Records), Name: namesOf(o)[0],
		Lease: cmp.Or(o.Lease, lease.DefaultLease), MaxContent: session.MaxShared(o.Limits), Log: o.Log,
		Self: func() string { return c.node.Life().ID },
		Others: func() (all []string) {
			for _, m := range c.node.Members() {
				if !m.Drain {
					all = append(all, m.ID)
				}
			}
			return all
		},
		Dead: c.isDead})
}

// Catalog returns the catalog of a site, whose page one of the nodes opens.
func (c *Cluster) Catalog(s bridge.Site) session.SharedCatalog {
	return c.catalogs.Follow(s.Name, s.Target)
}

// owner returns the node that has the page of a site where calls without a session share one.
func (c *Cluster) owner(site string) (id string, shared bool) {
	if a := c.app.Load(); a == nil || !session.SharesPage(a.Manager, site) {
		return "", false
	}
	return c.catalogs.Owner(site), true
}
