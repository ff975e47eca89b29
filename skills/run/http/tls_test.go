package http

import "crypto/tls"

// tlsOld is what a server that stopped at TLS 1.1 offers.
func tlsOld() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
}
