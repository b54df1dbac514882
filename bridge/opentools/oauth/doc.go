// Package oauth keeps the credentials of APIs that OpenTools documents describe: it logs people in
// with OAuth 2, signs requests, and renews tokens.
//
// A [Keeper] signs requests for a [Target]: one principal at one API. Credentials are in a
// [Store], encrypted, one record for each [Key]. A credential goes to the origin of its API and to
// nothing else. No text of this package, errors included, has a secret in it; texts of servers are
// shortened and have no control characters.
//
// It has the flows of OAuth 2.1: authorization code with PKCE (RFC 7636) through a loopback
// redirect (RFC 8252), device code (RFC 8628) and client credentials. Servers are found with RFC
// 9728, RFC 8414 and OpenID Connect Discovery, clients are registered with RFC 7591, `iss` is
// checked as RFC 9207 says, `resource` is sent as RFC 8707 says, and tokens are revoked with RFC
// 7009.
package oauth
