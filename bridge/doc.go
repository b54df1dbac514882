// Package bridge is the domain of pagetools: it takes tools that strangers
// declare, decides which of them are admitted, and runs calls to them through
// one readable pipeline. It knows nothing of HTTP, of browsers or of MCP.
//
// The smallest complete program gives a Bridge something that routes to
// sources, and runs a call:
//
//	b, err := bridge.New(router, bridge.Options{})
//	if err != nil {
//		return err
//	}
//	res, err := b.Do(ctx, &bridge.Call{
//		Site:   "shop",
//		Tool:   "list-items",
//		Input:  json.RawMessage(`{"limit":5}`),
//		Caller: bridge.Caller{Name: "local"},
//	})
//
// # Words
//
//   - Site: a web application that we were pointed at. It has a short name,
//     unique in one process.
//   - Source: something that offers the tools of a site: a page (WebMCP) or an
//     API (OpenTools).
//   - Declaration: a tool as a stranger described it. Nothing in it is trusted.
//   - Tool: an admitted declaration.
//   - Catalog: the tools of one source at one moment; immutable, with a digest.
//   - Caller: who a transport says is calling, after it authenticated.
//   - Session: one caller's state on one site: one page in its own browser
//     context.
//   - Call: one request to run a tool.
//   - Question: a call that stopped and waits for a person.
//   - Operator: a person who may answer.
//   - Finding: something to tell the author of a declaration.
//   - Engine: what opens tabs.
//   - Webtool: a site, or one tool of it, as the webtools documents describe
//     it: a name, a version, actions, a configuration.
//
// # Rules
//
// A Tool is only ever made by [NewCatalog]. A call passes every stage of the
// pipeline in its order, and ends in exactly one [Outcome]. Nothing is sent
// twice after it was dispatched. Strangers see a [Code] and a safe sentence;
// the log sees everything.
package bridge
