package opentools

import (
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
)

// TestRequest: arguments go where the operation has them, and nowhere else.
func TestRequest(t *testing.T) {
	t.Parallel()
	const paths = `"/pets/{id}/toys":{"post":{"operationId":"json","x-llm":{},"parameters":[{"name":"id","in":"path","required":true,"schema":{}},{"name":"q","in":"query","schema":{}},{"name":"tags","in":"query","schema":{}},
		{"name":"X-Team","in":"header","schema":{}},{"name":"theme","in":"cookie","schema":{}},{"name":"name","in":"query","schema":{}}],"requestBody":{"content":{"application/merge-patch+json":{"schema":{"type":"object","properties":{"name":{},"n":{}}}}}}}},
		"/list":{"put":{"operationId":"list","x-llm":{},"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"array"}}}}}},
		"/form":{"post":{"operationId":"form","x-llm":{},"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{},"l":{},"d":{},"e":{}},"additionalProperties":false},"encoding":{"e":{"style":"form","explode":false},"d":{"style":"deepObject","explode":true}}}}}}},
		"/upper":{"post":{"operationId":"upper","x-llm":{},"requestBody":{"content":{"Application/X-WWW-Form-Urlencoded; charset=utf-8":{"schema":{"type":"object","properties":{"a":{}}}}}}}},
		"/text":{"post":{"operationId":"text","x-llm":{},"requestBody":{"content":{"text/plain":{"schema":{"type":"string"}}}}}},
		"/bytes":{"post":{"operationId":"bytes","x-llm":{},"requestBody":{"content":{"application/octet-stream":{}}}}},
		"/logo":{"put":{"operationId":"logo","x-llm":{},"requestBody":{"required":true,"content":{"image/png":{"schema":{"type":"string","format":"binary"}}}}}},
		"/part":{"post":{"operationId":"part","x-llm":{},"requestBody":{"content":{"application/json":{"schema":{"properties":{"a":{},"b":{}},"required":["a"]}}}}}},
		"/version":{"get":{"operationId":"version","x-llm":{},"parameters":[{"name":"Accept","in":"header","required":true,"schema":{"type":"string","default":"application/vnd.x+json;version=2"}}]}},
		"/odd":{"get":{"operationId":"odd","x-llm":{},"parameters":[{"name":"accept","in":"header","schema":{"enum":["a\r\nX: y"]}}]}},
		"/get":{"get":{"operationId":"get","x-llm":{}}}`
	all, problems := tools(t, "3.1.0", paths, "", Marked)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	server, _ := url.Parse("https://api.example/v1/")
	for _, x := range []struct{ tool, args, want string }{
		{"json", `{"id":"a/b","q":"x y","tags":["a","b"],"X-Team":"core","theme":"dark;1","name":{"a":12345678901234567890},"name__query":"in query","other":null}`,
			`POST https://api.example/v1/pets/a%2Fb/toys?q=x%20y&tags=a&tags=b&name=in%20query Content-Type: application/merge-patch+json Cookie: theme=dark%3B1 X-Team: core | {"name":{"a":12345678901234567890},"other":null}`},
		{"json", `{"id":1}`, `POST https://api.example/v1/pets/1/toys | none`},
		{"json", `{"id":".."}`, `id must be more than dots`},
		{"json", `{"id":null}`, `id must not be null`},
		{"json", `{"id":1,"X-Team":"a\nb"}`, `X-Team must have no control characters`},
		{"list", `{"body":[1,{"a":2}]}`, `PUT https://api.example/v1/list Content-Type: application/json | [1,{"a":2}]`},
		{"form", `{"a":"x&y","l":["1","2"],"d":{"k":{"z":1}},"e":["3","4"]}`, `POST https://api.example/v1/form Content-Type: application/x-www-form-urlencoded | a=x%26y&l=1&l=2&d%5Bk%5D%5Bz%5D=1&e=3,4`},
		{"form", `{"l":[{"a":1},{"a":2}]}`, `POST https://api.example/v1/form Content-Type: application/x-www-form-urlencoded | l%5B0%5D%5Ba%5D=1&l%5B1%5D%5Ba%5D=2`},
		{"upper", `{"a":"x&y"}`, `POST https://api.example/v1/upper Content-Type: Application/X-WWW-Form-Urlencoded; charset=utf-8 | a=x%26y`},
		{"form", `{}`, `POST https://api.example/v1/form | none`},
		{"text", `{"body":"hello"}`, `POST https://api.example/v1/text Content-Type: text/plain | hello`},
		{"bytes", `{"body":"aGVsbG8="}`, `POST https://api.example/v1/bytes Content-Type: application/octet-stream | hello`},
		{"logo", `{"body":"aGVsbG8="}`, `PUT https://api.example/v1/logo Content-Type: image/png | hello`},
		{"bytes", `{"body":"?"}`, `body must be base64`},
		{"part", `{}`, `POST https://api.example/v1/part | none`},
		{"part", `{"b":1}`, `"a" is missing: "b" is a part of what needs it`},
		{"part", `{"b":1,"a":2}`, `POST https://api.example/v1/part Content-Type: application/json | {"b":1,"a":2}`},
		{"version", `{}`, `GET https://api.example/v1/version Accept: application/vnd.x+json;version=2 | none`},
		{"odd", `{}`, `GET https://api.example/v1/odd | none`},
		{"get", `{}`, `GET https://api.example/v1/get | none`},
	} {
		r, err := all[x.tool].request(server, read(t, x.args))
		if err != nil {
			if !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s %s: %v", x.tool, x.args, err)
			}
			continue
		}
		got := r.method + " " + r.url.String()
		for _, name := range []string{"Accept", "Content-Type", "Cookie", "X-Team"} {
			if v := r.header.Get(name); v != "" {
				got += " " + name + ": " + v
			}
		}
		body := "none"
		if r.body != nil {
			body = string(r.body)
		}
		if got += " | " + body; got != x.want {
			t.Errorf("%s %s\n%s\nwant %s", x.tool, x.args, got, x.want)
		}
	}
}

