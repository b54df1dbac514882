// Package cdp is the engine over the Chrome DevTools Protocol: a Chromium that
// it starts itself and talks to over a pipe (package chrome), or one that runs
// elsewhere and is reached over a WebSocket. Package wire has the connection and
// the CDP sessions. Nothing outside of this folder imports chromedp and cdproto.
//
// # How it is built
//
// A tab has an owner: one goroutine that reads the page's events. Each part of it has a
// piece of the state: frames, watcher (tools), awaiter, windows, dialogs, submissions.
// Other goroutines hand it tasks. Calls run in their callers' goroutines and reach the
// page through one of two invokers: script evaluates the page script, native goes
// through the browser's own WebMCP.
//
// # Rules
//
//   - The page script is reached by a name that pages cannot learn; nothing is
//     bound into the page. The tab's owner keeps one awaited evaluation
//     outstanding, which the script resolves when its registry changes.
//   - A frame of another site is a target of its own: it waits until the page
//     script is in it, and its events wait in the page's queue. Other frames share
//     their parent's target and are reached by a handle of their document. Who may
//     have tools is decided by the permissions policy "tools" (reach.go).
//   - Domains that a page can flood (Runtime, Console, Log, DOM, CSS, Network)
//     stay off. Fetch is on only where settings add headers, for the site's origin
//     (headers.go).
package cdp
