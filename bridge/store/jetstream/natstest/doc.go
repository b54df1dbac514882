// Package natstest starts NATS servers for tests: one, or several in a cluster, on loopback, each
// with a folder and a configuration of its own. scripts/nats.sh finds the programs.
package natstest
