//go:build race

package schema

func init() { raceFactor = 10 }
