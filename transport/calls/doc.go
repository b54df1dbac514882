// Package calls serves calls that outlive their request: each has an address, where its caller
// looks how far it is, waits for it, cancels it, and answers its questions. A call gets there when
// the request that makes it prefers respond-async (RFC 7240), and belongs to whoever made it. The
// face holds no call: the bridge does.
package calls
