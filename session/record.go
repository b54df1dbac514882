package session

import (
	"context"

	"github.com/pagetools/pagetools/bridge"
)

// Record tells what a page did with its tools until now. The page itself tells it: rely on it
// only where the page is yours.
type Record struct {
	Notes   []Note `json:"notes"`
	Dropped int    `json:"dropped"` // notes beyond the first thousand
	// Frames are the frames that the document has, and Told the registrations in any of them.
	Frames []RecordedFrame `json:"frames"`
	Told   []RecordedFrame `json:"told"`
	Forms  []RecordedForm  `json:"forms"`
	// Calls says how often the document at the top ran a tool, and Since what tells it from others:
	// when it began, in milliseconds since 1970.
	Calls int     `json:"calls"`
	Since float64 `json:"since"`
}

// Note is one call of the page.
type Note struct {
	// At says how many milliseconds after the navigation it was.
	At float64 `json:"at"`
	// Kind is "register", "replace", "unregister", or "refuse" for what was not taken.
	Kind string `json:"kind"`
	Tool string `json:"tool"`
	// Surface is "document", "navigator", "agent" or "provideContext".
	Surface   string   `json:"surface"`
	Script    *Place   `json:"script"`
	ExposedTo []string `json:"exposedTo"`
	// Annotations are JSON in the page's own words; "" is none.
	Annotations string `json:"annotations"`
	// Others are the members that no browser reads, as a JSON object; "" is none. A function is
	// null, and there only without an execute. An inputSchema that is a function is among them, or
	// the names under which it has types of JavaScript, such as String.
	Others      string `json:"others"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Message says why it was not taken. Unhandled is true when the page did not look at that.
	Message   string `json:"message"`
	Unhandled bool   `json:"unhandled"`
}

// Place is a line of a script.
type Place struct {
	URL    string `json:"url"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// RecordedFrame is a frame of the page, or a registration in one.
type RecordedFrame struct {
	URL    string `json:"url"`
	Name   string `json:"name"`
	Origin string `json:"origin"`
	Tool   string `json:"tool"`
	// Allowed is true when its allow attribute names tools.
	Allowed bool `json:"allowed"`
}

// RecordedForm is a form of the document.
type RecordedForm struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Declares    bool            `json:"declares"`
	AutoSubmit  bool            `json:"autoSubmit"`
	Method      string          `json:"method"`
	Action      string          `json:"action"`
	Fields      []RecordedField `json:"fields"`
}

// RecordedField is a field of a form.
type RecordedField struct {
	Name         string `json:"name"`
	Type         string `json:"type"`
	Label        string `json:"label"`
	Description  string `json:"description"`
	Autocomplete string `json:"autocomplete"`
	Required     bool   `json:"required"`
}

// Seen is a page of a site as those who test it see it.
type Seen struct {
	URL string
	// Declared holds the declarations in its documents' own words; Catalog the tools that are
	// offered of them, with the findings.
	Declared []bridge.Declaration
	Catalog  *bridge.Catalog
	Record   *Record
}

// See returns what the page of a session shows, or the site's own when ref names no session, once
// it counts as opened. With fresh, a page like it is opened for that and closed. The site's pages
// must record.
func (m *Manager) See(ctx context.Context, ref bridge.Ref, fresh bool) (*Seen, error) {
	s, page, err := m.seenPage(ctx, ref, fresh)
	if err != nil {
		return nil, err
	}
	if fresh {
		defer page.close()
	}
	v, err := page.opened(ctx)
	if err != nil {
		return nil, err
	}
	probe, err := page.probe(s.Name)
	if err != nil {
		return nil, err
	}
	seen := &Seen{URL: v.url, Declared: v.declared, Catalog: v.catalog}
	seen.Record, err = probe.Record(ctx)
	return seen, err
}

func (m *Manager) seenPage(ctx context.Context, ref bridge.Ref, fresh bool) (s *site, page *Page, err error) {
	if !fresh {
		return m.probed(ctx, ref)
	}
	if s, err = m.sites.Load().of(ref); err != nil {
		return nil, nil, err
	}
	options, err := readPageOptions(s, ref)
	if err != nil {
		return nil, nil, err
	}
	page, err = m.openPage(ctx, s, ref.Caller.Name, options, nil, s.Patient)
	return s, page, err
}
