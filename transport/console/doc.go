// Package console is the operator's API, on a listener of its own: which calls
// wait for a person, and what a person answers. It is served on a TCP port with
// its own credential, and on a socket that only the user can open.
//
//	GET  /api/questions       {"questions":[{…,"site","caller","since","always","picture"}]}, the oldest first
//	GET  /api/events          the same as a stream of server-sent events: one now, one for each change
//	GET  /api/questions/{id}/picture  the page that asks, as a PNG
//	GET  /api/questions/{id}/live     the page that asks, as it changes, and a person's hand in it: a WebSocket
//	POST /api/questions/{id}  {"ok":true|false,"value"?,"always"?} answers; the first answer wins
//
// The live view speaks the subprotocol pagetools.live.v1. The server sends text messages,
// and each picture (JPEG) as a binary one:
//
//	{"type":"state","question":{…}|null,"pen":"who holds it","mine":bool,"over":bool}   first, and when it changes
//	{"type":"size","width":800,"height":600}   what the pictures show from now on, in CSS pixels
//	{"type":"error","error":{"code","message",…}}   what was refused
//
// and the viewer {"pen":true} to take the pen, {"pen":false} to drop it, or {"input":{…}}: a
// bridge.Input. A page that does not change sends nothing; a viewer that is slow misses pictures.
// The connection ends with the call. A browser that cannot send an Authorization header offers its
// token as a further subprotocol, transport.TokenProtocol.
//
// GET / is a page for all of this.
//
// A question is as the outside contract has it, with the site, the name of the
// caller and the time since when it waits. Errors are the envelope of the webtools.
package console
