// Package bridge is the domain of pagetools: it takes tools that strangers declare,
// decides which of them are admitted, and runs calls to them through one readable
// pipeline. It knows nothing of HTTP, of browsers or of MCP.
//
// A [Router] says which sites there are and finds the [Source] for a call; everything
// else is here. The example of [Bridge] is a whole site in 25 lines.
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
//   - Caller: the client of a call, as its transport authenticated it.
//   - Session: one caller's state on one site: one page in its own browser
//     context.
//   - Call: one request to run a tool. Run: a call from its first moment until its
//     outcome is forgotten; it can stop at questions, and go on in another request.
//   - Question: a call that stopped and waits for a person.
//   - Operator: a person who may answer.
//   - Finding: something to tell the author of a declaration.
//   - Engine: what opens tabs.
//   - Webtool: a site, or one tool of it, as the webtools documents describe
//     it: a name, a version, actions, a configuration.
//
// # The shapes of a call and of a question
//
// A call passes six types from the transport to the engine: [Call] is a transport's request; [Run]
// is that call in the registry; [Invocation] goes to its source, session.Invocation goes to a
// tab; a call in flight there is the engine's own (cdp.running); each answers with a [Step].
//
// A question has five: [Question] and [Answer]; [Pause] is a step that waits for an
// answer; [OpenQuestion] shows it to operators; a dialog in a page is the engine's own
// (cdp.dialog).
//
// # Rules
//
// A Tool is only ever made by [NewCatalog]. A call passes every stage of the
// pipeline in its order, and ends in exactly one [Outcome]. Nothing is sent
// twice after it was dispatched. Strangers see a [Code] and a safe sentence;
// the log sees everything.
package bridge
