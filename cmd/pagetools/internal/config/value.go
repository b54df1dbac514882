package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// This file reads single values, for flags, environment and file alike.

// field is one field of a struct that has a key.
type field struct {
	key   string
	tag   reflect.StructTag
	value reflect.Value
}

// fieldsOf lists the fields of a struct that have keys, in their order.
func fieldsOf(v reflect.Value) (all []field) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if key := tag.Get("key"); key != "" {
			all = append(all, field{key, tag, v.Field(i)})
		}
	}
	return all
}

// fieldsAlso lists those settings that a section of the file has, too.
func fieldsAlso(c *Config, section string) (all []field) {
	for _, f := range fieldsOf(reflect.ValueOf(c).Elem()) {
		if f.tag.Get("also") == section {
			all = append(all, f)
		}
	}
	return all
}

// object is a JSON Schema, or a part of one.
type object = map[string]any

// scalar says what the values of a type are like.
type scalar struct {
	must   string
	schema object
}

// scalars are the types that are written as one value.
var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[bool]():   {"must be true or false", object{"type": "boolean"}},
	reflect.TypeFor[int]():    {"must be a number", object{"type": "integer"}},
	reflect.TypeFor[string](): {"must be a text", object{"type": "string"}},
	reflect.TypeFor[time.Duration](): {"must be a duration above 0, such as 60s",
		object{"type": "string", "examples": []string{"60s", "15m"}}},
	reflect.TypeFor[policy.Rate](): {"must be a count and a duration, such as 60/1m",
		object{"type": "string", "pattern": "^[0-9]+/.+$", "examples": []string{"60/1m"}}},
	reflect.TypeFor[policy.Level](): {"must be one of auto, ask-once, ask, never",
		object{"enum": []string{"auto", "ask-once", "ask", "never"}}},
	reflect.TypeFor[bridge.Right](): {"must be a right", object{"type": "string"}},
	reflect.TypeFor[Viewport](): {"must be width x height in pixels, such as 1280x720",
		object{"type": "string"}},
	reflect.TypeFor[Origin](): {"must be an origin, such as https://shop.example",
		object{"type": "string"}},
	reflect.TypeFor[PublicURL](): {"must be an address with https and no path, such as https://tools.example",
		object{"type": "string", "pattern": "^https?://[^/?#]+/?$"}},
	reflect.TypeFor[Network](): {"must be a network, such as 10.0.0.0/8",
		object{"type": "string", "pattern": "^[0-9a-fA-F.:]+/[0-9]{1,3}$"}},
	reflect.TypeFor[Wait](): {"must be tool:NAME, selector:CSS or idle, such as tool:search",
		object{"type": "string", "pattern": "^(tool:[A-Za-z0-9_.-]+|selector:.+|idle)$"}},
	reflect.TypeFor[regexp.Regexp](): {"must be a regular expression of RE2, such as [0-9]{16}",
		object{"type": "string", "format": "regex"}},
	reflect.TypeFor[policy.Pointer](): {"must be a JSON Pointer, such as /customer/email",
		object{"type": "string", "pattern": "^/", "examples": []string{"/customer/email", "/items/*/price"}}},
	reflect.TypeFor[PageKey](): {"must be one of " + strings.Join(bridge.PageKeys(), ", "),
		object{"enum": bridge.PageKeys()}},
}

func scalarSchema(of any) object { return scalars[reflect.TypeOf(of)].schema }

// set reads a text into a value. The error says what the text must be.
func set(v reflect.Value, tag reflect.StructTag, text string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	must := errors.New(scalars[v.Type()].must)
	if own, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if own.UnmarshalText([]byte(text)) != nil {
			return must
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return must
		}
		v.SetBool(b)
	case reflect.String:
		if pattern := tag.Get("pattern"); pattern != "" &&
			!regexp.MustCompile(pattern).MatchString(text) {
			return errors.New(tag.Get("must"))
		}
		if slices.Contains(strings.Split(tag.Get("not"), ","), text) && text != "" {
			return errors.New(tag.Get("must"))
		}
		v.SetString(text)
	case reflect.Int64:
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return must
		}
		if most, err := time.ParseDuration(tag.Get("most")); err == nil && d > most {
			return fmt.Errorf("must be at most %s", tag.Get("most"))
		}
		v.SetInt(int64(d))
	default:
		return setInt(v, tag.Get("min"), text)
	}
	return nil
}

func setInt(v reflect.Value, least, text string) error {
	n, err := strconv.ParseInt(text, 0, 0)
	if err != nil {
		return errors.New(scalars[v.Type()].must)
	}
	if low, err := strconv.ParseInt(least, 10, 0); err == nil && n < low {
		return fmt.Errorf("must be at least %d", low)
	}
	v.SetInt(n)
	return nil
}

// setAll reads texts into a field: several into a list, one into anything else.
func setAll(f field, list []string) error {
	if f.value.Kind() != reflect.Slice {
		text := strings.Join(list, " ")
		if err := set(f.value, f.tag, text); err != nil {
			return fmt.Errorf("%q %w", text, err)
		}
		return nil
	}
	if f.tag.Get("many") == "terms" {
		var all []string
		for _, text := range list {
			all = append(all, terms(text)...)
		}
		list = all
	}
	f.value.Set(reflect.MakeSlice(f.value.Type(), len(list), len(list)))
	for i, text := range list {
		if err := set(f.value.Index(i), f.tag, text); err != nil {
			return fmt.Errorf("%q %w", text, err)
		}
	}
	return nil
}

// texts returns a value as it can be written again.
func texts(v reflect.Value) []string {
	if v.Kind() != reflect.Slice {
		if own, ok := v.Interface().(encoding.TextMarshaler); ok {
			text, _ := own.MarshalText() // ours never fail
			return []string{string(text)}
		}
		return []string{fmt.Sprint(v.Interface())}
	}
	var all []string
	for i := range v.Len() {
		all = append(all, fmt.Sprint(v.Index(i).Interface()))
	}
	return all
}

func oneOf(enum, text string) bool { return slices.Contains(strings.Split(enum, ","), text) }

func listed(enum string) string { return strings.ReplaceAll(enum, ",", ", ") }

// AtMost is a flag that takes a number from 1.
func AtMost(value *int, most int) pflag.Value { return &atMost{value, most} }

type atMost struct {
	value *int
	most  int
}

func (a *atMost) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > a.most {
		return fmt.Errorf("must be a number from 1 to %d", a.most)
	}
	*a.value = n
	return nil
}

func (a *atMost) String() string { return "" }

func (a *atMost) Type() string { return "number" }
