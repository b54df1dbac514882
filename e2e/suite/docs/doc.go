// Package docs checks the rules of this repository: who may import whom, what the documents
// promise, how long a file may be. Its tests link no engine and start no browser.
package docs
