package bridge

import "context"

// ToolDigests returns the digests of the tools that the site has now, by name: what
// SiteOptions.Locked holds them to. They are of what a webtool says of a tool, so
// that they do not depend on where a folder is served. The catalog is the one that they are
// of. Errors are *Error.
func (b *Bridge) ToolDigests(ctx context.Context, ref Ref) (map[string]string, *Catalog, error) {
	s, err := b.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return nil, nil, err
	}
	c, err := b.router.Await(ctx, ref)
	if err != nil {
		return nil, nil, nothingRan(ctx, err)
	}
	digests := make(map[string]string, len(c.tools))
	for _, t := range c.tools {
		digests[t.name] = s.lockDigest(t)
	}
	return digests, c, nil
}

// offers reports whether the operator's lock lets the tool through.
func (s *siteState) offers(t *Tool) bool {
	locked := s.options.Locked
	return locked == nil || locked[t.name] != "" && locked[t.name] == s.lockDigest(t)
}

// offered are the tools of a catalog that the lock lets through.
func (s *siteState) offered(c *Catalog) []*Tool {
	if s.options.Locked == nil {
		return c.tools
	}
	var tools []*Tool
	for _, t := range c.tools {
		if s.offers(t) {
			tools = append(tools, t)
		}
	}
	return tools
}

// checkLock refuses a tool that is not as it was when it was locked.
func (s *siteState) checkLock(c *Catalog, t *Tool) *Error {
	if s.offers(t) {
		return nil
	}
	if s.options.Locked[t.name] == "" {
		return s.unknownAction(t.name, c)
	}
	return Errorf(VersionMismatch, ToolChanged, NotRun,
		"%q is not as the operator locked it. Nothing ran.", t.name)
}
