// Package origin answers two questions about addresses: which origin they have, and whether they
// are of this machine. Everybody asks here, so that a guard, a message and a test never disagree.
package origin
