package shim

import "regexp"

// Place says where a call is, among calls beside each other.
type Place string

// The places of a call.
const (
	// Inside: its code runs in an interaction, and no other.
	Inside Place = "enters"
	// Waiting: it waits for a person in an interaction, and other calls may run.
	Waiting Place = "waits"
	// Nowhere: neither.
	Nowhere Place = "leaves"
)

var placeText = regexp.MustCompile(`^([0-9a-f]{32}) (enters|waits|leaves)$`)

// Placed reads the text of an alert by which the page script says where a call is: nothing else
// leaves a page while its code runs. The ids of calls are secret. It is not ok for another text.
func Placed(message string) (call string, place Place, ok bool) {
	said := placeText.FindStringSubmatch(message)
	if said == nil {
		return "", "", false
	}
	return said[1], Place(said[2]), true
}
