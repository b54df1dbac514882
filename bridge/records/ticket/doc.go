// Package ticket decides, of a call that one node passed on to another, whether it may have run.
//
// A ticket is a record that can be made once. The node that runs the call makes it right before the
// dispatch: begun. The node that passed the call on makes it when the other one is lost: void. Whoever
// is first decides: a void call did not run and never will, so it can be passed on again, as the
// next attempt; one that had begun may have run.
package ticket
