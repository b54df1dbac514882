// Package e2e is the public package for testing a web app's tool declarations.
//
// It has no helpers yet. Its tests hold the rules of this repository: who may
// import whom, what the documents promise, and how long a file may be.
package e2e
