package policy

import "fmt"

// Level says what has to happen before a call runs. A higher level is stricter; the zero value is
// Auto, which raises nothing.
type Level uint8

// The levels, in order.
const (
	Auto  Level = iota // runs
	Once               // a person is asked; the consent may be kept
	Ask                // a person is asked for every call
	Never              // does not run
)

var levelNames = [...]string{Auto: "auto", Once: "ask-once", Ask: "ask", Never: "never"}

// String returns the name that configuration uses.
func (l Level) String() string { return levelNames[l.known()] }

// known maps an unknown level to the strictest one.
func (l Level) known() Level { return min(l, Never) }

// ParseLevel reads the names that String writes: "auto", "ask-once", "ask", "never".
func ParseLevel(s string) (Level, error) {
	for i, name := range levelNames {
		if s == name {
			return Level(i), nil
		}
	}
	return Never, fmt.Errorf("unknown level %q: use auto, ask-once, ask or never", s)
}

// MarshalText writes the name, for JSON and YAML.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the name.
func (l *Level) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLevel(string(text))
	return err
}
