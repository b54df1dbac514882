// Package opentools has the words of OpenTools: OpenAPI documents whose extension x-llm tells a
// language model what it may do, and with whose consent.
package opentools
