package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// fakeEnv makes this test binary act as the server that the demo starts. Its
// value says how the server behaves.
const fakeEnv = "PAGETOOLS_DEMO_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeEnv); mode != "" {
		os.Exit(fakeServer(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func fakeServer(mode string, args []string) int {
	if got := strings.Join(args, " "); got != "demo --listen 127.0.0.1:0 --format json" {
		fmt.Fprintln(os.Stderr, "unexpected arguments:", got)
		return 2
	}
	if mode == "dies" {
		return 4
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := httptest.NewServer(fakeSite(mode))
	defer server.Close()
	defer server.CloseClientConnections() // Close alone waits seconds for them.
	tools := `["add-stamp","find-stamps"]`
	if mode == "no tools" {
		tools = `[]`
	}
	fmt.Printf(`{"listening":%q,"sites":[{"name":"stampdb","url":%q,"tools":%s}]}`+"\n", server.URL, server.URL+"/webtools/stampdb", tools)
	<-ctx.Done()
	if mode == "ends badly" {
		return 5
	}
	return 0
}

func fakeSite(mode string) http.HandlerFunc {
	added := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			SessionID string          `json:"sessionId"`
			Action    string          `json:"action"`
			Request   json.RawMessage `json:"request"`
		}
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&call); err != nil || r.Header.Get("Content-Type") != "application/json" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		switch call.Action {
		case "":
			_, _ = io.WriteString(w, `{"actions":[{"name":"add-stamp"}]}`)
		case "add-stamp":
			if mode == "refuses" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			added[call.SessionID] = mode != "forgets"
			_, _ = io.WriteString(w, `{"status":"ok","data":{"content":[{"type":"text","text":"The collection now contains 7 stamps."}]}}`)
		default:
			if added[call.SessionID] {
				_, _ = io.WriteString(w, `{"status":"ok","data":{"total":1,"stamps":[{"name":"Blue Mauritius"}]}}`)
			} else {
				_, _ = io.WriteString(w, `{"status":"ok","data":{"total":0,"stamps":[]}}`)
			}
		}
	}
}

func TestRun(t *testing.T) {
	for mode, want := range map[string]string{
		"works":      "",
		"dies":       "ended before it was ready",
		"no tools":   `no tool "add-stamp"`,
		"refuses":    "403",
		"forgets":    "does not contain Blue Mauritius",
		"ends badly": "stopping the server",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(fakeEnv, mode)
			var out strings.Builder
			err := run(t.Context(), []string{os.Args[0]}, &out, io.Discard)
			switch {
			case want == "" && err != nil:
				t.Errorf("run: %v\n%s", err, out.String())
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("run: %v; want an error with %q\n%s", err, want, out.String())
			case want == "" && (strings.Count(out.String(), "\n") > 20 || strings.Count(out.String(), "-> 200 OK") != 2):
				t.Errorf("the output is not two calls and their results (U8):\n%s", out.String())
			case want == "" && !strings.HasSuffix(out.String(), "stopped\n"):
				t.Errorf("the output does not end with the stop:\n%s", out.String())
			}
		})
	}
}
