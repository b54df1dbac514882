// Package store keeps what must survive a restart: the history of webtools, the
// consent that persons gave, replies to repeat, the log of calls and the audit.
// It implements the interfaces of bridge/memory.go twice: [Open] in a data
// folder, with SQLite, and [Memory] without one.
//
// # What can be lost
//
// What Versions, Grants and KnownTools took, and every claim of Replies, is on
// the disk when the method returns: it survives the power failing.
//
// Audit records and the log of calls are written in groups by one goroutine,
// into SQLite's write-ahead log, which the system writes to the disk when it
// likes. A record with Wait survives kill -9 of the process: an intent is in the
// journal of its process until it is committed, and who opens the folder next
// puts it into the chain; where the journal does not take it, and for an outcome,
// the caller waits for the commit. The others follow within 10 ms and are lost
// when the process is killed before. When the power
// fails, the newest records may be lost, with Wait or without: those after the
// newest checkpoint, which is made every 1,000 records or 60 seconds and is on
// the disk before it is published. The database itself is never damaged by
// either, and the chain stays whole: its end is missing.
//
// # The audit chain
//
// Each record is canonical JSON (RFC 8785) with its number in it, and has a
// hash: SHA-256 of "pagetools audit record 1\n", the hash before, and the
// record. A checkpoint is the number and hash of one record, signed with
// Ed25519 under "pagetools audit checkpoint 1\n"; it is kept in the database
// and as a line of audit.checkpoints. [Store.Verify] walks all of it. Whoever
// has the key file can rewrite everything: copy the lines of audit.checkpoints
// to another machine to see that, too.
//
// # Files
//
// pagetools.db (and its -wal and -shm), audit.key, audit.checkpoints and, for
// each process that has the folder open, one file in owners/ and two journals
// beside it. Files have mode
// 0600, folders 0700. Several processes may share a folder; the folder must be
// on a local disk, because shared memory and locks of files are.
package store
