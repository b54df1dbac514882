package main

import (
	"net/http"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
)

// endpoints are the browsers of the settings that run elsewhere.
func endpoints(c *config.Config) ([]endpoint.Endpoint, error) {
	if address := c.BrowserURL + c.WSEndpoint; address != "" {
		header, err := c.Headers()
		if err != nil {
			return nil, terminal.Usage("%w", err)
		}
		return []endpoint.Endpoint{{URL: address, Header: header}}, nil
	}
	var all []endpoint.Endpoint
	for _, b := range c.Browsers {
		e := endpoint.Endpoint{Name: b.Name, URL: b.URL + b.WS, Header: http.Header{}, WebDriver: b.WebDriver, Insecure: c.AcceptInsecureCerts,
			Command: b.Command, Max: b.Max, Once: b.Reattach == "never"}
		for name, value := range b.Headers {
			e.Header.Set(name, value)
		}
		all = append(all, e)
	}
	return all, nil
}
