package report

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse("--reporter", `list, json:a.json,junit:C:\b.xml,html:out,github,tap:t`)
	want := []Format{{"list", ""}, {"json", "a.json"}, {"junit", `C:\b.xml`}, {"html", "out"}, {"github", ""}, {"tap", "t"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse returns %v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"jnuit:x":                 `invalid value "jnuit" for --reporter; did you mean junit? It must be one of list, json, junit,`,
		"teamcity":                `invalid value "teamcity" for --reporter: must be one of list`,
		"":                        `invalid value "" for --reporter: must be one of list`,
		"list,":                   `invalid value "" for --reporter`,
		"junit":                   `invalid value "junit" for --reporter: junit needs a file, such as junit:report.xml`,
		"sarif:":                  `sarif needs a file, such as sarif:report.sarif`,
		"json:":                   `json needs a file, such as json:report.json`,
		"html":                    `html needs a folder, such as html:report`,
		"list:x":                  `list must have no file`,
		"github:x":                `github must have no file`,
		"list,json":               `list and json would mix on standard output: keep one of them`,
		"tap,json":                `tap and json would mix`,
		"github,tap":              `github and tap would mix`,
		"list,list":               `list is there twice`,
		"junit:a,junit:a":         `junit is there twice`,
		"junit:a,sarif:./a":       `junit and sarif would write the same file "a"`,
		"html:h,tap:h/index.html": `html and tap would write the same file`,
	} {
		if _, err := Parse("--reporter", spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): the error is %v, want %q", spec, err, want)
		}
	}
	for _, spec := range []string{"list,github", "github,list", "json", "tap", "json:a,list", "junit:a,junit:b"} {
		if _, err := Parse("--reporter", spec); err != nil {
			t.Errorf("Parse(%q): %v", spec, err)
		}
	}
}
