// Package taint keeps what callers have read for all nodes of a cluster, over records: a caller that read
// untrusted content through one node is asked before it changes something through another. It is
// bridge.Memory.Taints of a node.
//
// There is one record for a caller. It names neither the caller nor what it read, to the engine.
package taint
