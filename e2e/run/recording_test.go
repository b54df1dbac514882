package run_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// desk is a page whose results differ from run to run, and are sent back.
const desk = `<!doctype html><title>Desk</title><script>
const open = new Set();
const tool = (name, execute, more) => document.modelContext.registerTool({name, description: 'A tool of the desk.',
  inputSchema: {type: 'object', properties: {id: {type: 'string'}, by: {type: 'object', properties: {id: {type: 'string'}}}}}, execute, ...more});
tool('begin', () => { const id = crypto.randomUUID(); open.add(id); return {id, "$odd ${x}": ['$any', null, 1.5], now: performance.now()}; });
tool('finish', ({id, by}) => { if (!open.delete(id ?? by.id)) throw new Error('unknown'); return 'finished\u202e ${y}'; });
tool('buy', () => confirm('Buy "it"?') ? prompt('For whom?') : 'left', {annotations: {destructiveHint: true}});
tool('none', () => { throw new Error('No stamps left'); });
</script>`

// deskCases lists what an agent does there.
const deskCases = `site: {dir: .}
via: webtool
cases:
  - name: works
    steps:
      - {call: begin, name: one}
      - {call: begin, name: two}
      - {call: finish, with: {by: {id: "${steps.one.id}"}}}
      - {call: finish, with: {id: "${steps.two.id}"}}
      - {call: none, expect-error: {code: TOOL_ERROR}}
  - name: asks
    human:
      - {on: approve, answer: accept}
      - {on: confirm, answer: accept}
      - {on: prompt, answer: {value: "Ann ${env.GREETING} $${z}"}}
      - {on: approve, answer: accept}
      - {on: confirm, answer: decline}
    steps: [{call: buy}, {call: buy}]
`

// TestRecording: what an agent did through a bridge becomes a file that passes through every door;
// what differs from run to run is a matcher, or a reference to what an earlier call returned.
func TestRecording(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(desk), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "x.webtool.yaml")
	play := func(text string, o run.Options) (*scenario.File, *report.Run) {
		t.Helper()
		f, err := scenario.Read(name, []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if o.Open == nil {
			o.Open = open
		}
		o.Env = env
		done, err := run.Files(t.Context(), []*scenario.File{f}, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return f, done
	}
	var seen scenario.Recorder
	observed := func(ctx context.Context, to *app.Target, complete func(*app.Options)) (*app.App, error) {
		return open(ctx, to, func(o *app.Options) {
			complete(o)
			o.Bridge.Observe = seen.Observe
		})
	}
	if _, done := play(deskCases, run.Options{Open: observed}); strings.Contains(transcript(done), ": failed") {
		t.Fatalf("the agent did this:\n%s", transcript(done))
	}
	recording, missed := seen.Recording("day")
	recording.Dir = "."
	if missed != 0 || len(recording.Cases) != 2 || len(recording.Cases[0].Calls) != 5 {
		t.Fatalf("it missed %d calls, and recorded %+v", missed, recording.Cases)
	}
	text := recorded(t, recording)
	var got string
	for n := range 3 {
		f, done := play(text, run.Options{})
		if got = transcript(done); n == 0 && !strings.Contains(got, ": failed") {
			t.Error("the control: it passes at once")
		}
		if !strings.Contains(got, ": failed") {
			break
		}
		play(text, run.Options{Accept: func(_ *scenario.File, all []scenario.Change) error {
			recording.Loosen(f, all)
			return nil
		}})
		text = recorded(t, recording)
	}
	if strings.Contains(got, ": failed") || strings.Count(got, ": passed") != 4 {
		t.Errorf("it was replayed so:\n%s", got)
	}
	for _, want := range []string{"id: '${steps.step-1.id}'", "id: '${steps.step-2.id}'", "id: {$type: string}",
		"now: {$type: number}", `code: TOOL_ERROR`, `message: Buy "it"?`, "value: 'Ann hello $${z}'", "answer: decline"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

func recorded(t *testing.T, r *scenario.Recording) string {
	t.Helper()
	text, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
