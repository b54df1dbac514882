module github.com/pagetools/pagetools

go 1.26.0

require (
	github.com/dlclark/regexp2/v2 v2.12.0
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/time v0.16.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/dlclark/regexp2 v1.12.0 // indirect
	golang.org/x/text v0.14.0 // indirect
)
