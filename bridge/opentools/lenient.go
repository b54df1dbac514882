package opentools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// maxWrong bounds what is said of a document beside what is said of its operations.
const maxWrong = 100

// note keeps what is wrong with the document at a place.
func (d *Document) note(at, what string) {
	if len(d.wrong) < maxWrong {
		d.wrong = append(d.wrong, text.Line(text.Short(at, maxShown))+": "+what)
	}
}

// errNoObject is the error of an entry that is something else.
var errNoObject = errors.New("it must be an object")

// take fills the fields of a struct with the members of an object of the document. A member of
// another type costs itself: wrong names it. Null is nothing. It returns an error where there is no
// object.
func take(words json.RawMessage, into any) (wrong []string, err error) {
	all, err := members(words)
	if err != nil {
		return nil, errNoObject
	}
	v := reflect.ValueOf(into).Elem()
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		if f.IsExported() && name != "-" {
			fields[name] = v.Field(i)
		}
	}
	for _, m := range all {
		f, known := fields[m.name]
		if !known || string(m.text) == "null" {
			continue
		}
		f.SetZero() // of two members of that name the last one counts
		if err := json.Unmarshal(m.text, f.Addr().Interface()); err != nil {
			f.SetZero()
			wrong = append(wrong, m.name+" must be "+kindOf(f.Type()))
		}
	}
	return wrong, nil
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "a list of texts"
		}
		return "a list"
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Int, reflect.Float64:
		return "a number"
	default:
		return "an object"
	}
}

// notJSON says why a text cannot be read, in words for people.
func notJSON(words []byte) error {
	if e, ok := errors.AsType[*schema.SyntaxError](schema.CheckJSON(words, maxDepth)); ok {
		return fmt.Errorf("the document is not JSON: %s (%s)", e.Message, cmp.Or(e.Where(), "at its end"))
	}
	return errors.New("the document is not a JSON object")
}
