// Package rate counts the calls of rates for all nodes of a cluster, over records: nodes together let as
// many calls through as one would. It is bridge.Memory.Rates of a node.
//
// There is one record for a rate, with the time at which it will be unused again: the generic cell rate
// algorithm. A node takes several calls at once when it has many, and what it does not need within a
// second is lost. How callers share what their node has is not decided here.
package rate
