package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the flags of a command line, and with them the way to all the rest.
type Flags struct {
	set   *pflag.FlagSet
	given Config
}

// Group is the annotation of a flag that says under which heading help shows it.
const Group = "group"

// Register adds a flag for every setting.
func Register(set *pflag.FlagSet) *Flags {
	f := &Flags{set: set, given: defaults()}
	for _, x := range fieldsOf(reflect.ValueOf(&f.given).Elem()) {
		if x.tag.Get("only") == "file" {
			continue
		}
		flag := set.VarPF(&flagValue{field: x}, x.key, x.tag.Get("short"), x.tag.Get("help"))
		flag.Annotations = map[string][]string{Group: {x.tag.Get("group")}}
		if x.value.Kind() == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
	}
	return f
}

func defaults() (c Config) {
	for _, x := range fieldsOf(reflect.ValueOf(&c).Elem()) {
		if text, ok := x.tag.Lookup("default"); ok {
			if err := setAll(x, []string{text}); err != nil {
				panic(x.key + ": " + err.Error()) // the tag is ours
			}
		}
	}
	return c
}

// Load returns the configuration: flag, environment, file, default.
func (f *Flags) Load() (*Config, error) {
	file := f.given.File
	if v, ok := os.LookupEnv(EnvName("config")); ok && !f.set.Changed("config") {
		file = v
	}
	return f.load(file)
}

// Reload returns the configuration anew, for a file that has changed. One that is gone
// is an error, even when nobody named it; who named it does not change.
func (f *Flags) Reload(c *Config) (*Config, error) {
	if !c.Unnamed {
		return f.load(c.File)
	}
	next, err := f.load("")
	if err == nil && next.File == "" {
		err = fmt.Errorf("reading the configuration: %s is gone", c.File)
	}
	return next, err
}

func (f *Flags) load(file string) (*Config, error) {
	c := defaults()
	c.from, c.File = map[string]string{}, file
	lines, err := c.readFile()
	if err != nil {
		return nil, err
	}
	given := fieldsOf(reflect.ValueOf(&f.given).Elem())
	for i, x := range fieldsOf(reflect.ValueOf(&c).Elem()) {
		v := os.Getenv(EnvName(x.key))
		line, inFile := lines[x.key]
		switch {
		case x.tag.Get("only") == "file":
		case f.set.Changed(x.key):
			c.from[x.key] = fromFlag
			x.value.Set(given[i].value)
		case v != "":
			c.from[x.key] = fromEnv
			if err := setAll(x, split(x, v)); err != nil {
				return nil, fmt.Errorf("%s: %w", EnvName(x.key), err)
			}
		case inFile:
			c.from[x.key] = fmt.Sprintf("%s:%d", c.File, line)
		default:
			c.from[x.key] = fromDefault
		}
	}
	c.preferOwn()
	return &c, c.check()
}

// split cuts a value of the environment into those of a list: headers have spaces in
// them, so there are lines of them, and everything else has words.
func split(x field, v string) []string {
	switch x.tag.Get("many") {
	case "lines":
		return strings.FieldsFunc(v, func(r rune) bool { return r == '\n' })
	case "words":
		return strings.Fields(v)
	}
	return []string{v}
}

// flagValue is a setting as a flag.
type flagValue struct {
	field
	given bool
}

var _ pflag.Value = (*flagValue)(nil)

// Set implements pflag.Value. A list grows with each time that it is given.
func (f *flagValue) Set(text string) error {
	list := []string{text}
	if f.value.Kind() == reflect.Slice && f.given {
		list = append(texts(f.value), text)
	}
	f.given = true
	return setAll(f.field, list)
}

func (f *flagValue) String() string { return strings.Join(texts(f.value), " ") }

// Type returns a word that help shows.
func (f *flagValue) Type() string {
	switch f.value.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.Int:
		return "int"
	case reflect.Int64:
		return "duration"
	case reflect.Slice:
		return "stringArray"
	default:
		return "string"
	}
}
