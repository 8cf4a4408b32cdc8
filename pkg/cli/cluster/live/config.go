// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	clientQPS = 200
	// AnswerTimeout bounds one request to the API server that is no watch.
	AnswerTimeout = time.Minute
)

// Client connects to the cluster of a kubeconfig; see Config.
func Client(kubeconfig string) (client dynamic.Interface, namespace string, err error) {
	config, namespace, err := Config(kubeconfig, "")
	if err != nil {
		return nil, "", err
	}
	config.Timeout = AnswerTimeout
	client, err = dynamic.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("make a client: %w", err)
	}
	return client, namespace, nil
}

// Config leads to the cluster of a kubeconfig, or, without one, of KUBECONFIG and the person's default one, by one of its contexts where one
// is named. It also tells the namespace of the context.
func Config(kubeconfig, kubeContext string) (config *rest.Config, namespace string, err error) {
	if kubeconfig == "" {
		if err := there(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); err != nil {
			return nil, "", err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	fault := func(err error) error {
		files := strings.Join(rules.GetLoadingPrecedence(), string(filepath.ListSeparator))
		if strings.Contains(err.Error(), files) {
			return fmt.Errorf("read the kubeconfig: %w", err)
		}
		return fmt.Errorf("read the kubeconfig %s: %w", files, err)
	}
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fault(err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fault(err)
	}
	config.QPS, config.Burst = clientQPS, 2*clientQPS
	config.WarningHandler = rest.NoWarnings{}
	return config, namespace, nil
}

// there refuses a KUBECONFIG of which no file exists: client libraries would go on as if it were empty, and name no file.
func there(variable string) error {
	files := filepath.SplitList(variable)
	for _, file := range files {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			return nil // what else is wrong with it is told when it is read
		}
	}
	if len(files) == 0 {
		return nil
	}
	return fmt.Errorf("read the kubeconfig: KUBECONFIG names %s, which does not exist", variable)
}

// expired is where to go on in a list that the API server no longer has as it was.
func expired(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}
