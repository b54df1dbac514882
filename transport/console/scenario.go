package console

import (
	"net/http"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// callAsScenario serves GET /api/calls/{id}/scenario.
func callAsScenario(f *Face) func(http.ResponseWriter, *http.Request, runJSON) {
	return func(w http.ResponseWriter, r *http.Request, call runJSON) {
		if f.scenario == nil {
			unrecorded(w, r, "This process writes no scenarios.")
			return
		}
		file, e := scenarioOf(f, r, &call)
		if e != nil {
			transport.WriteError(w, r, e)
			return
		}
		writeFile(w, r, fileWord(call.Tool)+".webtool.yaml", file)
	}
}

// scenarioOf writes a call that ended, whose arguments are kept, as a scenario of its site.
func scenarioOf(f *Face, r *http.Request, call *runJSON) ([]byte, *bridge.Error) {
	sites := f.b.Sites(everyone)
	at := slices.IndexFunc(sites, func(s bridge.Site) bool { return s.Name == call.Site })
	switch {
	case !call.Kept || call.Status == statusRunning:
		return nil, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "A scenario has the arguments and the end of a call: those of this one are not there.")
	case at < 0:
		return nil, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "The site of this call is not served any more.")
	}
	site := sites[at]
	if site.API {
		return nil, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "A scenario tests a page, and this site is an API.")
	}
	input, err := bridge.ReadValue("The arguments", call.Input)
	if err != nil {
		return nil, bridge.AsError(err)
	}
	o := bridge.Observed{Call: &bridge.Call{ID: call.Call, Site: call.Site, Tool: call.Tool, Input: input}, Began: call.Began, End: bridge.Step{Data: call.Result}}
	if e, failed := call.Error.(transport.ErrorBody); failed {
		o.End.Err = &bridge.Error{Code: e.Code, Message: e.Message}
	}
	list, err := f.b.ToolsNow(r.Context(), bridge.Ref{Site: call.Site, Caller: everyone})
	if err != nil {
		return nil, bridge.AsError(err)
	}
	if tool := slices.IndexFunc(list.Tools, func(t *bridge.Tool) bool { return t.Name() == call.Tool }); tool >= 0 {
		o.Tool = list.Tools[tool]
	} else {
		return nil, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "The site has no tool of this name any more.")
	}
	file, err := f.scenario(site, o)
	if err != nil {
		return nil, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "No scenario can be written of this call: %v.", err).With(err)
	}
	return file, nil
}
