// Package postgrestest starts PostgreSQL servers for tests, on loopback, each with a folder of its own, and
// gates before them that can go silent. scripts/postgres.sh finds the programs.
package postgrestest
