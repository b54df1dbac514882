// Package chrome finds, starts and ends a local Chromium: its flags, a profile
// folder of its own that never survives us, and the process. It speaks to the
// browser only through the two ends of a pipe that it hands out.
//
//   - A browser is killed with the process that started it, and its folder is
//     removed then or by the next [Clean].
//   - It writes nowhere outside its folder, and opens no port.
//   - Only the operator takes the sandbox away.
package chrome
