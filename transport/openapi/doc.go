// Package openapi publishes tools as OpenTools: documents of OpenAPI 3.1 with x-llm, what leads to
// them, and one operation for each tool, which takes bare arguments and returns bare data.
//
// Clients that read little of OpenAPI are served, too: a document has its whole paths, the schema
// of arguments in its place with type and properties, no parameters, and an operationId everywhere.
package openapi
