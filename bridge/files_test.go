package bridge_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// formFile describes a file input as the page script does.
const formFile = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":255},"type":{"type":"string"},` +
	`"data":{"type":"string","contentEncoding":"base64"}},"required":["name","data"]%s}`

func formFileOf(accept string) string { return fmt.Sprintf(formFile, `,"x-accept":"`+accept+`"`) }

func encoded(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

// TestFilesAreChecked: files that are no base64, too large, or not accepted are refused with the
// place, before anybody is asked and before the page is touched; those within the limits run.
func TestFilesAreChecked(t *testing.T) {
	plain, pictures := fmt.Sprintf(formFile, ""), formFileOf("image/*, .PDF,text/csv")
	list := `{"type":"array","maxItems":8,"items":` + formFileOf(".txt") + `}`
	const either = `{"anyOf":[{"type":"string","contentEncoding":"base64"},{"type":"string","format":"uri"}]}`
	file := func(name, mime, data string) string {
		return fmt.Sprintf(`{"name":%q,"type":%q,"data":%q}`, name, mime, data)
	}
	for _, x := range []struct{ schema, value, pointer string }{
		{plain, file("a", "", "aGVsbG8="), ""}, {plain, file("a", "", "aGVsbG8"), ""}, {plain, file("a", "", ""), ""},
		{plain, file("a", "", "aGVs\nbG8="), ""},
		{plain, file("a", "", "aGVsbG8=="), "/f/data"}, {plain, file("a", "", "not base64!"), "/f/data"},
		{plain, `{"name":"a"}`, "/f/data"}, {plain, `{"data":""}`, "/f/name"}, {plain, file("", "", ""), "/f/name"}, {plain, `"/etc/passwd"`, "/f"},
		{plain, file("a", "", encoded(schema.MaxFile)), ""}, {plain, file("a", "", encoded(schema.MaxFile+1)), "/f/data"},
		{pictures, file("a.png", "image/png", ""), ""}, {pictures, file("a.pdf", "", ""), ""}, {pictures, file("A.PdF", "text/html", ""), ""},
		{pictures, file("a", "text/CSV; charset=utf-8", ""), ""}, {pictures, file("a.png", "", ""), "/f"},
		{pictures, file("a.exe", "application/x-msdownload", ""), "/f"}, {pictures, file("pdf", "imagex/png", ""), "/f"},
		{formFileOf("nonsense"), file("a", "", ""), ""}, {formFileOf("*/*"), file("a", "", ""), ""},
		{list, `[]`, ""}, {list, `[` + file("a.txt", "", "") + `,` + file("b.md", "", "") + `]`, "/f/1"},
		{list, `[` + strings.Repeat(file("a.txt", "", "")+",", 8) + file("a.txt", "", "") + `]`, "/f"},
		{`{"type":"string","contentEncoding":"base64"}`, `"eA=="`, ""}, {`{"type":"string","contentEncoding":"base64"}`, `"?"`, "/f"},
		{either, `"https://x.example/a"`, ""}, {either, `"eA=="`, ""}, {either, `"` + encoded(schema.MaxFile+1) + `"`, "/f"},
	} {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("send", `{"type":"object","properties":{"f":`+x.schema+`}}`))
		b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
		end := b.Complete(t.Context(), &bridge.Call{Site: "shop", Tool: "send", Caller: bridge.Local(), Input: bridgetest.JSON(`{"f":` + x.value + `}`)})
		ran := len(r.Calls()) > 0
		pointer := ""
		if end.Err != nil {
			if list, _ := end.Err.Details["errors"].([]map[string]string); len(list) > 0 && end.Err.Code == bridge.SchemaError && end.Err.Outcome == bridge.NotRun {
				pointer = list[0]["pointer"]
			}
		}
		if pointer != x.pointer || ran != (x.pointer == "") {
			t.Errorf("%.80s with %.80s: %q, ran: %v (%v); want %q", x.schema, x.value, pointer, ran, end.Err, x.pointer)
		}
	}
}

