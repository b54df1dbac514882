package session

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeMemory returns the bytes that no process has, and those of files that the system can read
// again, or zero when that is not known. Inactive pages have no number of their own here.
func freeMemory() uint64 {
	var pages uint64
	for _, name := range []string{"vm.page_free_count", "vm.page_pageable_external_count", "vm.page_purgeable_count"} {
		n, err := unix.SysctlUint32(name)
		if err != nil && pages == 0 {
			return 0
		}
		pages += uint64(n)
	}
	return pages * uint64(os.Getpagesize())
}
