// Package store keeps what must survive a restart: the history of webtools, the
// consent that persons gave, replies to repeat, the log of calls and the audit.
// It implements the interfaces of bridge/memory.go: [Open] with a database and
// the files of the audit in a data folder, [Memory] with a database in memory and
// without an audit.
//
//	s, err := store.Open(ctx, store.Options{Dir: "/var/lib/pagetools"})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	b, err := bridge.New(router, bridge.Options{Memory: s.Memory})
//
// # What can be lost
//
// What Versions, Grants and KnownTools took, and every claim of Replies, is on
// the disk when the method returns: it survives a power failure.
//
// An audit record with Wait is in the file of its process when the method
// returns: it survives kill -9, and is on the disk some 5 ms later, which nobody
// waits for. The others, and the log of calls, follow within 10 ms and are lost
// when the process is killed before. When the power fails, the newest records may
// be lost: intents of the last 5 ms, and others after the newest checkpoint, which
// is made every 1,000 records or 60 seconds.
//
// # The audit
//
// Each process writes one chain, into audit/ID-1.jsonl, audit/ID-2.jsonl and so
// on. A line is a record as JSON with its hash as the last member: SHA-256 of
// "pagetools audit record 1\n", the hash before, and the record without its hash.
// Between records lie marks, signed with Ed25519: where the chain stands at the
// beginning of the file, at checkpoints, and at its end. audit/checkpoints.json
// is a signed list of the newest mark of every file. [Store.Verify] reads all of
// it. The oldest files can be removed; Verify names them, and a file that is
// missing among the others is a problem. Whoever has the key file can rewrite
// everything: copy audit/checkpoints.json to another machine to see that, too.
//
// The process that opens a folder settles what killed ones left: it signs the end
// of their chains, frees their sessions, and ends their claims of idempotency keys. A call with an
// intent may have run, and one without did not.
//
// # Files
//
// pagetools.db (and its -wal and -shm), audit.key, audit/, ended, whose size says that
// a session of MCP ended, and, for each process that has the folder open, one file in
// owners/. Files have mode 0600, folders
// 0700. Several processes may share a folder; the folder must be on a local disk,
// because shared memory and locks of files are.
package store
