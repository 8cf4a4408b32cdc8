//go:build pins

package proto

import (
	_ "github.com/stretchr/testify/require"
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/proto"
)
