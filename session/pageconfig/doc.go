// Package pageconfig describes a call's changes to its page: headers, cookies,
// credentials, how it looks, where it is, and the login that it opens with. It is
// pure, and imports nothing of ours.
//
// The bridge decides which keys of config a caller may use, and what kind of value each
// takes. [Parse] reads the keys, [Settings.Check] checks once what belongs to the site,
// and engines get the [Config] that it returns.
package pageconfig
