// Package endpoint claims browsers that run elsewhere: at an address, from a WebDriver server, or from
// a command that starts or rents one.
//
// An [Endpoint] says where a browser is had from, and a [Claim] is one browser that was had, until
// it is released. Nothing here speaks to the browser itself. Addresses may hold keys: errors name an
// endpoint by its name, and an address by its origin.
package endpoint
