package sessiontest

import (
	"time"

	"github.com/pagetools/pagetools/session"
)

// Move changes the address in a call, as history.pushState does.
func (d *Document) Move() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	d.moves++
	d.moved(false, time.Now())
}

// Calm says that nothing more comes of the newest move.
func (d *Document) Calm() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	d.moved(true, time.Time{})
}

// moved reports the newest move; page.mu is held.
func (d *Document) moved(over bool, since time.Time) {
	if d.page.doc == d && !d.page.over {
		d.page.emit(session.Moved{Document: d.id, Number: d.moves, Since: since, Over: over})
	}
}
