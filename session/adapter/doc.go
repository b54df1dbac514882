// Package adapter reads adapters: scripts of the operator that add tools to the pages of a site
// which has none, through the page's own WebMCP.
//
// An adapter is the body of an async function of modelContext, below a header of comments that says
// its name, its version, and the pages that it is for. [Read] reads a file, and [Parse] its text.
// Neither knows whether the script is JavaScript: the browser says so.
package adapter
