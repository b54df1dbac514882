// Package key has the one secret of a cluster: 32 random bytes that all of its nodes have in a file.
// Everything that nodes must have in common is derived from it, by purpose, with HKDF-SHA256: the
// authority of their certificates, the seal of what an engine keeps, and the names of its keys.
//
// A key is replaced in three rounds over the nodes: the new key is accepted beside the old one; then
// they change places; then the old one goes. In each round, every node opens what the others made.
package key
