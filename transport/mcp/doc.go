// Package mcp offers the tools of sites over the Model Context Protocol, in every
// version from 2024-11-05 to 2026-07-28.
//
// A [Face] takes messages over HTTP (http.go, sessions.go) and stdio (stdio.go). Each
// message is read once (message.go) and becomes an exchange, which serves one method
// (exchange.go, call.go, questions.go, listen.go). What a client sees of the tools is
// decided in [github.com/pagetools/pagetools/transport/mcp/toolset], without I/O;
// results.go and blocks.go turn what a page returned, or an error, into the result of a
// call.
package mcp

import "github.com/pagetools/pagetools/transport/mcp/toolset"

// protocol is the protocol version that a request is served in.
type protocol = toolset.Protocol
