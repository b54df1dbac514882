package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// SiteVersion is a version of the tools of a site.
type SiteVersion struct {
	Version string
	// Change says how it differed from the one before it: Same is the first one.
	Change schema.Change
	// Since says when it came, or came back, the last time; the zero time is not known.
	Since time.Time
	// Current is true for the tools as they are now.
	Current bool
}

// Versions lists the versions of a site's tools that are kept, the newest first. It does not wait for the
// site. Errors are *Error.
func Versions(ctx context.Context, b *Bridge, by Caller, site string) ([]SiteVersion, error) {
	s, err := b.pipe.siteFor(site, by)
	if err != nil {
		return nil, err
	}
	current := ""
	if c, err := b.pipe.router.Catalog(Ref{Site: site, Caller: by, Generation: s.site.Generation}); err == nil {
		if d, err := s.observe(ctx, c, ""); d != nil && err == nil {
			current = d.Version
		}
	}
	past, err := s.history("").Versions(ctx)
	if err != nil {
		return nil, noHistory(err)
	}
	all := make([]SiteVersion, 0, len(past))
	for _, p := range slices.Backward(past) {
		all = append(all, SiteVersion{p.Version, p.Change, p.Since, p.Version == current})
	}
	return all, nil
}

// VersionDocument returns the webtool of a site as it was at a version. It does not wait for the site.
// Errors are *Error.
func VersionDocument(ctx context.Context, b *Bridge, by Caller, site, version string) (json.RawMessage, error) {
	s, err := b.pipe.siteFor(site, by)
	if err != nil {
		return nil, err
	}
	d, err := s.history("").Version(ctx, version)
	if err != nil {
		return nil, noHistory(err)
	}
	if d == nil {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "No version %s of this site is kept.", text.Brief(version, 64)).Detail("version", text.Brief(version, 64))
	}
	return d.JSON(), nil
}
