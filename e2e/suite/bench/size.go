package main

import "time"

// amounts says how much a run measures. Both have every row.
type amounts struct {
	rounds   int           // in which both sides are measured; the median counts
	warm     int           // starts of programs that do not count
	starts   int           // of programs, and of browsers with ten pages
	calls    int           // of one side in a round
	spread   int           // calls of each page with many tools or frames
	fresh    int           // calls that get a page of their own
	loads    int           // of a page on each side
	changes  int           // that a viewer waits to see
	cases    int           // that run through every door
	many     int           // isolated sessions in the headless shell
	few      int           // those in which both kinds of browsers are compared
	noise    time.Duration // how long the light caller is timed beside each noise
	kills    int           // of the browser
	flood    int           // in hundredths of the requests of the flood
	silence  time.Duration // until a silent site hangs up; zero means never
	idle     time.Duration // that the operators' page is open while nothing happens
	paced    time.Duration // of calls at 200 a second, on each side in a round
	patience time.Duration // of questions and sessions that the flood leaves behind
}

// size is the short form, which takes a minute; -full sets whole, whose figures are recorded.
var (
	size = amounts{
		rounds: 3, starts: 1, calls: 100, spread: 100, fresh: 1, loads: 5, changes: 10, cases: 3,
		many: 20, few: 6, noise: 300 * time.Millisecond, kills: 1, flood: 2, silence: time.Second, patience: time.Second,
		idle: 10 * time.Second, paced: 2 * time.Second,
	}
	whole = amounts{
		rounds: 5, warm: 1, starts: 5, calls: 2000, spread: 2000, fresh: 30, loads: 50, changes: 100,
		cases: 100, many: 60, few: 16, noise: 5 * time.Second, kills: 5, flood: 100,
		patience: 20 * time.Second, idle: 30 * time.Second, paced: 12 * time.Second,
	}
)
