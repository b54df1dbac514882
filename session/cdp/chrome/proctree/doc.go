// Package proctree starts a process and ends it with its children.
//
// On Unix they are a group, and a child that leaves the group leaves the tree. On Windows they are
// a job, which no child leaves, and which ends with this process. A child that was born before its
// parent came into the job, which is right after the start, is not in it.
package proctree
