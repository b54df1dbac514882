package session

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// memoryStatus is MEMORYSTATUSEX of Windows.
type memoryStatus struct {
	length, load                                                      uint32
	total, free, pageTotal, pageFree, virtualTotal, virtualFree, more uint64
}

// freeMemory returns the bytes that processes can have without others having to give any up, or
// zero when that is not known.
func freeMemory() uint64 {
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0
	}
	return s.free
}
