// Package webtool is the webtools HTTP interface of 2025-06-30 and of its older
// dialect: what a site declares, as documents that are read with GET and called
// with POST.
//
// A request is decoded by one of two codecs, which differ in the names of the
// keys and in the form of replies, and becomes one bridge.Call. Which codec: a
// body with "payload" or "session_id" is of the older dialect, any other of the
// current one. Errors about requests that cannot be read are of the current
// one.
//
// A document is served as the bytes that the bridge keeps of it; nothing is
// encoded for a request.
package webtool
