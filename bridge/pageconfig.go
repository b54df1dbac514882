package bridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// pageKeys are the keys of config that change the page of a call. Operators allow
// them one by one, because what is in config may come from a model (webtools
// reference, A10). What a site makes of a value is checked where the page is opened.
var pageKeys = map[string]map[string]any{
	"path": {"type": "string", "pattern": "^/([^/\\\\]|$)", "maxLength": 2048,
		"description": "The page of the site that is opened: a path, with query and fragment.", "examples": []string{"/de/shop?theme=dark"}},
	"headers": secret(map[string]any{"type": "object", "maxProperties": 64,
		"additionalProperties": map[string]any{"type": "string", "writeOnly": true},
		"description":          "Headers of requests to the site's own origin."}),
	"cookies": secret(map[string]any{"type": "array", "maxItems": 180,
		"description": "Cookies of the site's host.",
		"items": map[string]any{"type": "object", "required": []string{"name", "value"},
			"additionalProperties": false, "properties": map[string]any{
				"name": stringType(), "value": secret(stringType()), "domain": stringType(), "path": stringType(),
				"secure": map[string]any{"type": "boolean"}, "httpOnly": map[string]any{"type": "boolean"},
				"sameSite": map[string]any{"type": "string", "enum": []string{"Strict", "Lax", "None"}},
				"expires":  map[string]any{"type": "number", "description": "Seconds since 1970."}}}}),
	"localStorage": secret(map[string]any{"type": "object",
		"additionalProperties": map[string]any{"type": "string", "writeOnly": true},
		"description":          "Items that are in the site's localStorage before its first script runs."}),
	"basicAuth": secret(map[string]any{"type": "object", "required": []string{"user", "password"},
		"additionalProperties": false,
		"description":          "The site's user and password of HTTP.",
		"properties": map[string]any{"user": stringType(),
			"password": map[string]any{"type": "string", "writeOnly": true,
				"format": "password"}}}),
	"bearer": {"type": "string", "minLength": 1, "writeOnly": true, "format": "password",
		"description": "A bearer token for the site's own origin."},
	"viewport": {"type": "object", "required": []string{"width", "height"},
		"additionalProperties": false, "description": "The size of the page.",
		"properties": map[string]any{"width": pixels(), "height": pixels(),
			"deviceScaleFactor": map[string]any{"type": "number", "exclusiveMinimum": 0,
				"maximum": 10},
			"mobile": map[string]any{"type": "boolean"}}, "examples": []any{map[string]any{"width": 1280, "height": 720}}},
	"locale": {"type": "string", "minLength": 2, "maxLength": 64,
		"description": "A language tag of BCP 47.", "examples": []string{"de-DE"}},
	"timezone": {"type": "string", "minLength": 1, "maxLength": 64,
		"description": "A time zone of the IANA database.", "examples": []string{"Europe/Berlin"}},
	"geolocation": {"type": "object", "required": []string{"latitude", "longitude"},
		"additionalProperties": false, "description": "Where the site is told that the device is.",
		"properties": map[string]any{"latitude": within(-90, 90), "longitude": within(-180, 180),
			"accuracy": map[string]any{"type": "number", "minimum": 0, "description": "Metres."}},
		"examples": []any{map[string]any{"latitude": 52.52, "longitude": 13.405}}},
	"colorScheme": {"type": "string", "enum": []string{"light", "dark", "no-preference"},
		"description": "What the page is told that its user prefers."},
	"profile": {"type": "string", "minLength": 1, "maxLength": 64,
		"description": "A stored login with which the page opens, by the name that the operator gave it."},
	"userAgent": {"type": "string", "minLength": 1, "maxLength": 512,
		"description": "Takes the place of the browser's own."},
}

// PageKeys lists the keys of config that operators can allow.
func PageKeys() []string { return slices.Sorted(maps.Keys(pageKeys)) }

func stringType() map[string]any { return map[string]any{"type": "string"} }

func pixels() map[string]any {
	return map[string]any{"type": "integer", "minimum": 1, "maximum": 10000}
}

func within(least, most float64) map[string]any {
	return map[string]any{"type": "number", "minimum": least, "maximum": most}
}

// secret marks what must not be shown again.
func secret(s map[string]any) map[string]any {
	s["writeOnly"] = true
	return s
}

// pageProperties are the allowed keys, as properties of the configSchema.
func pageProperties(allowed []string) (map[string]any, error) {
	props := map[string]any{}
	for _, k := range allowed {
		if pageKeys[k] == nil {
			return nil, fmt.Errorf("allow-config: there is no key %q", k)
		}
		props[k] = pageKeys[k]
	}
	return props, nil
}

// pageConfig returns what config changes about the page as canonical JSON; empty when
// it changes nothing.
func (s *siteState) pageConfig(config map[string]json.RawMessage) (string, error) {
	given := map[string]json.RawMessage{}
	for _, k := range s.options.AllowConfig {
		if v, ok := config[k]; ok {
			given[k] = v
		}
	}
	if len(given) == 0 {
		return "", nil
	}
	text, err := json.Marshal(given)
	if err == nil {
		text, err = schema.Canonical(text)
	}
	if err != nil {
		return "", fmt.Errorf("encoding the page's config: %w", err)
	}
	return string(text), nil
}

// pageConfig returns what config changed about the page that the call runs in.
func (r *passage) pageConfig() string {
	if r.shown != nil {
		return r.shown.Config
	}
	_, shown := r.where(false)
	return shown.Config
}

// ConfiguredPage says for a person which page a call would run in.
type ConfiguredPage struct {
	// URL and Title describe the page, when it is open, in its own words.
	URL   string `json:"url,omitempty"`
	Title string `json:"title,omitempty"`
	// Config lists what config changes about the page: headers, cookies and stored items by name,
	// credentials by their presence.
	Config json.RawMessage `json:"config,omitempty"`
}

// describePage returns nil when there is nothing to say: a new page as the site has it.
func describePage(s *Shown) *ConfiguredPage {
	if *s == (Shown{}) {
		return nil
	}
	p := &ConfiguredPage{Config: describeConfig(s.Config)}
	p.URL, _ = text.Visible(text.Short(s.URL, maxPageText))
	p.Title, _ = text.Visible(text.Short(s.Title, maxPageText))
	return p
}

// maxPageText limits how many characters of a page's address and title a question has.
const maxPageText = 2048

// describeConfig says what config changes about a page without telling secrets; nil when
// it changes nothing.
func describeConfig(config string) json.RawMessage {
	var given map[string]any
	if config == "" || json.Unmarshal([]byte(config), &given) != nil {
		return nil
	}
	for key, value := range given {
		if pageKeys[key]["writeOnly"] != true {
			continue
		}
		switch value := value.(type) {
		case map[string]any:
			if key == "basicAuth" {
				given[key] = map[string]any{"user": value["user"]}
			} else {
				given[key] = slices.Sorted(maps.Keys(value))
			}
		case []any:
			names := []any{}
			for _, item := range value {
				if cookie, ok := item.(map[string]any); ok {
					names = append(names, cookie["name"])
				}
			}
			given[key] = names
		default:
			given[key] = true
		}
	}
	text, err := json.Marshal(given)
	if err != nil { // it was read from JSON: cannot happen
		panic("describing a page: " + err.Error())
	}
	return text
}
