// Package transport holds the parts that all HTTP faces share: the guards in front of them, the
// routing, the form of replies, and the settings of the server. It knows no single face.
//
// A program puts the parts together like this:
//
//	mux := transport.NewMux(transport.Health(ready)...)
//	mux.Add(webtool.New(b, webtool.Options{}).Routes()...)
//	o := transport.Options{Listen: listener.Addr().String()}
//	if err := o.Validate(); err != nil {
//		return err
//	}
//	server := transport.Server(transport.Guard(mux, o), log)
//	return server.Serve(listener)
//
// # Rules
//
// Every reply is application/json, errors and unknown paths included, and none
// is a redirect. A request passes the guards in one order: the recovery from
// panics, its id, Host, Origin, the credential, the body's type and size.
// Nothing of a body is read before all of them passed. A face asks [CallerOf]
// who calls, and reads a body with [ReadBody].
package transport
