package trace_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/trace"
)

var update = flag.Bool("update", false, "write the golden files")

var began = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

// pngOf and jpegOf are pictures of 4 by 2 pixels in one color.
func pngOf(t *testing.T, shade uint8) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, gray(shade)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t *testing.T, shade uint8) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, gray(shade), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gray(shade uint8) image.Image {
	m := image.NewGray(image.Rect(0, 0, 4, 2))
	for i := range m.Pix {
		m.Pix[i] = shade
	}
	m.SetGray(0, 0, color.Gray{})
	return m
}

// files returns the files of a trace.
func files(t *testing.T, one *trace.Trace) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Write(&b, one); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 50<<20 {
		t.Errorf("the trace has %d bytes", b.Len())
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(text)
	}
	return all
}

// TestWrite: the lines of a trace match the golden files, and its resources are named by
// their sums.
func TestWrite(t *testing.T) {
	t.Parallel()
	film, shot := jpegOf(t, 200), &trace.Picture{At: at(9), Data: pngOf(t, 100)}
	got := files(t, &trace.Trace{
		Title: "adds a stamp", URL: "http://127.0.0.1/stamps.html", Began: began,
		Actions: []*trace.Action{{
			Title: "call add-stamp", Began: at(10), Ended: at(40), File: "stamps.webtool.yaml", Line: 7,
			Params: []trace.Param{{Name: "tool", Text: "add-stamp"}, {Name: "arguments", Text: `{"year":1918}`}},
			Result: []trace.Param{{Name: "result", Text: `"added"`}}, Before: shot,
			After: &trace.Picture{At: at(41), Data: pngOf(t, 150)},
			Children: []*trace.Action{{Title: "confirm: Buy?", Began: at(20), Ended: at(21),
				Params: []trace.Param{{Name: "kind", Text: "confirm"}}, Result: []trace.Param{{Name: "answer", Text: "accept"}}}},
		}, {
			Title: "page #count", Began: at(50), Ended: at(60), Error: "it differs", Log: []string{"> 2"},
			After: &trace.Picture{Data: []byte("no picture")},
		}},
		Frames: []trace.Frame{{At: at(5), JPEG: film, Width: 1280, Height: 720}, {At: at(6), JPEG: film, Width: 1280, Height: 720}},
		Messages: []trace.Message{{At: at(12), Level: "warning", Text: "careful", URL: "http://127.0.0.1/a.js", Line: 3},
			{At: at(13), Level: "error", Text: "Error: thrown", Uncaught: true, URL: "http://127.0.0.1/a.js", Line: 4}},
		Requests: []trace.Request{{At: at(11), Took: 1500 * time.Microsecond, Method: "POST", URL: "http://me:pw@127.0.0.1/orders?a=1",
			Status: 201, StatusText: "Created", Protocol: "http/1.1", MIMEType: "application/json", Size: 99,
			RequestHeaders:  http.Header{"accept": {"*/*"}, "authorization": {"Bearer hidden"}, "COOKIE": {"hidden"}},
			ResponseHeaders: http.Header{"Set-Cookie": {"hidden"}, "ETag": {"1"}}},
			{At: at(14), Method: "GET", URL: "http://127.0.0.1/gone", Failed: "net::ERR_FAILED"}},
		Sources: map[string]string{"stamps.webtool.yaml": "cases: []\n"},
	})
	if all := strings.Join([]string{got["trace.trace"], got["trace.network"]}, ""); strings.Contains(all, "hidden") || strings.Contains(all, "pw@") {
		t.Error("a credential is in the trace")
	}
	sum := sha1.Sum([]byte("stamps.webtool.yaml"))
	if got["resources/src@"+hex.EncodeToString(sum[:])+".txt"] != "cases: []\n" {
		t.Errorf("the source is not under the sum of its name")
	}
	frames := 0
	for name, text := range got {
		if strings.HasSuffix(name, ".jpeg") {
			sum := sha1.Sum([]byte(text))
			if name != "resources/"+hex.EncodeToString(sum[:])+".jpeg" || text != string(film) {
				t.Errorf("%s is not named by its sum", name)
			}
			frames++
		}
	}
	if frames != 1 || len(got) != 4 {
		t.Errorf("one picture is kept %d times, with %d files", frames, len(got))
	}
	for _, name := range []string{"trace.trace", "trace.network"} {
		text := regexp.MustCompile(`"platform":"\w+"`).ReplaceAllString(got[name], `"platform":"OS"`)
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s is\n%s", name, text)
		}
	}
}

