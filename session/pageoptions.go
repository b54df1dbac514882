package session

import (
	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// pageOptions says how a call wants its page to be. Nil means: as the site's pages are.
type pageOptions struct {
	text   string // as the call gave them
	config *pageconfig.Config
	url    string
	digest string
}

// readPageOptions reads what config changes about the page. Errors are *bridge.Error.
func readPageOptions(s *site, ref bridge.Ref) (*pageOptions, error) {
	if ref.Page == "" {
		return nil, nil //nolint:nilnil // most calls ask for nothing
	}
	in, err := pageconfig.Parse(ref.Page)
	if err != nil {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
			"config cannot be read.").With(err)
	}
	in.Login = s.Login
	if in.Profile != nil {
		if in.Login, err = s.login(*in.Profile, ref.Caller); err != nil {
			return nil, err
		}
	}
	o := &pageOptions{text: ref.Page}
	if o.url, err = in.Address(s.URL); err == nil {
		o.config, err = in.Check(s.Origin)
	}
	if err != nil {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
			"%s.", err.Error()).With(err)
	}
	o.digest = in.Digest() + " " + o.url
	return o, nil
}

// fits reports whether a page that was opened with some options can be used for
// others: a call without any takes what its session has.
func (o *pageOptions) fits(there *pageOptions) bool {
	return o == nil || there != nil && o.digest == there.digest
}

// given returns the options as the call wrote them, as in bridge.Ref.Page.
func (o *pageOptions) given() string {
	if o == nil {
		return ""
	}
	return o.text
}

// otherPage refuses a call whose session's page was opened with other options.
func otherPage() *bridge.Error {
	return bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
		"The page of this session was opened with other config. Use the same, none, or another sessionId.")
}
