// Package console is the operator's API, on a listener of its own: which calls
// wait for a person, and what a person answers. It is served on a TCP port with
// its own credential, and on a socket that only the user can open.
//
//	GET  /api/questions       {"questions":[{…,"site","caller","since","always","picture","edit","why"?}]}, the oldest first.
//	                          why has, for consent, the layers of the policy that wanted it: {"name","level","reason","decided"}, as in /api/policy
//	GET  /api/questions/{id}  one of them, with the inputSchema of arguments that may be changed; {} when it is not open any more
//	GET  /api/me              {"name","rights","sites","node","version","features","until","login","start"}
//	GET  /api/events          the one stream, below
//	GET  /api/sites           {"items":[{"node","name","target","origin","domain","kind","state","version","tools","findings","engine","endpoint","token"}],"next"}
//	                          of all nodes; "missing" has those that did not answer
//	GET  /api/sites/{s}/tools     {"items":[{"name","title","description","schema","terms","findings",…}],"next"}, as they are known now
//	GET  /api/sites/{s}/findings  {"items":[{"rule","tool","message","refused"}],"next"}: what its author should know
//	GET  /api/sites/{s}/config    {"schema"}: what config of a call may have, with the defaults of the site
//	GET  /api/sites/{s}/versions  {"items":[{"version","severity","since","current"}],"next"}: those that are kept, the newest first
//	GET  /api/sites/{s}/versions/{a}..{b}  {"severity","changes":[{"tool","path","was","is","severity","what","reason"}],"more"}: what differs, by
//	                          meaning; severity is breaking, addition or text
//	POST /api/sites/{s}/validate  {"tool","input"} gives {"errors":[{"pointer","message"}]}; nothing reaches the page
//	POST /api/calls           {"site","tool","input","key","config"?,"session"?,"version"?,"confirm"?,"record"?,"replays"?} gives 202 {"call"}: a person runs a
//	                          tool, as console:NAME; the same key is the same call. confirm {"definition","arguments","level"}
//	                          has the tool's digest, the hex SHA-256 of the text of input, and the level of the terms, as they
//	                          were on the screen: it is the consent to this call. It counts from a login by a link only.
//	                          With record, which needs answer, too, the page is recorded while the call is in it. replays is
//	                          the id of an older call that is made anew: GET of either names the other, in "replays" and "replayed"
//	GET  /api/calls?q=…       {"items":[{…}],"next","missing"}: the newest 10,000 calls of each process since its start, newest first,
//	                          as in call.started. q has words, which are looked for in names, and site: tool: caller: session:
//	                          status:ok|error|refused|running code: duration:>500ms waited:>1s since:1h until:1h version: id:. A dash
//	                          in front excludes, a comma in a value means or, a star stands for anything; all must hold
//	GET  /api/calls/{id}      {…,"recorded","kept","input","result","error"}: a call of any process. Arguments and results are kept of the newest
//	                          100 calls that people made on the page, and with Records.Observe of the newest 100 others, without
//	                          secrets; they are for who may answer, and the former for these people
//	GET  /api/calls/{id}/trace    a trace for Playwright's viewer, as a zip archive: stages, questions, and, where they are there,
//	                          arguments and result, and what was recorded of the page: pictures, console, network
//	GET  /api/calls/{id}/scenario  one that ended, and whose arguments are kept, as a file for pagetools test: the same call, which must
//	                          come to the same end. Where the features in /api/me have "scenario"
//	GET  /api/calls/{id}/har      the requests of its page as HAR 1.2, where that was recorded: without bodies, cookies and logins
//	GET  /api/calls/{id}/page     {"items":[{"at","took","kind","bad","text"}],"next":null}: what its page did, in the order of time, where
//	                          that was recorded; kind is request, console, question or progress, took is in milliseconds
//	GET  /api/calls/{id}/picture/before  its page before the tool ran, as a PNG, and /after it, where that was recorded
//	GET  /api/calls/{id}/live     the page of one that waits for a person, as that of its question: a WebSocket
//	POST /api/calls/{id}/cancel   ends one
//	GET  /api/stats           {"items":[{"node","samples":[{"at","ok","refused","error","p50","p95","questions","running","held","spare","queued",
//	                          "pss"}],"sites":{NAME:[{"at","calls","errors"}]}}],"next","missing"}: the calls that ended in each second
//	                          and, of each site, in each minute of the last 15; p50 and p95 are of how long they took, in milliseconds;
//	                          held and spare count pages, queued the calls that wait for one, and pss has the bytes of the browsers,
//	                          which are weighed every 15 s while there is a stream; 0 is not known
//	GET  /files/{id}          a file that a page saved in a call that its reader made
//	GET  /api/policy          ?site=&tool=&caller=&input=: {"level","layer","reason","mode","rule","layers","standing","refused",…}, what would
//	                          become of such a call now; input, arguments in JSON, may be missing. Nothing comes of asking
//	GET  /api/policy/unseen   {"items":[{"node","site","tool"}],…}: tools that came after consent was given on their site, and that nobody has seen
//	GET  /api/callers         {"items":[{"node","name","rights","sites"}],…} of the configuration
//	GET  /api/audit           {"kept","writers":[{"node","healthy"}],"running":{"since","by","read","of"},"last":{"at","by","took","report"},…}: whether
//	                          all processes can write, and the verification that runs and the last one; the report is as
//	                          pagetools audit verify --format json prints it. ?call=ID gives {"items":[…]}, the records of a call
//	POST /api/audit/verify    begins a verification, unless one runs, and returns 202 at once
//	GET  /api/grants          {"items":[{"node","id","caller","site","tool","givenBy","givenAt","page","state"}],…}: consent that stands, the newest first
//	DELETE /api/grants/ID     takes it back
//	GET  /api/questions/{id}/picture  the page that asks, as a PNG
//	GET  /api/questions/{id}/live     the page that asks, as it changes, and a person's hand in it: a WebSocket
//	POST /api/questions/{id}  {"ok":true|false,"value"?,"always"?,"input"?,"reason"?} answers; the first answer wins. With consent (where
//	                          edit is true), input has the arguments with which the call runs: what does not fit is in details.errors,
//	                          and the question stays open. reason (200 characters) tells the caller why it was refused
//	GET  /api/sessions        {"items":[{"node","id","caller","site","session","since","lastUsed","calls","running","waiting","address",
//	                          "title","domain","recording":{"since","until","over"}|null}],"next"}, the oldest first; session is the caller's
//	                          name for it, id names it here
//	DELETE /api/sessions/ID   ends one with its page; its caller's next call is SESSION_EXPIRED. While calls run in it, 409 CONFLICT
//	                          with details.running, unless ?running=end: then they end with it, with the outcome unknown
//	GET  /api/sessions/ID/picture  its page, as a PNG
//	GET  /api/sessions/ID/live     its page, as it changes: a WebSocket. To look does not give the pen, which works while the page
//	                          waits for a person, as in the view of a question; it ends with the session
//	GET  /api/cluster         the nodes of the cluster, where this process is one: as pagetools cluster status --json prints it. It is
//	                          for who sees all sites, whose features in /api/me have "cluster" then
//	POST /api/sessions/ID/record  {"on"}: its page is recorded for 10 minutes, for the traces of the calls in it, or not any more
//	GET  /api/sessions/ID/har     what it asked for while it was recorded, as HAR 1.2; for an hour also when it is over
//	GET  /api/browsers        {"items":[{"node","name","max","state","kind","version","since","tabs","opened","pss","started","failed","restarts":
//	                          [{"at","cause"}]}],"pools":[{"node","held","spare","queued","limit","perCaller","most","oldest",
//	                          "noMemory"}]}; name has the key browsers, and max bounds the tabs; both are "" and 0 for others; state is
//	                          running, starting, idle or down; pss is in bytes, 0 where it is not known
//	GET  /api/console         {"url"}: where this process serves the page; "" is nowhere
//	POST /api/links           {"url","publicUrl"}: addresses of the page that log in once, within a minute; their #once=CODE does so at
//	                          the page of any node of a cluster. publicUrl is for people from elsewhere, where there is one
//	GET  /api/links/ID        {"waits"}: whether that address was not used yet, and still can be
//	GET  /api/connections     {"connections":[{…}]}: the clients that people let in, oldest first; see Connection
//	DELETE /api/connections/ID  ends one of them, at once
//	POST /api/login           {"code"} of such an address gives {"token","until"}, of a login of its own
//	DELETE /api/login         ends the login that the request came with
//	GET  /api/logins          {"items":[{"node","id","name","rights","since","lastUsed","until","current"}],"next"}
//	DELETE /api/logins/ID     ends one, with its streams and views, in all processes and nodes within a second
//
// Reading needs the right view; answers, pictures, live views, recordings, traces, links, grants and ending something need
// answer, which includes it. Lists that have next take ?limit= (100, at most 1,000) and ?before=,
// which is next of the part before.
// Calls need call besides view. What is about a site takes ?node=: the process that serves it, where
// that is not this one; so do making a call, cancelling it, and its files.
//
// All processes of a user are one inbox: the questions of the others are here, too, and
// what is done with one of them is passed on to the socket of its process. An operator whose
// credential is for some sites only sees those of this process.
//
// The one stream tells of all processes, which it calls nodes. Each event has the id "NODE:n" of all
// nodes, joined by commas: up to which events this reader has come. The events:
//
//	snapshot           {"node","reset","questions":[…],"sites":[…],"calls":[…],"sessions":[…]} replaces all of that node: what is
//	                   open, and the calls that are not over. It comes first, once for each node, and with reset
//	                   true when the reader has missed more than is kept (256 events of a node).
//	question.opened    {"node","call","domain","firstSince"?,…} a question as in the list; firstSince says since when this process knows
//	                   of no earlier call of the tool by the caller. question.changed is the same one again
//	question.closed    {"node","id","call","answeredBy","ok"}: "" where it expired, or that its page took it back; ok is null then, and
//	                   where what a person did in the page was the answer
//	call.started       {"node","call","site","tool","caller","session","stage","status","began","at"}; stage is queued, asked, runs or
//	                   ended, status is running, ok, refused or error. As far as they are known by then: "asked" and "answered" (the
//	                   first question, the last answer), "ran" (dispatched), "delivered", "waited" (for persons, ms), "decision", "layer" and
//	                   "rule" (why), "approval" and "approver", "version", "trace", "argumentBytes", "resultBytes"
//	call.stage         the same, with "question" while it asks
//	call.ended         the same, with "outcome", "code" and "reason"; of a short call it is the only event. It comes again when the
//	                          caller has the outcome: "delivered" says when that was
//	tools              {"node","site":{…},"added":[…],"removed":[…],"changed":[…]}
//	pen                {"node","call","pen"}: who holds the pen of its page
//	session.opened     {"node","id",…} a session as in the list; session.closed is {"node","id"}
//	browser            {"node","browsers":[…]} as in the list, without what changes with each call, within 2 s of a change
//	audit              {"node","healthy"}: whether it can write its records, within 2 s of a change; for who sees all sites
//	stats              {"node","samples":[{…}],"sites":{…}}: the newest second, and the two newest minutes of each site, in the
//	                   place of those with the same "at"; once a second, when they changed
//	node               {"node","state":"lost"}: it does not answer any more
//
// No event has arguments or results, but for those of a question. ": beat" comes every 15 s. A reader
// that reconnects sends Last-Event-ID. The stream ends with its login.
//
// The live view speaks the subprotocol pagetools.live.v1. The server sends text messages,
// and each picture (JPEG) as a binary one:
//
//	{"type":"state","question":{…}|null,"pen":"who holds it","mine":bool,"over":bool}   first, and when it changes
//	{"type":"size","width":800,"height":600}   what the pictures show from now on, in CSS pixels
//	{"type":"text","text":"…"}   what is selected in the page, or else its whole text, after {"copy":true}
//	{"type":"error","error":{"code","message",…}}   what was refused
//
// and the viewer {"pen":true} to take the pen, {"pen":false} to drop it, {"copy":true}, or {"input":{…}}: a
// bridge.Input. A page that does not change sends nothing; a viewer that is slow misses pictures.
// The connection ends with the call. A browser that cannot send an Authorization header offers its
// token as a further subprotocol, transport.TokenProtocol.
//
// GET / is a page for all of this.
//
// A question is as the outside contract has it, with the site, the name of the
// caller and the time since when it waits. Errors are the envelope of the webtools.
package console
