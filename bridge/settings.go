package bridge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// settings is the effective configuration of one call.
type settings struct {
	timeout  time.Duration
	wait     time.Duration
	approval policy.Level
	output   string
	maxBytes int
	resume   string
	answer   *Answer
	params   []schema.Member // by name
	page     string          // what it changes about the page, as JSON; empty: nothing
}

// wireSettings is the JSON of config, after merging over the defaults.
type wireSettings struct {
	Timeout        int64           `json:"timeout"`
	Wait           int64           `json:"wait"`
	Approval       string          `json:"approval"`
	Output         string          `json:"output"`
	MaxOutputBytes int             `json:"maxOutputBytes"`
	Resume         string          `json:"resume"`
	Answer         json.RawMessage `json:"answer"`
}

// configDocs builds configSchema and defaultConfig of a site: the keys that are
// always allowed and the operator's parameter defaults.
func configDocs(o SiteOptions, l Limits) (schemaJSON, defaults json.RawMessage, err error) {
	allowed, err := pageProperties(o.AllowConfig)
	if err != nil {
		return nil, nil, err
	}
	props := map[string]any{
		"timeout": map[string]any{"type": "integer", "minimum": 1,
			"maximum": max(l.AsyncTimeout, l.MaxTimeout).Milliseconds(),
			"description": fmt.Sprintf("Milliseconds that the tool may run: at most %d without Prefer: respond-async.",
				l.MaxTimeout.Milliseconds()), "examples": []int{10000}},
		"wait": map[string]any{"type": "integer", "minimum": 0,
			"maximum":     (5 * time.Minute).Milliseconds(),
			"description": "Milliseconds to wait for a person before the call answers that it needs one.", "examples": []int{0}},
		"approval": map[string]any{"type": "string",
			"enum":        []string{"auto", "ask-once", "ask", "never"},
			"description": "Asks for more consent than the operator does. It can never ask for less."},
		"output": map[string]any{"type": "string", "enum": []string{"raw", "text", "structured"},
			"description": "raw: what the page returned. text: its text blocks as one string. structured: its structured content."},
		"maxOutputBytes": map[string]any{"type": "integer", "minimum": 1, "maximum": l.Result,
			"description": "Refuses a longer result, in bytes of JSON."},
		"resume": map[string]any{"type": "string", "minLength": 1, "maxLength": 256,
			"description": "The token of a call that stopped for a person."},
		"answer": map[string]any{"type": "object", "required": []string{"question", "ok"},
			"additionalProperties": false,
			"description":          "Answers a question of the call named by resume. Needs a credential that may answer.",
			"properties": map[string]any{"question": map[string]any{"type": "string",
				"description": "The id of the question, as the call was told it."},
				"ok": map[string]any{"type": "boolean"}, "value": true,
				"always": map[string]any{"type": "boolean"}}},
	}
	maps.Copy(props, allowed)
	def := map[string]any{"timeout": o.CallTimeout.Milliseconds(), "output": "raw"}
	for name, raw := range o.Params {
		if _, taken := props[name]; taken {
			return nil, nil, fmt.Errorf("config-params: %q is a key of its own", name)
		}
		props[name] = raw
		var p struct {
			Default json.RawMessage `json:"default"`
		}
		if json.Unmarshal(raw, &p) == nil && len(p.Default) > 0 {
			def[name] = p.Default
		}
	}
	schemaJSON, err = json.Marshal(map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
		"description": "Set by the environment, not by the model.", "properties": props, "additionalProperties": false,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("config-params: %w", err)
	}
	defaults, err = json.Marshal(def)
	if err != nil {
		return nil, nil, fmt.Errorf("config-params: %w", err)
	}
	return schemaJSON, defaults, nil
}

// readSettings merges config over the site's defaults (RFC 7396), checks the
// result and reads it. Errors are CONFIG_ERROR, or FORBIDDEN for an answer that
// the caller may not give.
func (s *siteState) readSettings(in *Call) (settings, error) {
	config := in.Config
	if len(config) == 0 {
		return s.defaults, nil
	}
	merged, err := mergePatch(s.config.Default, config)
	if err != nil {
		return settings{}, Errorf(ConfigError, "", NotRun,
			"config must be a JSON object, such as {}.").With(err)
	}
	if err := s.configSchema.Validate(merged); err != nil {
		return settings{}, s.configError(err, config)
	}
	set, err := s.decodeSettings(merged, in.Caller)
	if most := s.longest; err == nil && !in.Detached && set.timeout > most {
		message := fmt.Sprintf("must be at most %d: only a call with Prefer: respond-async may take longer", most.Milliseconds())
		return settings{}, Errorf(ConfigError, "", NotRun, "config/timeout: %s", message).
			Detail("errors", []map[string]string{{"pointer": "/timeout", "message": message}})
	}
	return set, err
}

