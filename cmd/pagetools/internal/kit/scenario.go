package kit

import (
	"errors"
	"path/filepath"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// ScenarioOf writes a call of a site as a scenario file that makes the same call and expects the same end. A
// folder is named by its absolute path: nobody knows where the file will be. The error says why there is
// none.
func ScenarioOf(target string, call bridge.Observed) ([]byte, error) {
	t := &app.Target{Text: target}
	if err := t.Read(); err != nil {
		return nil, err
	}
	if call.Tool.Adapter() != nil {
		return nil, errors.New("an adapter adds its tool, which a file has to name: `record` writes one with it")
	}
	if err := canBeWritten(t); err != nil {
		return nil, err
	}
	var seen scenario.Recorder
	seen.Observe(call)
	r, _ := seen.Recording(call.Call.Tool)
	if t.Folder == "" {
		r.URL = t.URL
		return r.Text()
	}
	folder, err := filepath.Abs(t.Folder)
	if err != nil {
		return nil, err
	}
	r.Dir = filepath.ToSlash(folder)
	return r.Text()
}
