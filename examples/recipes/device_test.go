package recipes_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// startDevice begins the flow of a device with a new client.
func (c *caller) startDevice(scope string) (id string, got answer) {
	c.t.Helper()
	id = c.register()
	got = c.form("/oauth/device", "client_id", id, "scope", scope)
	want(c.t, got, http.StatusOK, "")
	return id, got
}

func (c *caller) poll(id string, device answer) answer {
	c.t.Helper()
	return c.form("/oauth/token", "grant_type", deviceGrant, "client_id", id, "device_code", device.field("device_code"))
}

// answerDevice answers the consent page of a device.
func (c *caller) answerDevice(userCode, decision string) answer {
	c.t.Helper()
	page := c.get("/device?user_code=" + userCode)
	want(c.t, page, http.StatusOK, "")
	return c.form("/device", "user_code", userCode, "csrf", csrf.FindStringSubmatch(page.body)[1], "decision", decision)
}

func TestDevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t)
		id, device := c.startDevice("recipes:read")
		if device.field("verification_uri") != issuer+"/device" || !strings.HasSuffix(device.field("verification_uri_complete"), device.field("user_code")) {
			t.Errorf("the device got %s", device.body)
		}
		want(t, c.poll(id, device), http.StatusBadRequest, "authorization_pending")
		want(t, c.poll(id, device), http.StatusBadRequest, "slow_down")
		pass(5 * time.Second)
		want(t, c.poll(id, device), http.StatusBadRequest, "slow_down")
		pass(15 * time.Second)
		want(t, c.poll(c.register(), device), http.StatusBadRequest, "invalid_grant")
		want(t, c.poll(id, device), http.StatusBadRequest, "authorization_pending")

		typed := strings.ToLower(strings.ReplaceAll(device.field("user_code"), "-", ""))
		if to := location(t, c.get("/device?user_code="+typed)); to.Path != "/login" || to.Query().Get("next") != "/device?user_code="+typed {
			t.Errorf("a visitor is sent to %s", to)
		}
		want(t, c.signIn().answerDevice(typed, "allow"), http.StatusOK, "")
		pass(15 * time.Second)
		got := c.poll(id, device)
		want(t, got, http.StatusOK, "")
		if got.field("scope") != "recipes:read" || c.use(got) != http.StatusOK {
			t.Errorf("the tokens are %s", got.body)
		}
		want(t, c.post("/api/recipes", recipe("Toast"), bearer(got)...), http.StatusForbidden, "insufficient_scope")
		want(t, c.poll(id, device), http.StatusBadRequest, "invalid_grant") // it works once
		want(t, c.get("/device?user_code="+typed), http.StatusNotFound, "")
	})
}

func TestDeviceIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t).signIn()
		want(t, c.form("/oauth/device", "client_id", "nobody"), http.StatusUnauthorized, "invalid_client")
		want(t, c.form("/oauth/device", "client_id", c.register(), "scope", "x"), http.StatusBadRequest, "invalid_scope")
		want(t, c.form("/oauth/device", "client_id", c.register(), "resource", "https://evil.example"), http.StatusBadRequest, "invalid_target")

		id, denied := c.startDevice("")
		want(t, c.answerDevice(denied.field("user_code"), "deny"), http.StatusOK, "")
		want(t, c.poll(id, denied), http.StatusBadRequest, "access_denied")

		id, forged := c.startDevice("")
		want(t, c.form("/device", "user_code", forged.field("user_code"), "csrf", "x", "decision", "allow"), http.StatusForbidden, "invalid_request")
		want(t, c.poll(id, forged), http.StatusBadRequest, "authorization_pending")

		id, late := c.startDevice("")
		pass(11 * time.Minute)
		want(t, c.get("/device?user_code="+late.field("user_code")), http.StatusNotFound, "")
		want(t, c.poll(id, late), http.StatusBadRequest, "expired_token")
	})
}

// TestCodesAreNotGuessed: a person has ten attempts a minute.
func TestCodesAreNotGuessed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t).signIn()
		_, device := c.startDevice("")
		for range 10 {
			want(t, c.get("/device?user_code=BBBB-BBBB"), http.StatusNotFound, "")
		}
		want(t, c.get("/device?user_code="+device.field("user_code")), http.StatusTooManyRequests, "")
		pass(time.Minute)
		want(t, c.get("/device?user_code="+device.field("user_code")), http.StatusOK, "")
	})
}
