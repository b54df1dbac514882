package kit

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/effects"
)

const pageHelp = "another `path` of the TARGET's site, such as /cart; can be repeated"

// morePages returns targets with the pages of --page behind them, which are of the one target there
// is then.
func morePages(targets []*app.Target, pages []string) ([]*app.Target, error) {
	if len(pages) == 0 {
		return targets, nil
	}
	if len(targets) != 1 {
		return nil, terminal.Usage("--page names pages of one TARGET, and there are %d", len(targets))
	}
	all := slices.Clone(targets)
	for _, page := range pages {
		u, err := url.Parse(page)
		if err != nil || !strings.HasPrefix(page, "/") || u.Host != "" {
			return nil, terminal.Usage("invalid value %q for --page: must be the path of a page of the "+
				"site, such as /cart", text.Line(page))
		}
		t := targets[0]
		more := &app.Target{Text: path.Join(t.Text, page), Folder: t.Folder, Path: page}
		if t.Folder == "" {
			base, err := url.Parse(t.URL)
			if err != nil {
				return nil, terminal.Usage("%w", err)
			}
			if more, err = app.ParseTarget(base.ResolveReference(u).String()); err != nil {
				return nil, terminal.Usage("--page: %w", err)
			}
		}
		all = append(all, more)
	}
	return all, asUsage(app.NameAll(all))
}

// unnamed returns a sentence about the pages that those of one site link to and that seem to
// declare tools, or "".
func (p *Program) unnamed(ctx context.Context, site []*app.Target) string {
	defer p.Waiting("reading the pages that %s links to", text.Line(site[0].Text))()
	more := effects.Elsewhere(ctx, site)
	switch len(more) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s links to %s, which seems to declare tools, too: take it in with --page %s",
			text.Line(site[0].Text), text.Quote(more[0]), text.Operand(more[0]))
	}
	return fmt.Sprintf("%s links to %d pages that seem to declare tools, too: %s; take them in with --page",
		text.Line(site[0].Text), len(more), text.FewQuoted(more, maxHinted))
}

// maxHinted limits how many pages a hint names.
const maxHinted = 5
