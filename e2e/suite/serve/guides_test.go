package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// guided is a server whose one site has the tool of the guides, and whose
// operator declares the parameter that the second guide puts into config.
var guided = suite.Once(func() []string {
	file := filepath.Join(suite.Scratch, "guides.yaml")
	text := fmt.Sprintf("sites:\n  - name: weather\n    target: %s\n    config-params: {units: {enum: [metric, imperial]}}\n", suite.PageServer().Page("weather.html"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return []string{"--config", err.Error()} // which names the problem
	}
	return []string{"--config", file}
})

type weather struct {
	Location, Units string
	Temperature     float64
}

// TestFirstGuide sends what the first guide sends: a URL without a slash at its
// end, a new sessionId for every call, and no action.
func TestFirstGuide(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	s := guided(t)
	for path, args := range map[string]string{
		"/webtools/weather":                     `{"location":"Paris","action":"get_current"}`,
		"/webtools/weather/actions/get_current": `{"location":"Paris"}`,
	} {
		got := runGuide(t, s.URL+path, args)
		if got.Data == nil || got.Data.Location != "Paris" || got.Data.Units != "none" {
			t.Errorf("%s %s gave %+v", path, args, got)
		}
		if got.Name == "" || got.Description == "" || !bytes.Contains(got.Parameters, []byte(`"location"`)) {
			t.Errorf("%s: the metadata is %+v", path, got)
		}
	}
}

type guideResult struct {
	Name, Description string
	Parameters        json.RawMessage
	Data              *weather
}

// runGuide runs the guide in node, or does the same here when there is none.
func runGuide(t *testing.T, url, args string) guideResult {
	t.Helper()
	var out guideResult
	node, err := exec.LookPath("node")
	if err == nil && nodeMajor(node) >= 20 {
		said, err := exec.CommandContext(t.Context(), node, "../testdata/guide.mjs", url, args).CombinedOutput()
		if err != nil || json.Unmarshal(said, &out) != nil {
			t.Fatalf("the guide failed: %v\n%s", err, said)
		}
		return out
	}
	s := &suite.Server{URL: url}
	var meta struct {
		Name, Description string
		Actions           []struct{ RequestSchema json.RawMessage }
	}
	if err := json.Unmarshal(s.Ask("", "").Body, &meta); err != nil || len(meta.Actions) == 0 {
		t.Fatalf("the metadata cannot be read: %v", err)
	}
	out = guideResult{Name: meta.Name, Description: meta.Description, Parameters: meta.Actions[0].RequestSchema}
	var in struct {
		Action string `json:"action,omitempty"`
	}
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"sessionId": t.Name() + args, "request": json.RawMessage(args)}
	if in.Action != "" {
		body["action"] = in.Action
	}
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var reply struct{ Data *weather }
	if err := json.Unmarshal(s.Ask("", string(sent)).Body, &reply); err != nil {
		t.Fatal(err)
	}
	out.Data = reply.Data
	return out
}

func nodeMajor(node string) int {
	said, err := exec.Command(node, "--version").Output()
	digits := regexp.MustCompile(`^v(\d+)\.`).FindSubmatch(said)
	if err != nil || digits == nil {
		return 0
	}
	major, err := strconv.Atoi(string(digits[1]))
	if err != nil {
		return 0
	}
	return major
}

// TestSecondGuide sends what the second guide sends: a value of the model in
// config.
func TestSecondGuide(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	body := func(units, location string) string {
		return fmt.Sprintf(`{"sessionId":%q,"action":"get_current","request":{"location":%q},"config":{"units":%q}}`, t.Name()+units+location, location, units)
	}
	s := guided(t)
	for units, degrees := range map[string]float64{"metric": 18, "imperial": 64} {
		var got weather
		if err := json.Unmarshal(s.Ask("/webtools/weather", body(units, "Paris")).Data(t), &got); err != nil || got.Units != units || got.Temperature != degrees {
			t.Errorf("%s gave %+v (%v)", units, got, err)
		}
	}
	refused := s.Ask("/webtools/weather", body("kelvin", "Paris"))
	suite.Compare(t, refused, http.StatusBadRequest, suite.Failure{Code: "CONFIG_ERROR", Outcome: "not_run"})

	// Where no operator declared it, the error names the key.
	plain := tables(t).Ask("/webtools/weather", body("metric", "Paris"))
	suite.Compare(t, plain, http.StatusBadRequest, suite.Failure{Code: "CONFIG_ERROR", Outcome: "not_run"})
	if e := plain.Failed(t); !strings.Contains(e.Message, "units") {
		t.Errorf("the message is %q", e.Message)
	}
}

// TestOlderClient is the reference client of the older dialect: it checks the
// metadata, echoes defaultConfig, and sends a new session_id with every call.
func TestOlderClient(t *testing.T) {
	t.Parallel()
	s := guided(t)
	var meta struct {
		Name          string           `json:"name"`
		Description   string           `json:"description"`
		Actions       []map[string]any `json:"actions"`
		DefaultConfig json.RawMessage  `json:"defaultConfig"`
	}
	if err := json.Unmarshal(s.Ask("/webtools/weather", "").Body, &meta); err != nil || meta.Name == "" || meta.Description == "" || meta.Actions == nil {
		t.Fatalf("the client refuses the metadata %+v (%v)", meta, err)
	}
	for _, action := range meta.Actions {
		schema, ok := action["schema"].(map[string]any)
		if !ok || schema["type"] != "object" || schema["properties"] == nil {
			t.Errorf("the client cannot read the schema of %v", action["name"])
		}
		name := regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(meta.Name+"_"+fmt.Sprint(action["name"]), "_")
		if name != "weather_get_current" {
			t.Errorf("the tool's name is %q", name)
		}
	}
	call := func(n int, action, payload string) suite.Reply {
		return s.Ask("/webtools/weather", fmt.Sprintf(`{"session_id":"older-%d","action":%s,"config":%s,"payload":%s}`, n, action, meta.DefaultConfig, payload))
	}
	for n := range 3 {
		r := call(n, `"get_current"`, `{"location":"Paris"}`)
		var got weather
		if err := json.Unmarshal(r.Body, &got); err != nil || r.Status != http.StatusOK || got.Location != "Paris" {
			t.Errorf("call %d: %d %s, want the bare result", n, r.Status, r.Body)
		}
	}
	bad := map[string]suite.Reply{
		"unknown action":  call(10, `"get_forecast"`, `{"location":"Paris"}`),
		"missing field":   call(11, `"get_current"`, `{}`),
		"wrong type":      call(12, `"get_current"`, `{"location":7}`),
		"no payload":      s.Ask("/webtools/weather", `{"session_id":"x","action":"get_current"}`),
		"action no text":  call(13, `7`, `{"location":"Paris"}`),
		"unknown setting": s.Ask("/webtools/weather", `{"session_id":"x","action":"get_current","config":{"language":"en"},"payload":{"location":"Paris"}}`),
	}
	for name, r := range bad {
		var e map[string]any
		if err := json.Unmarshal(r.Body, &e); err != nil || r.Status != http.StatusBadRequest || len(e) != 1 || fmt.Sprint(e["error"]) == "" {
			t.Errorf("%s: %d %s, want 400 {\"error\":\"…\"}", name, r.Status, r.Body)
		}
	}
}
