// Package toolset decides what MCP clients see of the tools of sites: names, schemas,
// lists, and the three tools of our own for lists that are too long to be read. It is
// pure: no connection, no library of MCP, nothing to wait for.
//
// The model: [New] makes a [List] from what the sites of an endpoint offer to a
// caller. Each tool gets a name that every client takes (names.go) and schemas that
// no client stumbles over (bridge/schema). A list is encoded once and read in pages;
// [List.Find] returns what a name stands for, also a page's own name, and
// [List.Findings] what was changed, for the author of the page. search.go and own.go
// are pagetools_search, pagetools_describe and pagetools_call.
//
// A page is a stranger: its names cannot stand for another origin's tool or for one
// of ours, its schemas cannot break a client, and its annotations are passed on as
// claims.
package toolset
