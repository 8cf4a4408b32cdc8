// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package predict

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// terminal is a terminal of the kernel's, and the end at which a person would sit.
func terminal(t *testing.T) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	raw, err := person.SyscallConn()
	require.NoError(t, err)
	var number int
	var fault error
	require.NoError(t, raw.Control(func(fd uintptr) {
		if fault = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); fault == nil {
			number, fault = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}))
	require.NoError(t, fault)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return program, person
}

func TestATerminalObeysNoAnswer(t *testing.T) {
	t.Setenv("TERM", "xterm")
	program, person := terminal(t)
	for _, answer := range []string{"no model\x1b]0;gone\x07 here\u202e\nend", "{\"text\": \"\u009b2J\u202e here\", \"end\": 1}"} {
		_, url := restServer(t, 200, answer)
		cmd := Command(output.Streams{In: strings.NewReader(""), Out: program, Err: io.Discard})
		cmd.SetArgs([]string{"iris", "--url", url, "-d", `{"instances": [[1]]}`})
		require.NoError(t, cmd.ExecuteContext(t.Context()))
		var shown strings.Builder
		require.NoError(t, person.SetReadDeadline(time.Now().Add(10*time.Second)))
		for buffer := make([]byte, 1<<10); !strings.Contains(shown.String(), "end"); {
			n, err := person.Read(buffer)
			require.NoError(t, err, "%q", shown.String())
			shown.Write(buffer[:n])
		}
		require.NotContains(t, shown.String(), "\x1b")
		require.NotContains(t, shown.String(), "\u009b")
		require.NotContains(t, shown.String(), "\u202e")
		require.Contains(t, shown.String(), "here")
	}
	stdout, _, err := call(t, "", "iris", "--url", answering(t, "\x1b[2J"), "-d", `{"instances": [[1]]}`)
	require.NoError(t, err)
	require.Equal(t, "\x1b[2J\n", stdout, "what no person looks at is as it came")
}

func answering(t *testing.T, answer string) string {
	t.Helper()
	_, url := restServer(t, 200, answer)
	return url
}
