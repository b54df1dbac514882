// Package suite tests the whole from outside, as a user does, and checks the rules of this
// repository: who may import whom, what the documents promise, and how long a file may be.
package suite
