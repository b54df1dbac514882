package chrome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pagetools/pagetools/bridge/files"
)

// stateName is the file in a profile that has the settings of the whole browser.
const stateName = "Local State"

// answersLogins makes a whole browser that nobody sees take what asks for a login as any other
// response: it would ask a person in a window of its own, and the request would not end. The
// DevTools protocol asks us only about requests that it stops, and stopping each would slow all of
// them down. Our own proxy may ask. A browser that people see asks them again, and so does one that
// the operator starts on a profile of theirs after ours. A user and a password that a script gives
// with its request are not sent either.
func (o *Options) answersLogins(kind Kind, profile string) error {
	path := filepath.Join(profile, stateName)
	state, auth := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	text, err := os.ReadFile(path)
	switch {
	case kind != Chromium, o.Headful && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = json.Unmarshal(text, &state)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil && state["auth"] != nil {
		err = json.Unmarshal(state["auth"], &auth)
	}
	if err != nil {
		return fmt.Errorf("reading the settings of the browser in %s: %w", path, err)
	}
	delete(auth, "schemes")
	delete(auth, "http_auth_allowed_for_origins")
	if !o.Headful {
		asks, _ := json.Marshal([]string{o.ProxyServer}) // a text
		auth["schemes"], auth["http_auth_allowed_for_origins"] = json.RawMessage(`""`), asks
	}
	state["auth"], _ = json.Marshal(auth)
	if text, err = json.Marshal(state); err == nil {
		err = files.Write(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the settings of the browser in %s: %w", path, err)
	}
	return nil
}
