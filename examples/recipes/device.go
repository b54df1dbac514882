package recipes

import (
	"crypto/rand"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// device is a client without a browser that waits for a person (RFC 8628).
type device struct {
	client   *client
	scopes   []string
	userCode string
	ends     time.Time

	interval time.Duration // the client waits so long between two questions
	asked    time.Time
	person   *person // who let it in
	denied   bool
}

// startDevice is the device authorization endpoint (RFC 8628, section 3.1).
func (s *server) startDevice(r *http.Request) reply {
	in, c, err := s.form(r)
	if err != nil {
		return failed(err)
	}
	asked, err := scopesOf(in.Get("scope"), scopes)
	if err != nil {
		return failed(err)
	}
	secret := rand.Text()
	d := &device{client: c, scopes: asked, userCode: userCode(),
		ends: time.Now().Add(deviceLife), interval: 5 * time.Second}
	s.devices.put(digest(secret), d)
	return asJSON(http.StatusOK, map[string]any{
		"device_code": secret, "user_code": d.userCode, "interval": int(d.interval / time.Second),
		"expires_in": int(deviceLife / time.Second), "verification_uri": s.issuer + "/device",
		"verification_uri_complete": s.issuer + "/device?user_code=" + d.userCode,
	})
}

// userCode returns a code for a person to type: eight consonants, so that no word comes of it
// (section 6.1).
func userCode() string {
	const letters = "BCDFGHJKLMNPQRSTVWXZ"
	var code strings.Builder
	for i := range 8 {
		if i == 4 {
			code.WriteByte('-')
		}
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(letters)))) // it cannot fail
		code.WriteByte(letters[n.Int64()])
	}
	return code.String()
}

// waiting finds the device that waits under a code as a person typed it, or nil.
func (s *server) waiting(typed string) *device {
	plain := func(code string) string {
		return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	}
	for key := range s.devices.held {
		d, ok := s.devices.get(key)
		if ok && d.person == nil && !d.denied && time.Now().Before(d.ends) &&
			digest(plain(d.userCode)) == digest(plain(typed)) {
			return d
		}
	}
	return nil
}

// enterCode is the page on which a person types the code of a device, and lets it in or not. Codes
// are short: so only a person may try them, ten times a minute (section 5.1).
func (s *server) enterCode(r *http.Request) reply {
	x := s.personOf(r)
	if x == nil {
		return signIn(r)
	}
	if err := r.ParseForm(); err != nil {
		return failed(wrong("invalid_request", "The form cannot be read."))
	}
	typed := r.Form.Get("user_code")
	data := map[string]any{"Name": x.person.name, "Code": typed, "CSRF": x.csrf}
	if typed == "" {
		return s.html(http.StatusOK, "device", "'self'", data)
	}
	if !x.codes.take(10, time.Minute) {
		return s.note(http.StatusTooManyRequests, "Too many attempts. Wait a minute.")
	}
	d := s.waiting(typed)
	if d == nil {
		data["Problem"] = "No device waits with this code. Start again on the device."
		return s.html(http.StatusNotFound, "device", "'self'", data)
	}
	if r.Method == http.MethodGet {
		data["Client"], data["Scopes"] = d.client.name, words(d.scopes)
		data["Code"], data["Device"] = d.userCode, true
		return s.html(http.StatusOK, "consent", "'self'", data)
	}
	yes, err := agreed(x, r.PostForm)
	switch {
	case err != nil:
		return failed(err)
	case !yes:
		d.denied = true
		return s.note(http.StatusOK, "The device was not let in. You can close this page.")
	}
	s.letIn(d.client)
	d.person = x.person
	return s.note(http.StatusOK, "The device is let in. You can close this page and go back to it.")
}

// poll answers a device that asks whether its person has decided (RFC 8628, section 3.5).
func (s *server) poll(c *client, in url.Values) (reply, error) {
	key := digest(in.Get("device_code"))
	d, ok := s.devices.get(key)
	if !ok || d.client.id != c.id {
		return reply{}, wrong("invalid_grant", "The device code is not valid.")
	}
	early := time.Since(d.asked) < d.interval
	d.asked = time.Now()
	switch {
	case time.Now().After(d.ends):
		return reply{}, wrong("expired_token", "The device code is over. Start again.")
	case early:
		d.interval += 5 * time.Second
		return reply{}, wrong("slow_down", "Ask every %d seconds.", int(d.interval/time.Second))
	case d.denied:
		return reply{}, wrong("access_denied", "The person said no.")
	case d.person == nil:
		return reply{}, wrong("authorization_pending", "The person has not decided yet.")
	}
	s.devices.drop(key)
	_, out := s.grant(c, d.person, d.scopes)
	return out, nil
}