// TestWriteHostile: texts of pages are cut, and what is invisible in them is visible; each line
// stays JSON.
func TestWriteHostile(t *testing.T) {
	t.Parallel()
	bad := "a\u202eb\x1b[31m\u200b\nc\xff{arguments}<img src=x onerror=alert(1)>"
	got := files(t, &trace.Trace{Title: bad, URL: bad, Began: began, Sources: map[string]string{bad: bad},
		Actions: []*trace.Action{{Title: bad, Began: at(-5), Params: []trace.Param{{Name: bad, Text: bad + strings.Repeat("x", 1<<20)}},
			Result: []trace.Param{{Name: bad, Text: bad}}, Error: bad, Log: []string{bad}, File: bad, Line: 1}},
		Messages: []trace.Message{{Level: "log", Text: bad, URL: bad}, {Text: bad, URL: bad, Uncaught: true}},
		Requests: []trace.Request{{Method: bad, URL: bad, StatusText: bad, Failed: bad, Protocol: bad, MIMEType: bad,
			RequestHeaders: http.Header{bad: {bad}}}},
	})
	for _, name := range []string{"trace.trace", "trace.network"} {
		if strings.ContainsAny(got[name], "\u202e\x1b\u200b") || len(got[name]) > 200<<10 {
			t.Errorf("%s has %d bytes, or hidden characters", name, len(got[name]))
		}
		for line := range strings.Lines(got[name]) {
			var event struct{ Type string }
			if err := json.Unmarshal([]byte(line), &event); err != nil || event.Type == "" {
				t.Errorf("%v in %.200s", err, line)
			}
		}
	}
	if !strings.Contains(got["trace.trace"], `\\u202e`) {
		t.Error("the hidden character is not shown")
	}
}

// TestWriteBounded: a page that floods everything has a trace of its size, in which the steps are.
func TestWriteBounded(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	one := &trace.Trace{Began: began}
	picture := append(pngOf(t, 1), make([]byte, 1<<20)...) // of each, so that not all have room
	for i := range 25 {
		one.Actions = append(one.Actions, &trace.Action{Title: "step", After: &trace.Picture{Data: picture}})
		data := append(jpegOf(t, uint8(i)), bytes.Repeat([]byte{byte(i)}, 1<<20)...)
		one.Frames = append(one.Frames, trace.Frame{JPEG: data})
	}
	for range 500 {
		one.Messages = append(one.Messages, trace.Message{Level: "log", Text: strings.Repeat("x", 4<<10)})
		one.Requests = append(one.Requests, trace.Request{URL: strings.Repeat("x", 2<<10)})
	}
	got := files(t, one) // which looks at the size
	if n := strings.Count(got["trace.trace"], `"type":"after"`); n != 25 {
		t.Errorf("%d of 25 steps are there", n)
	}
	if frames := len(got) - 2; frames == 0 || frames == 25 {
		t.Errorf("%d of 25 pictures are in the film strip", frames)
	}
}

// TestWritePictures: a picture belongs to the action that shows it first, by which viewers of today
// look for it; the action after it does not name it again.
func TestWritePictures(t *testing.T) {
	t.Parallel()
	between, last := &trace.Picture{At: at(2), Data: pngOf(t, 1)}, &trace.Picture{At: at(4), Data: pngOf(t, 2)}
	got := files(t, &trace.Trace{Began: began, Actions: []*trace.Action{
		{Title: "one", Began: at(1), Ended: at(2), After: between},
		{Title: "two", Began: at(3), Ended: at(4), Children: []*trace.Action{{Title: "in it", Began: at(3), Ended: at(4), Before: between, After: last}}},
	}})["trace.trace"]
	for _, want := range []string{`"snapshotName":"picture@1","callId":"call@1"`, `"snapshotName":"picture@2","callId":"call@3"`, `"callId":"call@3","endTime":5,"afterSnapshot":"picture@2"`} {
		if !strings.Contains(got, want) {
			t.Errorf("it is without %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, `"beforeSnapshot":`) || strings.Count(got, `"type":"frame-snapshot"`) != 2 {
		t.Errorf("a picture is there twice:\n%s", got)
	}
}
