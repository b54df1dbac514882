// Package session owns pages and says whom they belong to. A [Page] is one tab
// with one owner goroutine that turns what the engine reports into immutable
// catalogs. A [Manager] keeps a catalogue page per site, warm spares, and the
// sessions of callers, and finds pages for calls; it is the bridge's Router.
//
// Engines implement [Engine] and [Tab]; this package imports none of them.
// Failures leave this package as *bridge.Error.
package session
