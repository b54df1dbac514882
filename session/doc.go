// Package session owns pages, and decides whose they are. A [Page] is one tab
// with one owner goroutine that turns what the engine reports into immutable
// catalogs. A [Manager] keeps a catalog page per site, warm spares, and the
// sessions of callers, and finds pages for calls; it is the bridge's Router.
//
// Engines implement [Engine] and [Tab]; this package imports none of them.
// Failures leave this package as *bridge.Error.
package session
