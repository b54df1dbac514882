// Package bridgetest holds scripted fakes of the domain's interfaces, for tests
// of what stands in front of a bridge. Their catalogs are real ones.
package bridgetest