// TestFilesRaiseTheLimit: arguments may be 4 MiB long for a tool that takes files, and for no
// other.
func TestFilesRaiseTheLimit(t *testing.T) {
	for _, x := range []struct {
		schema string
		bytes  int
		ok     bool
	}{
		{`{"type":"array","items":{"type":"string","contentEncoding":"base64"}}`, 1 << 20, true},
		{`{"type":"array","items":{"type":"string","contentEncoding":"base64"}}`, 3 << 19, false},
		{`{"type":"array","items":{"type":"string"}}`, 1 << 17, false},
		{`{"type":"array","items":{"type":"string"}}`, 1 << 16, true},
	} {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("send", `{"type":"object","properties":{"f":`+x.schema+`}}`))
		b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
		one := `"` + encoded(x.bytes) + `"`
		end := b.Complete(t.Context(), &bridge.Call{Site: "shop", Tool: "send", Caller: bridge.Local(), Input: bridgetest.JSON(`{"f":[` + one + `,` + one + `]}`)})
		if refused := end.Err != nil && end.Err.Code == bridge.SchemaError; refused == x.ok { // the tool echoes it, which is too much for a result
			t.Errorf("%s with twice %d bytes: %v", x.schema, x.bytes, end.Err)
		}
	}
}

// TestFilesInQuestions: whoever is asked reads a file's name, type, size and digest; the page gets
// its bytes, and no log has them.
func TestFilesInQuestions(t *testing.T) {
	var log bytes.Buffer
	const body = "the secret plans"
	data := base64.StdEncoding.EncodeToString([]byte(body))
	sum := fmt.Sprintf("%d bytes, sha256:%x", len(body), sha256.Sum256([]byte(body)))
	input := `{"f":{"name":"plan.txt","type":"text/plain","data":"` + data + `"},"note":"` + data + `"}`
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("send", `{"type":"object","properties":{"f":`+fmt.Sprintf(formFile, "")+`}}`))
	b, err := bridge.New(r, bridge.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	asked := b.Start(t.Context(), &bridge.Call{Site: "shop", Tool: "send", Caller: bridge.Local(), Input: bridgetest.JSON(input)})
	q, end := asked.Next(t.Context())
	if q == nil {
		t.Fatalf("nobody is asked: %v", end.Err)
	}
	want := `{"f":{"name":"plan.txt","type":"text/plain","data":"` + sum + `"},"note":"` + data + `"}`
	if string(q.Input) != want {
		t.Errorf("a person reads %s, not %s", q.Input, want)
	}
	if e := asked.Elicited(q.ID, bridge.Answer{OK: true}, bridge.Local()); e != nil {
		t.Fatal(e)
	}
	if _, end = asked.Next(t.Context()); end.Err != nil {
		t.Fatal(end.Err)
	}
	if calls := r.Calls(); len(calls) == 0 || calls[len(calls)-1].Input != input {
		t.Error("the page did not get the file")
	}
	if log.Len() == 0 || strings.Contains(log.String(), data) {
		t.Errorf("the log: %s", log.String())
	}
}

// TestFilesOfSamples: arguments that are made of a form's schema have files that are taken.
func TestFilesOfSamples(t *testing.T) {
	for _, accept := range []string{"", ".pdf, image/*", "image/*", "text/csv"} {
		input := `{"type":"object","required":["f"],"properties":{"f":` + formFileOf(accept) + `}}`
		declared, err := bridge.ReadValue("the schema", []byte(input))
		samples := schema.Samples([]byte(input), false)
		if err != nil || len(samples) == 0 {
			t.Fatalf("%s: no samples (%v)", accept, err)
		}
		for _, x := range samples {
			if v, err := bridge.ReadValue("request", x.Input); err != nil || schema.CheckFiles(declared, v) != nil {
				t.Errorf("accept=%q: %s: %v", accept, x.Input, schema.CheckFiles(declared, v))
			}
		}
	}
}
