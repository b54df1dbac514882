package main

import "syscall"

// closeToOthers does nothing: the inbox has ports here.
func closeToOthers(string, string, syscall.RawConn) error { return nil }
