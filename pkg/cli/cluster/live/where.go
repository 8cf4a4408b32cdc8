// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

// Where says which cluster is meant, and which namespace of it.
type Where struct {
	Namespace  string
	Kubeconfig string
	// Context is one of the kubeconfig's.
	Context string
	// Name and State are those of a local cluster.
	Name, State string
}

// BindFlags declares the flags.
func (w *Where) BindFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&w.Namespace, "namespace", "n", "", "namespace of the services (default: that of the kubeconfig)")
	flags.StringVar(&w.Name, "cluster", "", "the cluster is the local one of this name (kserve local up --name)")
	flags.StringVar(&w.State, "state", "", "folder that holds the folders of local clusters")
	flags.StringVar(&w.Kubeconfig, "kubeconfig", "", "the cluster is that of this kubeconfig (default: KUBECONFIG, else the local cluster that runs)")
	flags.StringVar(&w.Context, "context", "", "context of the kubeconfig (default: its current one)")
}

// Asked says whether the person named a cluster or a namespace in any way.
func (w *Where) Asked() bool { return *w != Where{} }

// Path is the kubeconfig that leads to the cluster: the named one, that of the named local cluster, that of KUBECONFIG, or that of the
// local cluster that runs. Empty means what client libraries do by themselves.
func (w *Where) Path() (string, error) {
	switch {
	case w.Kubeconfig != "":
		return w.Kubeconfig, nil
	case w.Name == "" && w.State == "" && (os.Getenv("KUBECONFIG") != "" || w.Context != ""): // a local cluster has no contexts to choose from
		return "", nil
	}
	p, err := record.At(w.State, cmp.Or(w.Name, record.DefaultName))
	if err != nil {
		return "", exit.Errorf(exit.Usage, "%w", err)
	}
	r, err := p.Running()
	switch {
	case err == nil:
		return r.Kubeconfig, nil
	case !errors.Is(err, record.ErrNotRunning):
		return "", err
	case w.Name == "" && w.State == "":
		if home, err := os.UserHomeDir(); err == nil {
			if _, err := os.Stat(filepath.Join(home, ".kube", "config")); err == nil {
				return "", nil
			}
		}
	}
	return "", exit.Errorf(exit.Unreachable, "%w%s; --kubeconfig names another cluster", err, p.Others("--cluster"))
}

// Config leads to the cluster, and tells the namespace: the named one, else that of the kubeconfig.
func (w *Where) Config() (config *rest.Config, namespace string, err error) {
	path, err := w.Path()
	if err != nil {
		return nil, "", err
	}
	if config, namespace, err = Config(path, w.Context); err != nil {
		return nil, "", exit.Errorf(exit.Usage, "%w", err)
	}
	return config, cmp.Or(w.Namespace, namespace), nil
}
