// Package embed starts an engine of records beside a node: a nats-server that is found on the PATH,
// as a child with a folder, a configuration and certificates of its own. The engines of all nodes
// are one NATS cluster. Clients and engines prove with certificates that they have the key of the
// cluster; nobody else is let in.
package embed
