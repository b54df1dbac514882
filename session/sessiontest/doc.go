// Package sessiontest helps to test what uses engines, and engines themselves.
//
// [Engine] is a fake: its pages are Go functions that register tools, navigate,
// crash and hang. [TestEngine] is the contract of session.Engine and
// session.Tab as one suite of tests; the fake and every real engine pass it.
// [Run] is for TestMain: it fails when goroutines are left.
package sessiontest