// TestMultipart: files, values and objects are parts, which none of them can leave.
func TestMultipart(t *testing.T) {
	t.Parallel()
	all, _ := tools(t, "3.1.0", `"/up":{"post":{"operationId":"up","x-llm":{},"requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"f":{},"n":{},"o":{},"l":{}}}}}}}}`, "", Marked)
	server, _ := url.Parse("https://api.example/")
	r, err := all["up"].request(server, read(t, `{"f":{"filename":"a\"\r\nX: y.png","mediaType":"image/png","base64":"aGVsbG8="},"n":3,"o":{"a":1},"l":["x","y"],"a\r\nb":1}`))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for parts := multipart.NewReader(strings.NewReader(string(r.body)), params["boundary"]); ; {
		p, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(p)
		got = append(got, p.FormName()+" "+p.FileName()+" "+p.Header.Get("Content-Type")+" "+string(data))
	}
	if want := `f a%22%0D%0AX: y.png image/png hello; n   3; o  application/json {"a":1}; l   x; l   y; a%0D%0Ab   1`; strings.Join(got, "; ") != want {
		t.Errorf("%s", strings.Join(got, "; "))
	}
	if _, err := all["up"].request(server, read(t, `{"f":{"base64":"?"}}`)); err == nil || !strings.Contains(err.Error(), "f.base64 must be base64") {
		t.Error(err)
	}
}

// TestPathsWithoutParameters: what of a path nothing declares is a text, and a query in it is no
// tool.
func TestPathsWithoutParameters(t *testing.T) {
	t.Parallel()
	all, problems := tools(t, "3.1.0", `"/a/{id}":{"get":{"operationId":"a","x-llm":{}}},"/b?x=1":{"get":{"operationId":"b","x-llm":{}}}`, "", Marked)
	if len(all) != 1 || len(all["a"].Notes) != 1 || len(problems) != 1 || !strings.Contains(problems[0], `its path has "?"`) {
		t.Errorf("%v %q", all, problems)
	}
}
