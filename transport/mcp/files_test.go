package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

// fileVersions are the protocol versions, and whether they have links to resources.
var fileVersions = map[string]bool{"2024-11-05": false, "2025-03-26": false, "2025-06-18": true, "2025-11-25": true, "2026-07-28": true}

// speaks makes the client one of a protocol version.
func (c *client) speaks(version string) *client {
	if version == "2026-07-28" {
		return c.since2026("{}")
	}
	return c.legacy(version, "{}")
}

// reads sends resources/read, with the header that newer versions want.
func (c *client) reads(uri string) answer {
	c.header.Set("Mcp-Name", uri)
	defer c.header.Del("Mcp-Name")
	return c.call(4, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
}

// TestSavedFiles: what a page saves in a call follows the page's blocks, in each protocol version:
// what a model reads at once is in the result, anything else is a resource that its caller alone
// reads.
func TestSavedFiles(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n"
	long := strings.Repeat("x", maxEmbedded)
	saved := []bridge.File{
		{Name: "a.csv", Data: []byte("a,b")}, {Name: "p.png", Data: []byte(png)}, {Name: "most.txt", Data: []byte(long)}, {Name: "more.txt", Data: []byte(long + "x")},
		{Name: "x.html", Data: []byte("<b>")}, {Name: "", Data: []byte{}}, {Name: "big", State: bridge.FileTooLarge}, {Name: "5", State: bridge.FileDenied},
	}
	for version, links := range fileVersions {
		w := newWorld(t, Options{Files: true})
		w.router.Handle("shop", bridgetest.Saving(saved...))
		c := w.as(agent).speaks(version)
		a := c.call(7, "tools/call", `{"name":"look","arguments":{}}`)
		var got struct {
			Result struct {
				Content []struct {
					Type, Text, URI, Name, MimeType string
					Size                            *int
					Resource                        *struct{ URI, MimeType, Text, Blob string }
				}
				IsError bool
			}
		}
		a.into(t, &got)
		blocks := got.Result.Content
		if len(blocks) != 9 || got.Result.IsError || blocks[0].Text != "saved" {
			t.Fatalf("%s: %s", version, a.body)
		}
		if r := blocks[1].Resource; blocks[1].Type != "resource" || r.Text != "a,b" || r.MimeType != "text/csv" || !strings.HasPrefix(r.URI, "pagetools://files/") {
			t.Errorf("%s: a text is %+v", version, blocks[1])
		}
		if r := blocks[2].Resource; r == nil || r.Blob != base64.StdEncoding.EncodeToString([]byte(png)) || r.MimeType != "image/png" {
			t.Errorf("%s: a picture is %+v", version, blocks[2])
		}
		if r := blocks[3].Resource; r == nil || r.Text != long {
			t.Errorf("%s: a text of 64 KiB is %.100v", version, blocks[3])
		}
		for i, want := range []struct {
			size int
			kind string
		}{{maxEmbedded + 1, "text/plain"}, {3, bridge.OctetStream}, {0, bridge.OctetStream}} {
			b := blocks[4+i]
			if links && (b.Type != "resource_link" || b.Size == nil || *b.Size != want.size || b.MimeType != want.kind || b.Name == "") ||
				!links && (b.Type != "text" || !strings.Contains(b.Text, "pagetools://files/")) {
				t.Errorf("%s: the file %d is %+v", version, i, b)
			}
		}
		if !strings.Contains(blocks[7].Text, `"big"`) || !strings.Contains(blocks[8].Text, `"5"`) {
			t.Errorf("%s: what is not kept reads %q, %q", version, blocks[7].Text, blocks[8].Text)
		}
		reading(t, w, c, version, blocks[1].Resource.URI)
	}
}

// reading lists and reads resources.
func reading(t *testing.T, w *world, c *client, version, uri string) {
	t.Helper()
	var list struct {
		Result struct {
			Resources []resource
			TTL       *int `json:"ttlMs"`
		}
	}
	a := c.call(3, "resources/list", "{}")
	if a.into(t, &list); len(list.Result.Resources) != 6 || list.Result.Resources[0].URI != uri || *list.Result.Resources[0].Size != 3 || c.modern != (list.Result.TTL != nil) {
		t.Errorf("%s lists %s", version, a.body)
	}
	if a := c.call(3, "resources/templates/list", "{}"); !strings.Contains(a.body, `"resourceTemplates":[]`) {
		t.Errorf("%s: templates: %s", version, a.body)
	}
	if c.modern && *list.Result.TTL != 0 {
		t.Errorf("%s: files come and go, and the list is kept for %d ms", version, *list.Result.TTL)
	}
	for _, r := range list.Result.Resources {
		var read struct {
			Result struct {
				Contents []contents
			}
		}
		a := c.reads(r.URI)
		if a.into(t, &read); len(read.Result.Contents) != 1 || read.Result.Contents[0].URI != r.URI || read.Result.Contents[0].MimeType != r.MimeType ||
			(read.Result.Contents[0].Text == nil) == (read.Result.Contents[0].Blob == nil) {
			t.Errorf("%s reads %.300s of %+v", version, a.body, r)
		}
	}
	missing := -32002
	if c.modern {
		missing = -32602
	}
	stranger := w.as(other).speaks(version)
	for of, a := range map[string]answer{"another caller": stranger.reads(uri), "a guess": c.reads("pagetools://files/AAAAAAAAAAAAAAAAAAAAAAAAAA"),
		"a path": c.reads("file:///etc/passwd"), "another scheme": c.reads(strings.Replace(uri, "pagetools", "https", 1)), "a cased id": c.reads(strings.ToLower(uri))} {
		var r struct{ Error struct{ Code int } }
		if a.into(t, &r); r.Error.Code != missing {
			t.Errorf("%s: %s gives %s", version, of, a.body)
		}
	}
	if a := stranger.call(3, "resources/list", "{}"); !strings.Contains(a.body, `"resources":[]`) {
		t.Errorf("%s: another caller lists %s", version, a.body)
	}
}

// TestFilesIntoCalls: a file reaches the page through MCP as it is, up to the largest, and one that
// is larger does not.
func TestFilesIntoCalls(t *testing.T) {
	for version := range fileVersions {
		w := newWorld(t, Options{})
		const file = `{"type":"object","properties":{"name":{"type":"string"},"data":{"type":"string","contentEncoding":"base64"}},"required":["name","data"]}`
		w.router.Declare("shop", bridgetest.Tool("look", `{"type":"object","properties":{"f":`+file+`}}`))
		c := w.as(agent).speaks(version)
		for n, ok := range map[int]bool{0: true, schema.MaxFile: true, schema.MaxFile + 1: false} {
			before := len(w.router.Calls())
			data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, n))
			input := `{"f":{"name":"a.bin","data":"` + data + `"}}`
			r := c.tool("look", input)
			calls := w.router.Calls()[before:]
			if (len(calls) == 1) != ok || ok && !sameJSON(calls[0].Input, input) || !ok && r.code() != "SCHEMA_ERROR" {
				t.Errorf("%s: a file of %d bytes: %d calls, %.200s", version, n, len(calls), r.text())
			}
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
