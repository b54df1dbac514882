// Package records says what the nodes of a cluster keep in an engine that they share: small records
// with revisions, five operations, and a watch.
//
// A record has a key such as "n.K3X9QAAB", a value of at most 64 KiB and a revision. Create takes a
// key that nobody has, and Update and Delete take the revision that their caller has seen, so of
// several nodes that change one record at once one wins. The letter of a key says how long the
// engine keeps it: see Bucket. Memory is the reference, in this process; bridge/store/jetstream
// keeps records in NATS. Both pass the suite in recordstest.
//
// ErrNone, ErrExists, ErrChanged and ErrInvalid are facts. Any other error means that the operation
// may have happened or not, or may still happen: read the key again before you believe anything.
package records
