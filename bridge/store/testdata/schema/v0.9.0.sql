CREATE TABLE homes (
	epoch INTEGER PRIMARY KEY AUTOINCREMENT,
	caller TEXT NOT NULL,
	site TEXT NOT NULL,
	session TEXT NOT NULL,
	owner TEXT NOT NULL,
	UNIQUE (caller, site, session)
) STRICT;
CREATE TABLE ended (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	until INTEGER NOT NULL
) STRICT;
CREATE TABLE versions (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	webtool TEXT NOT NULL,
	version TEXT NOT NULL,
	digest TEXT NOT NULL,
	document BLOB NOT NULL,
	last_seen INTEGER NOT NULL,
	UNIQUE (webtool, version),
	UNIQUE (webtool, digest)
) STRICT;
CREATE TABLE version_bytes (site TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE grants (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	digest TEXT NOT NULL,
	credential TEXT NOT NULL,
	config TEXT NOT NULL,
	given_by TEXT NOT NULL,
	given_at INTEGER NOT NULL
) STRICT;
CREATE TABLE known_tools (
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	seen_at INTEGER NOT NULL,
	PRIMARY KEY (site, tool)
) STRICT, WITHOUT ROWID;
CREATE TABLE rates (
	rule TEXT NOT NULL,
	caller TEXT NOT NULL,
	full_at INTEGER NOT NULL,
	called_at INTEGER NOT NULL,
	PRIMARY KEY (rule, caller)
) STRICT, WITHOUT ROWID;
CREATE TABLE taints (
	caller TEXT NOT NULL,
	origin TEXT NOT NULL,
	until INTEGER NOT NULL,
	PRIMARY KEY (caller, origin)
) STRICT, WITHOUT ROWID;
CREATE TABLE replies (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	claim TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	key TEXT NOT NULL,
	body_digest TEXT NOT NULL,
	owner TEXT NOT NULL,
	state TEXT NOT NULL,
	claimed_at INTEGER NOT NULL,
	body BLOB,
	size INTEGER NOT NULL DEFAULT 0,
	UNIQUE (caller, key)
) STRICT;
CREATE TABLE calls (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	at INTEGER NOT NULL,
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	caller TEXT NOT NULL,
	outcome TEXT NOT NULL,
	record TEXT NOT NULL
) STRICT;
INSERT INTO sqlite_sequence VALUES ('versions', 1);
INSERT INTO sqlite_sequence VALUES ('grants', 1);
INSERT INTO sqlite_sequence VALUES ('replies', 1);
INSERT INTO sqlite_sequence VALUES ('calls', 1);
INSERT INTO versions VALUES (1, 'shop', '1.0.0', 'a', X'7B226E616D65223A2273686F70222C2276657273696F6E223A22312E302E30227D', 1795262400123456789);
INSERT INTO version_bytes VALUES ('shop', 33);
INSERT INTO grants VALUES (1, 'b4b86018100582733aa3a91f3d86e201', 'ada', 'shop', 'buy', 'd', 'c', '', 'ada', 1795780800000000000);
INSERT INTO known_tools VALUES ('shop', 'buy', 1795780800000000000);
INSERT INTO taints VALUES ('ada', 'https://shop.example', 1795784400000000000);
INSERT INTO replies VALUES (1, '05229afdd2a5867478b9415b00ed3ba5', 'ada', 'key', 'body', 'e93b3d7521240e98a1e5a2d37f9172ad', 'finished', 1795780800000000000, X'7B226F6B223A317D', 9);
INSERT INTO calls VALUES (1, 1795780800000000000, 'shop', 'buy', 'ada', 'ok', '{"ID":0,"Time":"2026-11-27T12:00:00Z","Took":0,"Waited":0,"Call":"1","Trace":"","Site":"shop","Tool":"buy","Caller":"ada","Session":"","Version":"","Decision":"","Outcome":"ok","Code":"","Reason":"","ArgumentBytes":0,"ResultBytes":0}');
CREATE INDEX homes_by_owner ON homes (owner);
CREATE INDEX ended_by_caller ON ended (caller, number);
CREATE INDEX ended_by_age ON ended (until);
CREATE TRIGGER versions_added AFTER INSERT ON versions BEGIN
	INSERT INTO version_bytes
		VALUES (substr(new.webtool, 1, instr(new.webtool || '/', '/') - 1), length(new.document))
		ON CONFLICT (site) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER versions_removed AFTER DELETE ON versions BEGIN
	UPDATE version_bytes SET bytes = bytes - length(old.document)
		WHERE site = substr(old.webtool, 1, instr(old.webtool || '/', '/') - 1);
END;
CREATE INDEX grants_by_use ON grants (caller, site, tool, digest, credential, config);
CREATE INDEX rates_by_age ON rates (called_at);
CREATE INDEX taints_by_age ON taints (until);
CREATE INDEX replies_by_age ON replies (claimed_at);
CREATE INDEX replies_by_size ON replies (number, size) WHERE size > 0;
CREATE INDEX replies_in_flight ON replies (owner) WHERE state = 'in_flight';
PRAGMA user_version = 6;
