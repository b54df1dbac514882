// Package probe observes a tab for the test kit: what its document shows and says, and what
// happened in it. An engine opens one for a tab that somebody tests, and for no other.
package probe
