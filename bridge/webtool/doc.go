// Package webtool has the documents of webtools: what a site, or one of its tools,
// offers at one version; the history of these versions; and whether a pinned or locked
// version still describes the tools that there are. It is built from [Action] values and knows
// nothing of calls.
//
//	h := webtool.NewHistory("shop", webtool.Options{})
//	d, err := h.Observe(ctx, catalog, func() *webtool.Document { return webtool.Draft("shop", "…", actions, config) })
//	fmt.Println(d.Version) // 1.0.0; later changes bump it
//
// Versions follow the rules of the webtools reference, A1.
package webtool
