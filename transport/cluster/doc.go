// Package cluster has several nodes serve the same sites. A node is a run of serve. It has the calls
// that it is the home of, whole; the entry, which a request reached, passes the request on to the home
// over mutual TLS, and the reply back as it is.
//
// Names carry their home: tokens, questions, files and sessions of MCP begin with the node that made
// them ([github.com/pagetools/pagetools/bridge.Options.Node]), so that most of the routing reads eight
// characters and asks nobody. A session that a caller named is found in a [Directory].
//
// The package knows no engine: who lives is in [Nodes], and which node has a session in [Directory].
package cluster
