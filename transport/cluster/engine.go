package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// engineName is in the certificate of each engine that a node starts. It is no node's name.
const engineName = "nats.engine." + domain

// EnginePEM has what an engine that a node starts proves itself with, as PEM: to nodes, and to the
// other engines. Authorities are of both keys of the cluster. Key is a secret.
type EnginePEM struct{ Authorities, Certificate, Key []byte }

// NewEnginePEM makes a certificate for the engine that others reach at a host, a name or an address.
// It does not end before the key of the cluster does: who has that can make another one.
func NewEnginePEM(keys key.Keys, host string) (p EnginePEM, err error) {
	own, all, err := engineAuthorities(keys)
	if err != nil {
		return p, err
	}
	template := &x509.Certificate{DNSNames: []string{engineName}, NotBefore: firstDay, NotAfter: lastDay}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = append(template.DNSNames, host)
	}
	c, err := own.complete(template)
	if err != nil {
		return p, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return p, fmt.Errorf("making the certificate of an engine: %w", err)
	}
	for _, of := range all {
		p.Authorities = append(p.Authorities, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.certificate.Raw})...)
	}
	p.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	p.Key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return p, nil
}

// EngineClient returns the configuration of connections to engines that nodes start.
func EngineClient(keys key.Keys) (*tls.Config, error) {
	own, all, err := engineAuthorities(keys)
	if err != nil {
		return nil, err
	}
	c, err := own.complete(&x509.Certificate{DNSNames: []string{"client." + engineName}, NotBefore: firstDay, NotAfter: lastDay})
	if err != nil {
		return nil, err
	}
	trust := x509.NewCertPool()
	for _, a := range all {
		trust.AddCert(a.certificate)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: trust, ServerName: engineName, Certificates: []tls.Certificate{*c}}, nil
}

// engineAuthorities derives the authorities of engines, first from the key of now.
func engineAuthorities(keys key.Keys) (own *authority, all []*authority, err error) {
	for _, k := range keys.All() {
		a, err := newAuthority(k, key.Engine)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, a)
	}
	return all[0], all, nil
}