func (s *siteState) decodeSettings(merged json.RawMessage, c Caller) (settings, error) {
	var w wireSettings
	if err := json.Unmarshal(merged, &w); err != nil {
		return settings{}, Errorf(ConfigError, "", NotRun, "config cannot be read.").With(err)
	}
	set := settings{timeout: time.Duration(w.Timeout) * time.Millisecond, output: w.Output,
		maxBytes: w.MaxOutputBytes,
		resume:   w.Resume, wait: time.Duration(w.Wait) * time.Millisecond}
	if len(w.Answer) > 0 {
		var given struct {
			Question string `json:"question"`
			Answer
		}
		if err := json.Unmarshal(w.Answer, &given); err != nil {
			return settings{}, Errorf(ConfigError, "", NotRun,
				"config.answer cannot be read.").With(err)
		}
		set.answer = &given.Answer
		set.answer.question = given.Question
	}
	set.timeout = cmp.Or(set.timeout, s.options.CallTimeout)
	set.output = cmp.Or(set.output, "raw")
	if w.Approval != "" {
		level, err := policy.ParseLevel(w.Approval)
		if err != nil {
			return settings{}, Errorf(ConfigError, "", NotRun,
				"config.approval is not a level.").With(err)
		}
		set.approval = level
	}
	if set.answer != nil && (!c.Can(MayCall) || !c.Can(MayAnswer)) {
		return settings{}, mayNotAnswer()
	}
	if set.answer != nil && set.resume == "" {
		return settings{}, Errorf(ConfigError, "", NotRun,
			"config.answer needs config.resume: the call that it answers.")
	}
	if len(s.options.Params)+len(s.options.AllowConfig) > 0 {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(merged, &all); err != nil {
			return settings{}, Errorf(ConfigError, "", NotRun, "config cannot be read.").With(err)
		}
		var err error
		if set.page, err = s.pageConfig(all); err != nil {
			return settings{}, err
		}
		for _, name := range slices.Sorted(maps.Keys(s.options.Params)) {
			if v, ok := all[name]; ok {
				set.params = append(set.params, schema.Member{Name: name, Value: v})
			}
		}
	}
	return set, nil
}

// configError names the keys that do not belong, before anything else that is
// wrong: a typo in an option must be seen.
func (s *siteState) configError(err error, config json.RawMessage) *Error {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(config, &given)
	var allowed struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(s.config.Schema, &allowed)
	var shown, words []string
	known := slices.Sorted(maps.Keys(allowed.Properties))
	for _, k := range slices.Sorted(maps.Keys(given)) {
		if _, ok := allowed.Properties[k]; ok {
			continue
		}
		name := text.Brief(k, 64)
		shown = append(shown, name)
		if pageKeys[k] != nil {
			words = append(words, fmt.Sprintf("the operator does not allow %s, leave it out", text.Quote(name)))
		} else {
			words = append(words, fmt.Sprintf("%s is unknown, %s", text.Quote(name),
				cmp.Or(text.DidYouMean(k, known), "it may have "+text.List(known, "and"))))
		}
	}
	e := violationError(ConfigError, "config", err)
	if len(shown) > 0 {
		e.Message = "config: " + strings.Join(words[:min(3, len(words))], "; ")
		if !strings.HasSuffix(e.Message, "?") {
			e.Message += "."
		}
		return e.Detail("keys", shown)
	}
	return e
}

// violationError turns the violations of a schema into an Error with
// details.errors: a list of JSON pointers and messages.
func violationError(code Code, what string, err error) *Error {
	v, ok := errors.AsType[*schema.Violations](err)
	if !ok || len(v.List) == 0 {
		return Errorf(code, "", NotRun, "%s does not fit its schema.", what).With(err)
	}
	list := make([]map[string]string, 0, len(v.List))
	for _, x := range v.List {
		list = append(list, map[string]string{"pointer": x.Pointer, "message": x.Message})
	}
	first := v.List[0]
	e := Errorf(code, "", NotRun, "%s%s: %s", what, first.Pointer, first.Message)
	return e.Detail("errors", list).With(v)
}

// mergePatch is RFC 7396. The target must be an object; a patch that is not an
// object is an error here.
func mergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	var t, p map[string]json.RawMessage
	if err := json.Unmarshal(patch, &p); err != nil || p == nil {
		return nil, fmt.Errorf("the patch is not an object: %w", err)
	}
	if err := json.Unmarshal(target, &t); err != nil || t == nil {
		t = map[string]json.RawMessage{}
	}
	for k, v := range p {
		switch {
		case string(v) == "null":
			delete(t, k)
		case len(v) > 0 && v[0] == '{':
			sub := t[k]
			if len(sub) == 0 || sub[0] != '{' {
				sub = json.RawMessage(`{}`)
			}
			m, err := mergePatch(sub, v)
			if err != nil {
				return nil, err
			}
			t[k] = m
		default:
			t[k] = v
		}
	}
	return json.Marshal(t)
}
