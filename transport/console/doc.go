// Package console is the operator's API, on a listener of its own: which calls
// wait for a person, and what a person answers. It is served on a TCP port with
// its own credential, and on a socket that only the user can open.
//
//	GET  /api/questions       {"questions":[{…,"site","caller","since","always","picture"}]}, the oldest first
//	GET  /api/events          the same as a stream of server-sent events: one now, one for each change
//	GET  /api/questions/{id}/picture  the page that asks, as a PNG
//	POST /api/questions/{id}  {"ok":true|false,"value"?,"always"?} answers; the first answer wins
//
// A question is as the outside contract has it, with the site, the name of the
// caller and the time since when it waits. Errors are the envelope of the webtools.
package console
