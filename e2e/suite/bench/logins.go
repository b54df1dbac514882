package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/oauth"
	"github.com/pagetools/pagetools/transport/webtool"
)

// loginRows compares calls with a token of an issuer, that was verified a moment ago or comes for
// the first time, with calls with a token of the operator's own list: in turns, on one page.
func loginRows(_ context.Context, url string) (rows []row, err error) {
	s, err := newStack(url, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	b, err := bridge.New(s.manager, bridge.Options{Sites: map[string]bridge.SiteOptions{"bench": {Approval: policy.Operator{Mode: policy.ModeAuto}}}})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	issuer := suite.NewIssuer()
	defer issuer.Close()
	l, err := listen()
	if err != nil {
		return nil, err
	}
	may := []bridge.Right{bridge.MayCall}
	server := transport.Server(transport.Guard(transport.NewMux(webtool.New(b, webtool.Options{}).Routes()...), transport.Options{
		Listen: l.Addr().String(), Callers: []transport.Credential{{Caller: bridge.Caller{Name: "static", May: may}, Token: "static-token-of-the-benchmark"}},
		Verifier: oauth.New(oauth.Options{Public: suite.PublicURL, Issuers: []oauth.Issuer{{Name: "acme", URL: issuer.URL, Scope: "pagetools.call",
			Grants: []oauth.Grant{{Match: map[string]string{"sub": "*"}, May: may}}}}}),
	}), nil)
	go func() { _ = server.Serve(l) }() // ends with Close
	defer func() { _ = server.Close() }()
	c, err := dial("http://" + l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer c.close()
	n := 0
	tokens := []func() string{func() string { return "static-token-of-the-benchmark" }, nil, func() string {
		n++
		return issuer.Token("ann", map[string]any{"jti": strconv.Itoa(n)})
	}}
	kept := issuer.Token("ann", nil)
	tokens[1] = func() string { return kept }
	times := make([][]time.Duration, len(tokens))
	for i := range size.calls + 20 {
		for k, token := range tokens { // in turns
			header := http.Header{"Authorization": {"Bearer " + token()}}
			began := time.Now()
			if _, err := c.doWith(http.MethodPost, "/webtools/bench", argued([]byte(`{"action":"noop","request":{"s":"ARG"}}`)), header); err != nil {
				return nil, errors.Join(errLogin, err)
			}
			if i >= 20 { // warm
				times[k] = append(times[k], time.Since(began))
			}
		}
	}
	floor := quantile(times[0], .5)
	for k, what := range []string{"call with a token that is kept, against a static one, p50", "the same with a token that comes for the first time"} {
		ours, most := quantile(times[k+1], .5), []time.Duration{20 * time.Microsecond, 400 * time.Microsecond}[k]
		rows = append(rows, row{what, ours.Round(time.Microsecond).String(), floor.Round(time.Microsecond).String(),
			fmt.Sprintf("%.2f", float64(ours)/float64(floor)), "at most +" + ms(most), ours-floor <= most})
	}
	return rows, nil
}

var errLogin = errors.New("calling with a token")
