// Package pageconfig is what a call may change about its page: headers, cookies,
// credentials, how it looks, where it is, and the login that it opens with. It is
// pure, and imports nothing of ours.
//
// Which keys of config a caller may use, and what kind of value each takes, is the
// bridge's to say. [Parse] reads the keys, [Settings.Check] checks once what belongs
// to the site, and the [Config] that it returns is what engines are given.
package pageconfig
