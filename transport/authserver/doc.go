// Package authserver is a small authorization server for operators who have none: people let
// clients in on a page of this very server, and the clients get tokens for it (OAuth 2.1; RFC 7591,
// 7009, 8414, 8707 and 9207; client metadata documents).
//
// A request to let a client in is not kept: it is sealed, and travels through the page. It counts
// in the browser that began it, which has a cookie for it, and once. Each time a person has to
// agree. Codes and tokens are random, and only their SHA-256 is kept.
package authserver
