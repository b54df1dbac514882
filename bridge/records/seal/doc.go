// Package seal hides from an engine of records what it has no business with: values are encrypted,
// and keys made of names that say nothing. The keys come from the cluster's key; each node has the
// same.
package seal
