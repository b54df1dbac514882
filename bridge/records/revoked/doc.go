// Package revoked tells all nodes of a cluster which credentials were revoked at one of them, over records.
//
// There is one record for a credential, which stays until the credential is given again. It names it by a
// digest under the key of the cluster, and never has a token.
package revoked
