// Package text makes strangers' texts fit for people: shortened by characters, without what cannot
// be seen, quoted for a message, a line or a shell. And it words what many messages say: how many,
// which ones, and which one was probably meant.
package text
