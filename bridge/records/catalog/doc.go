// Package catalog says which node of a cluster opens the catalog page of a site, over records, and tells the
// other nodes what that page shows: it is bridge.Catalog of one site for all nodes.
//
// There is one record for a site, c.h.SITE, and the content is in others, c.p.SITE.SET.NUMBER, in parts. A set
// is written before the record names it, and is removed after the record names another one. The engine sees
// how many sites there are, how long their lists, and which node has which; not the sites, nor what is in the
// lists.
//
// A node that lives keeps a site. Of several that would take one, the record's revision decides.
package catalog
