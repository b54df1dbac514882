package cdp

import "context"

// tasks are how other goroutines hand work to the owner of a page.
type tasks struct {
	queue chan task
	gone  <-chan struct{} // the page is
}

// task is work for the owner. It is done when the owner has handled so many events of
// the page: a reply of the next document must not be taken for one of this.
type task struct {
	after int64
	do    func()
}

// add hands over a task, and reports false when ctx ended or the page was gone first.
func (t tasks) add(ctx context.Context, after int64, do func()) bool {
	select {
	case t.queue <- task{after, do}:
		return true
	case <-t.gone:
	case <-ctx.Done():
	}
	return false
}
