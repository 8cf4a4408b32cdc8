// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
)

func TestFlagsOfTheWayIn(t *testing.T) {
	o, done, _, _, errs := parsed(t, nil, "--model_dir=/m", "--ssl_certfile=/c", "--ssl_keyfile=/k", "--ssl_ca_certs=/ca",
		"--ssl-client-auth=optional", "--ssl_min_version=1.3", "--secure_grpc_server=on", "--http_socket=/h", "--grpc_socket=/g")
	require.False(t, done, errs)
	s := o.options(zap.NewNop())
	require.Equal(t, httpserver.TLS{
		CertFile: "/c", KeyFile: "/k", GRPC: true, ClientCAFile: "/ca", ClientAuth: httpserver.ClientOptional, MinVersion: "1.3",
	}, s.Server.TLS)
	require.Equal(t, "/h", s.Server.HTTPSocket.Addr)
	require.Equal(t, "/g", s.Server.GRPCSocket.Addr)

	o, _, _, _, _ = parsed(t, nil, "--model_dir=/m", "--enable_grpc=no", "--grpc_socket=/g")
	require.Empty(t, o.options(zap.NewNop()).Server.GRPCSocket.Addr)
}

func TestWrongFlagsOfTheWayIn(t *testing.T) {
	for want, args := range map[string][]string{
		"--ssl_certfile and --ssl_keyfile go together":                                             {"--ssl_keyfile=/k"},
		"--secure_grpc_server needs --ssl_certfile and --ssl_keyfile":                              {"--secure_grpc_server=true"},
		"--ssl_ca_certs needs --ssl_certfile and --ssl_keyfile":                                    {"--ssl_ca_certs=/ca"},
		"--ssl_client_auth needs --ssl_ca_certs":                                                   {"--ssl_certfile=/c", "--ssl_keyfile=/k", "--ssl_client_auth=required"},
		`argument --ssl_client_auth: client authentication "maybe": expected required or optional`: {"--ssl_certfile=/c", "--ssl_keyfile=/k", "--ssl_ca_certs=/ca", "--ssl_client_auth=maybe"},
		`argument --ssl_min_version: TLS version "1.1": expected 1.2 or`:                           {"--ssl_certfile=/c", "--ssl_keyfile=/k", "--ssl_min_version=1.1"},
	} {
		_, done, code, _, errs := parsed(t, nil, append([]string{"--model_dir=/m"}, args...)...)
		require.True(t, done)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, want)
	}
}
