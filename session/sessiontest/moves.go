package sessiontest

import (
	"time"

	"github.com/pagetools/pagetools/session"
)

// Move changes the address in a call, as history.pushState does.
func (d *Document) Move() {
	d.tab.mu.Lock()
	defer d.tab.mu.Unlock()
	d.moves++
	d.moved(false, time.Now())
}

// Calm says that nothing more comes of the newest move.
func (d *Document) Calm() {
	d.tab.mu.Lock()
	defer d.tab.mu.Unlock()
	d.moved(true, time.Time{})
}

// moved reports the newest move; tab.mu is held.
func (d *Document) moved(over bool, since time.Time) {
	if d.tab.doc == d && d.tab.died == nil {
		d.tab.emit(session.Moved{Document: d.id, Number: d.moves, Since: since, Over: over})
	}
}
