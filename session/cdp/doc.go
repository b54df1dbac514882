// Package cdp is the engine over the Chrome DevTools Protocol: a Chromium that
// it starts itself and talks to over a pipe, or one that runs elsewhere and is
// reached over a WebSocket. It is the only importer of chromedp and cdproto.
//
// # How it is built
//
// chromedp's Browser speaks to the browser itself: contexts, targets, versions.
// Pages have sessions of our own ([target]), because chromedp drops messages of
// sessions that it did not attach, mirrors the DOM of those that it did, and has
// no answer to a page that crashes or floods. The [link] stands between: it is
// the Transport that chromedp reads, and it keeps what belongs to our sessions.
//
// # Rules
//
//   - A waiter is registered before its command is sent. A crash, a detached
//     target or a lost pipe fails every waiter at once.
//   - Nobody's slowness stops the reader: events of a page go into a bounded
//     queue, and a page that fills it is closed.
//   - The page script is reached by a name that pages cannot learn; nothing is
//     bound into the page. The tab's owner keeps one awaited evaluation
//     outstanding, which the script resolves when its registry changes.
//   - A frame of another site is a target of its own: it waits until the page
//     script is in it, and its events wait in the page's queue. Other frames share
//     their parent's target and are reached by a handle of their document. Who may
//     have tools is decided by the permissions policy "tools" (policy.go).
//   - Domains that a page can flood (Runtime, Console, Log, DOM, CSS, Network)
//     stay off. Fetch is on only where settings add headers, for the site's origin
//     (headers.go).
package cdp
