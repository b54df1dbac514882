// Package vault keeps, over the records of a cluster, what must not be lost with a node: the parts of
// bridge.Memory that all of its nodes have in common.
//
// A Box holds one thing: a record, sealed, and further ones where it is long. It changes as a whole, by
// one update of its first record, so of several nodes that change it at once one wins. Replies has the
// claims of idempotency keys, Grants and Known have consent, Versions the histories of webtools,
// Clients, Connections and Browsers have what people let in, Logins who is at the operators' page, Once what
// counts once, and a File is one that all nodes have. Whether a claim can still end is asked of the leases of nodes, never of a
// clock.
//
// Errors that are not of bridge's own kinds are *bridge.Error with the reason NO_QUORUM: the engine did
// not answer, and nothing ran.
package vault
