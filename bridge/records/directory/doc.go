// Package directory says which node of a cluster has a session, over records.
//
// A session has one record: its home, and an epoch that grows with each home. The record is made when
// the session opens, before its page, and removed at its end; calls do not write it. When its home is
// dead, one of those who want the session takes it over, by an update of the record.
//
// A record that nobody asks for when its home has ended stays for a day, so that its caller is told; see
// Directory.Tidy.
//
// What the directory was told to have done it has done, also where the engine's answer was lost: it
// reads again. An error that is not one of its own means that nobody knows, and that what was asked
// for can still happen.
package directory
