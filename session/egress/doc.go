// Package egress is the forward proxy through which every browser that pagetools starts
// reaches the network.
//
// A Grant is the credential of one page. Without one the proxy answers 407, so that neither
// the browser itself nor another program of the machine gets through. A grant's reach says
// what its page may connect to (bridge/policy.Reach). A name is resolved once; each address
// is judged in the dialer's control hook, right before the connection to that very address.
// So nothing that happens between a check and a connection can change where it goes.
//
// What runs inside of CONNECT is not looked at: which address the top of a page may show is
// judged by the engine, by the same reach.
package egress
