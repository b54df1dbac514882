// Package oauth makes a server of pagetools an OAuth resource server: it finds the caller of a
// token that an issuer of the operator's signed, or vouches for, and tells clients where to log in
// (RFC 9728). Tokens end here: none is sent to a site, a page or a log.
package oauth
