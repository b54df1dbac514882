package recipes_test

import (
	"net/http/httptest"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e"
	"github.com/pagetools/pagetools/examples/recipes"
)

func TestMain(m *testing.M) {
	gatetest.TakeBrowser()
	e2e.Main(m)
}

// TestScenarios runs what the page says about itself.
func TestScenarios(t *testing.T) {
	gatetest.Landing(t)
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	server.Config.Handler = recipes.New(url)
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	e2e.Run(t, "page/*.webtool.yaml", e2e.Options{URL: url + "/"})
}
