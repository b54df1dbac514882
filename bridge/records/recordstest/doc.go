// Package recordstest has the suite that every engine of records passes, and engines that fail: see
// Test and Faulty.
package recordstest
