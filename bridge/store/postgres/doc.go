// Package postgres keeps the records of bridge/records in a table of PostgreSQL.
//
// Each change takes the next revision from a row that all changes lock, so revisions are in the order in
// which changes happened, and tells the listeners of a channel about itself. A statement is sent once: an
// error that is none of the port's names means that it may have happened. The address of a database is a
// secret, and no error has any of it.
package postgres
