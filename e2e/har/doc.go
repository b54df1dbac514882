// Package har reads and writes recordings of a page's network, in the format HAR 1.2, and finds
// what they answer. It is pure: it opens no file and no connection.
//
// A recording of several tests has a page for each of them, whose title is the test's name. A
// [Player] of that title answers a request with the entries of its own page; with those of no page
// where its own has none; and with those of all pages where there are none of these either. So a
// recording of a browser, whose pages have other titles, answers from all of it.
package har
