package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

var _ session.StorageExporter = (*Tab)(nil)

// furnish takes the config of a tab as a browser does, and returns what its context
// holds then.
func furnish(o session.TabOptions) (pageconfig.Stored, error) {
	if o.Config != nil {
		if _, err := time.LoadLocation(o.Config.Timezone); err != nil {
			return pageconfig.Stored{}, errors.New("config.timezone: there is no such time zone")
		}
	}
	return o.Config.Stored(), nil
}

// StorageState returns what the tab's context holds for the site.
func (t *Tab) StorageState(ctx context.Context) (json.RawMessage, error) {
	switch {
	case t.Dead():
		return nil, t.death(bridge.NotRun)
	case ctx.Err() != nil:
		return nil, session.Stopped(ctx, bridge.NotRun)
	case t.options.Origin == "":
		return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun,
			"The login cannot be read.")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := t.stored.Encode(t.options.Origin)
	if err != nil {
		return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun,
			"The login cannot be read.").With(err)
	}
	return text, nil
}

// Settings returns the settings of the tab.
func (d *Document) Settings() (s pageconfig.Settings) {
	if c := d.page.options.Config; c != nil {
		s = c.Settings
	}
	return s
}

// Item returns an item of localStorage; a document of another origin than the
// site's finds none.
func (d *Document) Item(key string) (value string, ok bool) {
	if d.origin != d.page.options.Origin {
		return "", false
	}
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	v, ok := d.page.stored.LocalStorage[key]
	return string(v), ok
}

// SetItem puts an item into localStorage, of the site's origin only.
func (d *Document) SetItem(key, value string) {
	if d.origin != d.page.options.Origin {
		return
	}
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	d.page.stored.LocalStorage[key] = pageconfig.Secret(value)
}

// Cookies returns what document.cookie has, by name.
func (d *Document) Cookies() string {
	if d.origin != d.page.options.Origin {
		return ""
	}
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	var all []string
	for _, c := range d.page.stored.Cookies {
		if !c.HTTPOnly {
			all = append(all, c.Name+"="+string(c.Value))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
