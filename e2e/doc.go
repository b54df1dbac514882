// Package e2e is the public package for testing a web app's tool declarations.
//
// It has no helpers yet. Package app below it wires what they will stand on, and
// package suite holds this repository's own tests.
package e2e
