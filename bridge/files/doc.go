// Package files writes a file as a whole or not at all, and holds locks that end with their
// process.
package files
