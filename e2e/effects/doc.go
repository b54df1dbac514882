// Package effects sees what the pages of a site do: what they declare, and from which line. The
// rules of package check judge it.
package effects
