package main

import (
	"bytes"
	"encoding/binary"
	"os"
)

// Where the one section of the library is in memory, and in the file.
const (
	sectionAt   = 0x1000
	sectionFile = 0x200
	sectionSize = 0x200
)

// writeDLL writes a library for 64 bits whose one function, ProcessPrng, is another library's. It
// has no code.
func writeDLL(path string) error {
	le := binary.LittleEndian
	var exports bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&exports, le, v) // a buffer takes all
		}
	}
	const tables, names = 40, 40 + 4 + 4 + 2 // behind the directory: addresses, names, numbers
	library, function, forward := "bcryptprimitives.dll\x00", "ProcessPrng\x00", "advapi32.SystemFunction036\x00"
	at := func(offset int) uint32 { return uint32(sectionAt + offset) }
	functionAt := at(names + len(library))
	put(uint32(0), uint32(0), uint32(0), at(names), uint32(1), uint32(1), uint32(1), at(tables), at(tables+4), at(tables+8))
	put(functionAt+uint32(len(function)), functionAt, uint16(0)) // an address within the exports is a name
	exports.WriteString(library + function + forward)
	size := uint32(exports.Len())

	file := make([]byte, sectionFile+sectionSize)
	copy(file, "MZ")
	le.PutUint32(file[0x3c:], 0x40)
	head := bytes.NewBuffer(nil)
	for _, v := range []any{
		[]byte("PE\x00\x00"), uint16(0x8664), uint16(1), uint32(0), uint32(0), uint32(0), uint16(240), uint16(0x2022),
		uint16(0x20b), uint16(0), uint32(0), uint32(sectionSize), uint32(0), uint32(0), uint32(sectionAt),
		uint64(0x180000000), uint32(0x1000), uint32(0x200), uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0),
		uint32(0), uint32(0x2000), uint32(sectionFile), uint32(0), uint16(2), uint16(0x140),
		uint64(0x100000), uint64(0x1000), uint64(0x100000), uint64(0x1000), uint32(0), uint32(16),
		uint32(sectionAt), size, make([]byte, 15*8), // the exports are the first of 16 directories
		[]byte(".rdata\x00\x00"), size, uint32(sectionAt), uint32(sectionSize), uint32(sectionFile),
		uint32(0), uint32(0), uint32(0), uint32(0x40000040),
	} {
		_ = binary.Write(head, le, v)
	}
	copy(file[0x40:], head.Bytes())
	copy(file[sectionFile:], exports.Bytes())
	return os.WriteFile(path, file, 0o600)
}
