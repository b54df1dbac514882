package opentools

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// overriding are headers from which servers and proxies take another method, address or host; the
// others only look so.
var overriding = map[string]bool{
	"X-HTTP-Method-Override": true, "X-HTTP-Method": true, "X-Method-Override": true, "X-Original-URL": true, "X-Rewrite-URL": true,
	"x-http-method-override": true, "X_HTTP_METHOD_OVERRIDE": true, "X-HTTP_Method-Override": true, "Method-Override": true,
	"X-Override-Method": true, "X-Request-Method": true, "X-Original-Method": true, "X-Method": true, "X-Original-URI": true,
	"X-Rewrite-URI": true, "X-Original-Host": true, "X-HTTP-Host-Override": true, "X-HTTP-Path-Override": true, "X-Host": true,
	"X-Forwarded-Host": true, "X_Forwarded_Host": true, "X-Forwarded-Prefix": true, "X-Proxy-URL": true, "Request-URI": true,
	"X-Override-URL": true, "X-URL-Rewrite": true, "X-HTTP-DestinationURL": true, "Base-URL": true, "Destination": true,

	"X-Payment-Method": false, "X-Shipping-Method": false, "X-Original-Filename": false, "X-Hostel": false, "X-Team": false,
	"X-Callback-Url": false, "X-Path-Style": false, "Idempotency-Key": false, "X-Methods": false, "X-URL-Count": false,
}

// TestOverrides holds S6: what can change the method or the address of a request is no argument.
func TestOverrides(t *testing.T) {
	t.Parallel()
	for name, refused := range overriding {
		paths := fmt.Sprintf(`"/a":{"get":{"operationId":"a","parameters":[{"name":%q,"in":"header","schema":{"type":"string"}}]}}`, name)
		got, problems := tools(t, "3.1.0", paths, "", All)
		if got["a"] == nil || problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
		if has := strings.Contains(string(got["a"].Input), name); has == refused || refused != strings.Contains(strings.Join(got["a"].Notes, ""), "the header "+name+" is not sent") {
			t.Errorf("%s: %s %q", name, got["a"].Input, got["a"].Notes)
		}
	}
	for name, refused := range map[string]bool{"_method": true, "_METHOD": true, "x-http-method-override": true, "http_method": true, "_HttpMethod": true, "_http-method": true,
		"method": false, "payment_method": false, "original_url": false, "host": false, "url": false, "path": false} {
		got, _ := tools(t, "3.0.3", fmt.Sprintf(`"/a":{"get":{"operationId":"a","parameters":[{"name":%q,"in":"query","schema":{"type":"string"}}]}}`, name), "", All)
		if has := strings.Contains(string(got["a"].Input), `"`+name+`"`); has == refused {
			t.Errorf("%s in the query: %s %q", name, got["a"].Input, got["a"].Notes)
		}
	}
}

// TestCookiePrefixes holds S9: the jar takes a cookie with a prefix only as that prefix promises.
func TestCookiePrefixes(t *testing.T) {
	t.Parallel()
	const api, plain = "https://api.shop.example/a/b", "http://api.shop.example/a/b"
	for _, x := range []struct {
		from, cookie string
		kept         bool
	}{
		{api, "__Host-sid=1; Secure; Path=/", true},
		{api, "__Host-sid=1; Secure; Path=/; HttpOnly; SameSite=Lax", true},
		{api, "__Secure-sid=1; Secure; Domain=shop.example", true},
		{api, "__Host-Http-sid=1; Secure; Path=/; HttpOnly", true},
		{api, "__Http-sid=1; Secure; HttpOnly", true},
		{api, "sid=1; Domain=shop.example", true},
		{api, "__Hostess=1", true},

		{api, "__Host-sid=1; Secure; Path=/; Domain=shop.example", false},
		{api, "__Host-sid=1; Secure; Path=/; Domain=api.shop.example", false},
		{api, "__host-sid=1; Secure; Path=/; Domain=shop.example", false},
		{api, "__Host-sid=1; Path=/", false},
		{api, "__Host-sid=1; Secure", false},
		{api, "__Host-sid=1; Secure; Path=/a", false},
		{api, "__Secure-sid=1", false},
		{api, "__SECURE-sid=1; Domain=shop.example", false},
		{api, "__Http-sid=1; Secure", false},
		{api, "__Host-Http-sid=1; Secure; Path=/", false},
		{plain, "__Host-sid=1; Secure; Path=/", false},
		{plain, "__Secure-sid=1; Secure", false},
	} {
		from, err := url.Parse(x.from)
		if err != nil {
			t.Fatal(err)
		}
		j := newJar()
		set := (&http.Response{Header: http.Header{"Set-Cookie": {x.cookie}}}).Cookies()
		if len(set) != 1 {
			t.Fatalf("%s is %v", x.cookie, set)
		}
		receiving{j}.SetCookies(from, set)
		there, err := url.Parse(api)
		if err != nil {
			t.Fatal(err)
		}
		if kept := len(j.Cookies(there)) == 1; kept != x.kept || !kept && j.size != 0 {
			t.Errorf("%s from %s: kept %v, %d bytes", x.cookie, x.from, kept, j.size)
		}
	}
}
