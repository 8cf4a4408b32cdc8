// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

// The program is killed at any moment while its list and its directories change and models are loaded and unloaded: when it is started again it
// serves what the list says then.
func TestKilledInTheMiddleItStartsAgain(t *testing.T) {
	model, err := filepath.Abs(filepath.Join(models, "iris-logreg"))
	require.NoError(t, err)
	dir := t.TempDir()
	list, root := filepath.Join(dir, "models.json"), filepath.Join(dir, "models")
	require.NoError(t, os.Mkdir(root, 0o700))
	entry := func(i int) string {
		return fmt.Sprintf(`{"modelName":"m%d","modelSpec":{"storageUri":%q,"memory":"%dMi"}}`, i%5, model, i%7)
	}
	write := func(text string, half bool) {
		if half { // in place, cut off
			_ = os.WriteFile(list, []byte(text[:len(text)/2]), 0o600)
			return
		}
		_ = os.WriteFile(list+".new", []byte(text), 0o600)
		_ = os.Rename(list+".new", list)
	}
	port, grpcPort := freeport.Text(t), freeport.Text(t)
	url := "http://127.0.0.1:" + port
	ready := func() bool {
		resp, err := http.Get(url + "/v2/health/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		write("["+entry(0)+","+entry(1)+"]", false)
		cmd, log := start(t, "--model_config_file="+list, "--model_dir="+root, "--model_poll_interval=5ms", "--http_port="+port, "--grpc_port="+grpcPort)
		require.NoError(t, cmd.Start())
		require.Eventually(t, ready, 30*time.Second, 2*time.Millisecond, "%s", log)
		resp, err := http.Post(url+"/v1/models/m1:predict", "application/json", strings.NewReader(`{"instances":[[5.1,3.5,1.4,0.2]]}`))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		stop := make(chan struct{})
		var busy sync.WaitGroup
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				write("["+entry(i)+","+entry(i+1)+"]", i%3 == 0)
				for _, what := range []string{"load", "unload"} {
					if resp, err := http.Post(fmt.Sprintf("%s/v2/repository/models/m%d/%s", url, i%5, what), "application/json", nil); err == nil {
						resp.Body.Close()
					}
				}
			}
		})
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond) // any moment
		require.NoError(t, cmd.Process.Kill())
		close(stop)
		busy.Wait()
		require.Error(t, cmd.Wait(), "it was killed")
	}
}
