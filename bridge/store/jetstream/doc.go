// Package jetstream keeps the records of a cluster in NATS JetStream: it implements records.Records,
// and is the only importer of nats.go.
//
// Three buckets hold them, PT_SHORT, PT_DAY and PT_KEEP, in the form of NATS's own key-value buckets, so that
// an operator can read and make them with the command nats. Open makes those that are missing,
// where it may, and refuses those that would lose records.
//
// Reads are answered by the leader of a bucket, never by one of its copies, which can be behind what
// was acknowledged. While there is no connection, an operation fails at once: nothing is kept to be
// sent later.
package jetstream
