// Package wire is the connection to a browser, over a pipe or a WebSocket, and the
// CDP sessions of ours on it.
//
// chromedp's Browser speaks to the browser itself: contexts, targets, versions. A
// [Conn] is the Transport that it reads. Pages have a [Session] each, because
// chromedp drops messages of sessions that it did not attach, mirrors the DOM of
// those that it did, and has no answer to a page that crashes or floods.
//
//   - A waiter is registered before its command is sent. A crash, a detached
//     target or a lost connection fails every waiter at once.
//   - The reader never waits for a page's owner: events go into a bounded queue,
//     and a page that fills it is closed.
package wire
