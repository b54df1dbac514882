package opentools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// tools reads a document with these paths and components.
func tools(t *testing.T, version, paths, components string, e Expose) (map[string]*Tool, []string) {
	t.Helper()
	d, err := ReadDocument([]byte(`{"openapi":"` + version + `","info":{"title":"T","version":"1"},"paths":{` + paths + `},"components":{` + components + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	all, problems := d.Tools(e)
	found := map[string]*Tool{}
	for _, one := range all {
		if found[one.Name] != nil {
			t.Errorf("two tools are %s", one.Name)
		}
		found[one.Name] = one
		if _, err := schema.Compile(one.Input, schema.Limits{}); err != nil {
			t.Errorf("%s: %v: %s", one.Name, err, one.Input)
		}
	}
	return found, problems
}

// TestToolsOfTheSeed (O2, O4, O5, B1): the operations of the seed's own example; unmarked ones are
// hidden, but where they are asked for.
func TestToolsOfTheSeed(t *testing.T) {
	t.Parallel()
	const paths = `"/recipes/search":{"get":{"operationId":"searchRecipes","summary":"Search recipes by ingredients or cuisine","description":"Not shown.",
		"parameters":[{"name":"query","in":"query","required":true,"description":"Search term for recipes","schema":{"type":"string"}},{"name":"maxTime","in":"query","schema":{"type":"number"}}],
		"x-llm":{"enabled":true,"approval":"auto","rateLimit":{"max":30,"window":"1m"},"hint":"Use when user asks to find or discover recipes"}}},
		"/favorites":{"post":{"operationId":"addFavorite","summary":"Save recipe to favorites","x-llm":{"approval":"per-call","blanketApprovalAllowed":true},
		"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"recipeId":{"type":"string"}},"required":["recipeId"]}}}}}},
		"/recipes/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],"delete":{"operationId":"deleteRecipe","x-llm":{"destructive":true,"rateLimit":5}},
		"get":{"operationId":"readRecipe"},"put":{"operationId":"writeRecipe"},"patch":{"operationId":"off","x-llm":{"enabled":false}},"head":{"operationId":"odd","x-llm":{"approval":"sometimes"}}}`
	got, problems := tools(t, "3.1.0", paths, "", Marked)
	search, add, remove := got["searchRecipes"], got["addFavorite"], got["deleteRecipe"]
	if len(got) != 3 || search == nil || add == nil || remove == nil {
		t.Fatalf("%v", got)
	}
	if len(problems) != 1 || !strings.Contains(problems[0], `HEAD /recipes/{id}: x-llm: approval "sometimes" is neither`) {
		t.Errorf("%q", problems)
	}
	if search.Description != "Search recipes by ingredients or cuisine\nUse when user asks to find or discover recipes" || search.Terms.Approval != Auto || *search.Terms.RateLimit != (RateLimit{30, "1m"}) ||
		string(search.Input) != `{"type":"object","properties":{"query":{"description":"Search term for recipes","type":"string"},"maxTime":{"type":"number"}},"required":["query"],"additionalProperties":false}` {
		t.Errorf("%+v %s", search, search.Input)
	}
	if !add.Terms.BlanketApprovalAllowed || add.Terms.Approval != PerCall || string(add.Input) != `{"type":"object","properties":{"recipeId":{"type":"string"}},"required":["recipeId"]}` || add.body.Media != "application/json" {
		t.Errorf("%+v %s", add, add.Input)
	}
	if !remove.Terms.Destructive || remove.Terms.BlanketApprovalAllowed || *remove.Terms.RateLimit != (RateLimit{5, "1m"}) {
		t.Errorf("%+v", remove)
	}
	if got, _ := tools(t, "3.1.0", paths, "", Safe); len(got) != 4 || got["readRecipe"] == nil {
		t.Errorf("safe: %v", got)
	}
	if got, _ := tools(t, "3.1.0", paths, "", All); len(got) != 5 || got["writeRecipe"] == nil || got["off"] != nil {
		t.Errorf("all: %v", got)
	}
}

// TestArguments: parameters and bodies become one object, in which nothing is lost and nothing
// means two things.
func TestArguments(t *testing.T) {
	t.Parallel()
	const components = `"parameters":{"id":{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/id"},"description":"Which."},"loop":{"$ref":"#/components/parameters/loop"}},
		"schemas":{"id":{"type":"string"},"pet":{"type":"object","properties":{"id":{"type":"integer","readOnly":true},"name":{"type":"string"},"friend":{"$ref":"#/components/schemas/pet"}},"required":["id","name"]},
		"named":{"allOf":[{"$ref":"#/components/schemas/pet"},{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}]}},
		"requestBodies":{"pet":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/pet"}}}}}`
	op := func(name, more string) string {
		path := name
		if strings.Contains(more, "parameters/id") {
			path += "/{id}"
		}
		return `"/` + path + `":{"post":{"operationId":"` + name + `","x-llm":{},` + more + `}}`
	}
	body := func(media, schema string) string {
		return `"requestBody":{"required":true,"content":{"` + media + `":{"schema":` + schema + `}}}`
	}
	for name, x := range map[string]struct{ more, want, problem, note string }{
		"reference": {more: `"parameters":[{"$ref":"#/components/parameters/id"}]`, want: `{"type":"object","properties":{"id":{"description":"Which.","allOf":[{"$ref":"#/$defs/id"}]}},"required":["id"],"additionalProperties":false,"$defs":{"id":{"type":"string"}}}`},
		"collisions": {more: `"parameters":[{"name":"name","in":"query","schema":{"type":"string"}},{"name":"name","in":"header","schema":{"type":"string"}}],` + body("application/json", `{"type":"object","properties":{"name":{"type":"integer"}},"additionalProperties":false}`),
			want: `{"type":"object","properties":{"name":{"type":"integer"},"name__query":{"type":"string"},"name__header":{"type":"string"}},"additionalProperties":false}`},
		"whole body":    {more: `"parameters":[{"name":"body","in":"query","schema":{}}],` + body("application/json", `{"type":"array","items":{"type":"string"}}`), want: `{"type":"object","properties":{"body":{"type":"array","items":{"type":"string"}},"body__query":{}},"required":["body"],"additionalProperties":false}`},
		"all of":        {more: body("application/json", `{"$ref":"#/components/schemas/named"}`), want: `{"type":"object","properties":{"name":{"type":"string"},"friend":{"$ref":"#/$defs/pet"},"age":{"type":"integer"}},"required":["name","age"],"$defs":{"pet":{"type":"object","properties":{"name":{"type":"string"},"friend":{"$ref":"#/$defs/pet"}},"required":["name"]}}}`},
		"optional body": {more: `"requestBody":{"$ref":"#/components/requestBodies/pet"}`, want: `{"type":"object","properties":{"name":{"type":"string"},"friend":{"$ref":"#/$defs/pet"}},"$defs":{"pet":{"type":"object","properties":{"name":{"type":"string"},"friend":{"$ref":"#/$defs/pet"}},"required":["name"]}}}`},
		"form":          {more: body("application/x-www-form-urlencoded", `{"type":"object","properties":{"a":{"type":"object"}}}`), want: `{"type":"object","properties":{"a":{"type":"object"}}}`},
		"text":          {more: body("text/plain", `{"type":"string"}`), want: `{"type":"object","properties":{"body":{"type":"string"}},"required":["body"],"additionalProperties":false}`},
		"headers":       {more: `"parameters":[{"name":"Accept","in":"header","required":true},{"name":"Host","in":"header"},{"name":"X-Team","in":"header","schema":{"type":"string"}}]`, want: `{"type":"object","properties":{"X-Team":{"type":"string"}},"additionalProperties":false}`, note: "the header Host is not sent"},
		"content":       {more: `"parameters":[{"name":"filter","in":"query","content":{"application/json":{"schema":{"type":"object"}}}}]`, want: `{"type":"object","properties":{"filter":{"type":"object"}},"additionalProperties":false}`},
		"overridden":    {more: `"parameters":[{"name":"a","in":"query","schema":{"type":"string"}},{"name":"a","in":"query","schema":{"type":"integer"}}]`, want: `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`},
		"nothing":       {more: `"deprecated":true`, want: `{"type":"object","properties":{},"additionalProperties":false}`},
		"loop":          {more: `"parameters":[{"$ref":"#/components/parameters/loop"}]`, want: `{"type":"object","properties":{},"additionalProperties":false}`, note: "form a cycle"},
		"elsewhere":     {more: `"parameters":[{"$ref":"common.yaml#/id"}]`, want: `{"type":"object","properties":{},"additionalProperties":false}`, note: `"common.yaml#/id" leads nowhere`},
		"strange place": {more: `"parameters":[{"name":"a","in":"body"}]`, want: `{"type":"object","properties":{},"additionalProperties":false}`, note: `must be in path, query, header or cookie`},
		"one of them":   {more: body("application/json", `{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`), want: `{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`},
		"two rules":     {more: body("application/json", `{"properties":{"a":{}},"oneOf":[{"required":["a"]}],"allOf":[{"anyOf":[{"required":["a"]}]}]}`), want: `{"type":"object","properties":{"a":{}},"allOf":[{"oneOf":[{"required":["a"]}]},{"anyOf":[{"required":["a"]}]}]}`},
		"alternatives":  {more: body("application/json", `{"properties":{"a":{}},"oneOf":[{"properties":{"b":{}}}]}`), want: `{"type":"object","properties":{"body":{"properties":{"a":{}},"oneOf":[{"properties":{"b":{}}}]}},"required":["body"],"additionalProperties":false}`},
		"files":         {more: body("multipart/form-data", `{"properties":{"f":{"type":"string","format":"binary","description":"F."},"l":{"type":"array","items":{"type":"string","format":"binary"}},"s":{"type":"string"}}}`), want: `{"type":"object","properties":{"f":` + fmt.Sprintf(fileSchema, `"F."`) + `,"l":{"type":"array","description":"","items":` + fmt.Sprintf(fileSchema, `"A file."`) + `},"s":{"type":"string"}}}`},
		"strange media": {more: body("application/xml", `{"type":"object"}`), problem: "none of its media types"},
		"strange list":  {more: `"parameters":{}`, want: `{"type":"object","properties":{},"additionalProperties":false}`, note: "parameters must be a list"},
	} {
		got, problems := tools(t, "3.0.3", op(strings.ReplaceAll(name, " ", "_"), x.more), components, Marked)
		one := got[strings.ReplaceAll(name, " ", "_")]
		if x.problem != "" {
			if one != nil || len(problems) != 1 || !strings.Contains(problems[0], x.problem) {
				t.Errorf("%s: %v, %q", name, one, problems)
			}
			continue
		}
		if one == nil {
			t.Errorf("%s: %q", name, problems)
			continue
		}
		if len(problems) > 0 || string(one.Input) != x.want || !strings.Contains(strings.Join(one.Notes, "\n"), x.note) {
			t.Errorf("%s: %q\n%s\nwant %s", name, problems, one.Input, x.want)
		}
	}
}

// TestResults: results have the schema of a good JSON response, when all of it is there.
func TestResults(t *testing.T) {
	t.Parallel()
	op := func(responses string) string {
		return `"/a":{"get":{"operationId":"a","x-llm":{},"responses":` + responses + `}}`
	}
	const components = `"responses":{"ok":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/pet"}}}}},"schemas":{"pet":{"type":"object","properties":{"secret":{"writeOnly":true},"id":{"readOnly":true}}}}`
	for responses, want := range map[string]string{
		`{"404":{"content":{"application/json":{"schema":{"type":"string"}}}},"201":{"$ref":"#/components/responses/ok"}}`: `{"$ref":"#/$defs/pet","$defs":{"pet":{"type":"object","properties":{"id":{"readOnly":true}}}}}`,
		`{"200":{"content":{"text/plain":{"schema":{"type":"string"}}}}}`:                                                  "",
		`{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/none"}}}}}`:                         "",
		`{}`: "",
	} {
		if got, _ := tools(t, "3.1.0", op(responses), components, Marked); string(got["a"].Output) != want {
			t.Errorf("%s: %s", responses, got["a"].Output)
		}
	}
}

// TestToolNames: names are legal and unique, and the same for the same document.
func TestToolNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a/very/long/name/", 6)
	got := Names([]string{"repos/get", "repos_get", "x", "X", long + "1", long + "2", "same", "same", "", "---", "plain-name"})
	seen := map[string]bool{}
	for _, name := range got {
		if len(name) > 64 || name == "" || seen[strings.ToLower(name)] || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q of %q", name, got)
		}
		seen[strings.ToLower(name)] = true
	}
	if got[10] != "plain-name" || !strings.HasPrefix(got[0], "repos_get_") || !strings.HasPrefix(got[4], "a_very_long_name_") {
		t.Errorf("%q", got)
	}
}

// BenchmarkTools makes 1,000 operations tools, whose schemas are in each other.
func BenchmarkTools(b *testing.B) {
	var paths, schemas strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&paths, `,"/p%d/{id}":{"post":{"operationId":"o%d","parameters":[{"name":"id","in":"path","schema":{"type":"string"}}],"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/s%d"}}}},
			"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/s%d"}}}}}}}`, i, i, i, (i*7)%1000)
		fmt.Fprintf(&schemas, `,"s%d":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/s%d"},"b":{"$ref":"#/components/schemas/s%d"},"c":{"type":"string","description":%q}}}`, i, (i*3+1)%1000, (i*5+2)%1000, strings.Repeat("words ", 100))
	}
	text := []byte(`{"openapi":"3.0.3","paths":{` + paths.String()[1:] + `},"components":{"schemas":{` + schemas.String()[1:] + `}}}`)
	if !json.Valid(text) {
		b.Fatal("no JSON")
	}
	for b.Loop() {
		d, err := ReadDocument(text)
		if err != nil {
			b.Fatal(err)
		}
		if all, problems := d.Tools(All); len(all) != 1000 || len(problems) > 0 {
			b.Fatal(len(all), problems)
		}
	}
}
