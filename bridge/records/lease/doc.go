// Package lease says which nodes of a cluster live, over records.
//
// Each life of a node has a name of its own, the incarnation, and a record that the node changes four
// times a lease. A node believes in its life for 0.8 leases from before it sent its last renewal, by
// its own clocks: Life.Holds. Another node that has seen the record unchanged for a whole lease
// declares the life dead, by an update of that revision. The renewal of a life that was declared dead
// fails, and the node begins a new one. So whoever is declared dead has not believed in its life for
// 0.2 leases, and never will again. No clock of a server or of another node counts, and that nobody
// heard of a node is no proof of anything.
package lease
