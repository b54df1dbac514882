// Package mcp offers the tools of sites over the Model Context Protocol, in every
// version from 2024-11-05 to 2026-07-28.
//
// What a client sees is decided by pure functions over immutable values, without
// I/O:
//
//   - names.go gives each tool of a page a name that every client takes.
//   - normalise.go and portable.go make its schemas such that no client loses its
//     list.
//   - expose.go puts both together, as the list of one caller, and finds a tool by
//     its name.
//   - results.go and blocks.go turn what a page returned, or an error, into the
//     result of a call.
//   - static.go and search.go are the three tools of our own, for lists that are
//     too long to be read.
//
// A page is a stranger: its names cannot stand for another origin's tool or for one
// of ours, its schemas cannot break a client or the library, and its annotations
// are passed on as claims.
package mcp

import mcpgo "github.com/mark3labs/mcp-go/mcp"

// era is the protocol version that a request is served in. Versions are dates, and
// compare as text. The empty era is the newest one with a handshake.
type era string

// modern tells whether the version is 2026-07-28 or later: results of any shape,
// no handshake.
func (e era) modern() bool { return mcpgo.IsModernProtocol(string(e)) }

// since tells whether the version is v or later.
func (e era) since(v string) bool { return e == "" || string(e) >= v }
