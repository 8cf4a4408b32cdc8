// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	manager       = "test-kit"
	installers    = 4
	tokenLifetime = int64(24 * 3600)
	configName    = "inferenceservice-config"
	webhookGroup  = "admissionregistration.k8s.io"
)

// build makes the binaries of our processes.
func (c *Cluster) build(ctx context.Context) error {
	var commands []string
	if !c.options.NoController {
		commands = append(commands, "./cmd/controller")
	}
	if !c.options.NoWebhook {
		commands = append(commands, "./cmd/webhook")
	}
	if len(commands) == 0 {
		return nil
	}
	bin := filepath.Join(c.Dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return fmt.Errorf("make a folder for binaries: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", bin + "/"}, commands...)...) //nolint:gosec // our own commands
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(commands, " "), err, out)
	}
	return nil
}

// install brings everything that is not a process.
func (c *Cluster) install(ctx context.Context) error {
	crds, err := c.manifests("deploy/crd")
	if err != nil {
		return err
	}
	if !c.options.NoOptional {
		optional, err := c.manifests("test/data/crds")
		if err != nil {
			return err
		}
		crds = append(crds, optional...)
	}
	namespaces := []*unstructured.Unstructured{namespace(System)}
	if !c.options.NoOptional {
		namespaces = append(namespaces, namespace("knative-serving"), namespace("istio-system"))
	}
	if err := c.create(ctx, append(crds, namespaces...)); err != nil {
		return err
	}
	for _, crd := range crds {
		if err := poll(ctx, func(ctx context.Context) error { return c.served(ctx, crd.GetName()) }); err != nil {
			return fmt.Errorf("wait for %s: %w", crd.GetName(), err)
		}
	}
	base, err := c.shipped()
	if err != nil {
		return err
	}
	return c.create(ctx, base)
}

// shipped are the objects of deploy/ that a cluster needs when our processes run beside it and not in it.
func (c *Cluster) shipped() ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, dir := range []string{"deploy/base", "deploy/config"} {
		list, err := c.manifests(dir)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	kinds := []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "ClusterStorageContainer"}
	var objects []*unstructured.Unstructured
	for _, o := range found {
		if !slices.Contains(kinds, o.GetKind()) {
			continue
		}
		if o.GetKind() == "ConfigMap" && o.GetName() == configName && c.options.Config != nil {
			if err := unstructured.SetNestedStringMap(o.Object, c.options.Config, "data"); err != nil {
				return nil, fmt.Errorf("set the operator's settings: %w", err)
			}
		}
		objects = append(objects, o)
	}
	if !c.options.NoOptional {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "config-autoscaler", "namespace": "knative-serving"},
			"data":     map[string]any{"allow-zero-initial-scale": "true"},
		}})
	}
	return objects, nil
}

// webhookConfigurations are the shipped ones, which call the process at base instead of a Service.
func (c *Cluster) webhookConfigurations(base string) ([]*unstructured.Unstructured, error) {
	found, err := c.manifests("deploy/base")
	if err != nil {
		return nil, err
	}
	var list []*unstructured.Unstructured
	for _, o := range found {
		if o.GroupVersionKind().Group != webhookGroup {
			continue
		}
		hooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o.GetName(), err)
		}
		for _, h := range hooks {
			hook, ok := h.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: a webhook is a map, is %T", o.GetName(), h)
			}
			path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", o.GetName(), err)
			}
			hook["clientConfig"] = map[string]any{"url": base + path}
		}
		if err := unstructured.SetNestedSlice(o.Object, hooks, "webhooks"); err != nil {
			return nil, fmt.Errorf("write %s: %w", o.GetName(), err)
		}
		list = append(list, o)
	}
	return list, nil
}

// manifests reads every YAML file at or below a folder of the repository, kustomizations aside.
func (c *Cluster) manifests(dir string) ([]*unstructured.Unstructured, error) {
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	var all []*unstructured.Unstructured
	err = fs.WalkDir(root.FS(), dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "minimal" {
			return fs.SkipDir // the same CRDs without schemas
		}
		if d.IsDir() || filepath.Ext(path) != ".yaml" || d.Name() == "kustomization.yaml" {
			return nil
		}
		text, err := root.ReadFile(path)
		if err != nil {
			return err
		}
		list, err := Documents(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, list...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return all, nil
}

func namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// create makes what is not there yet. It creates rather than applies: merging a large CRD takes the server seconds.
func (c *Cluster) create(ctx context.Context, objects []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(installers)
	for _, o := range objects {
		group.Go(func() error {
			if err := c.place(o, System); err != nil {
				return err
			}
			for {
				err := c.Client.Create(ctx, o, client.FieldOwner(manager))
				switch {
				case err == nil, apierrors.IsAlreadyExists(err):
					return nil
				case apierrors.IsTimeout(err) && ctx.Err() == nil: // a busy machine
				default:
					return fmt.Errorf("install %s %s: %w", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
	return group.Wait()
}

// Define makes the cluster have a kind, also where it is just being deleted, and waits until it is served: an established one is, a moment later.
func (c *Cluster) Define(ctx context.Context, crd *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := poll(ctx, func(ctx context.Context) error {
		if err := client.IgnoreAlreadyExists(c.Client.Create(ctx, crd.DeepCopy(), client.FieldOwner(manager))); err != nil {
			return err
		}
		return c.served(ctx, crd.GetName())
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", crd.GetName(), err)
	}
	return nil
}

// served is an error while a kind is going, or while one of its versions cannot be listed.
func (c *Cluster) served(ctx context.Context, name string) error {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return err
	}
	if crd.GetDeletionTimestamp() != nil {
		return errors.New("it is being deleted")
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return err
	}
	resource, group, _ := strings.Cut(name, ".")
	for _, item := range versions {
		version, ok := item.(map[string]any)
		v, _ := version["name"].(string)
		if !ok || version["served"] != true {
			continue
		}
		of := c.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: v, Resource: resource})
		if _, err := of.List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
	}
	return nil
}

// As is a config with a token of one of the service accounts of our system.
func (c *Cluster) As(ctx context.Context, account string) (*rest.Config, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(tokenLifetime)}}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: System, Name: account}}
	if err := c.Client.SubResource("token").Create(ctx, sa, request); err != nil {
		return nil, fmt.Errorf("ask for a token of %s: %w", account, err)
	}
	config := rest.AnonymousClientConfig(c.Admin)
	config.BearerToken = request.Status.Token
	unlimited(config)
	return config, nil
}

// kubeconfig writes a file for a process that runs as a service account.
func (c *Cluster) kubeconfig(ctx context.Context, account string) (string, error) {
	config, err := c.As(ctx, account)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, account+".kubeconfig")
	return path, WriteKubeconfig(path, config, account)
}

// WriteKubeconfig writes a file that leads to where a config with a token leads.
func WriteKubeconfig(path string, config *rest.Config, account string) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["api"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	k.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	k.Contexts["api"] = &clientcmdapi.Context{Cluster: "api", AuthInfo: account, Namespace: System}
	k.CurrentContext = "api"
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// Another is a further controller process that is not started yet, with a kubeconfig of its own. The name is for its log.
func (c *Cluster) Another(ctx context.Context, name, kubeconfig string, args ...string) (*Process, error) {
	p := &Process{Name: name, path: filepath.Join(c.Dir, "bin", "controller"), log: filepath.Join(c.Dir, name+".log")}
	return p, p.listenOn(ctx, kubeconfig, args)
}

func (c *Cluster) process(ctx context.Context, name, account string, args ...string) (*Process, error) {
	config, err := c.kubeconfig(ctx, account)
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, path: filepath.Join(c.Dir, "bin", name), log: filepath.Join(c.Dir, name+".log")}
	return p, p.listenOn(ctx, config, args)
}

// listenOn gives the process ports of its own.
func (p *Process) listenOn(ctx context.Context, kubeconfig string, args []string) (err error) {
	if p.Metrics, err = freePort(ctx); err != nil {
		return err
	}
	if p.Health, err = freePort(ctx); err != nil {
		return err
	}
	p.args = append([]string{"--kubeconfig=" + kubeconfig, "--metrics-addr=" + p.Metrics, "--health-probe-addr=" + p.Health}, args...)
	return nil
}

// startProcesses starts the webhook before the controller, whose writes it admits.
func (c *Cluster) startProcesses(ctx context.Context) error {
	if !c.options.NoWebhook {
		if err := c.startWebhook(ctx); err != nil {
			return err
		}
	}
	if c.options.NoController {
		return nil
	}
	var err error
	if c.Controller, err = c.process(ctx, "controller", ControllerAccount, append([]string{"--leader-elect"}, c.options.ControllerArgs...)...); err != nil {
		return err
	}
	return c.Controller.Start(ctx)
}

func (c *Cluster) startWebhook(ctx context.Context) error {
	address, err := freePort(ctx)
	if err != nil {
		return err
	}
	configurations, err := c.webhookConfigurations("https://" + address)
	if err != nil {
		return err
	}
	if err := c.create(ctx, configurations); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if c.Webhook, err = c.process(ctx, "webhook", WebhookAccount, append([]string{"--webhook-host=127.0.0.1", "--webhook-port=" + port, "--certificate-hosts=127.0.0.1"}, c.options.WebhookArgs...)...); err != nil {
		return err
	}
	if err := c.Webhook.Start(ctx); err != nil {
		return err
	}
	return c.waitTrusted(ctx, configurations)
}

// waitTrusted waits until the webhook has put its authority into every configuration.
func (c *Cluster) waitTrusted(ctx context.Context, configurations []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, configuration := range configurations {
		live := configuration.DeepCopy()
		if err := poll(ctx, func(ctx context.Context) error {
			if err := c.Client.Get(ctx, client.ObjectKeyFromObject(configuration), live); err != nil {
				return err
			}
			hooks, _, err := unstructured.NestedSlice(live.Object, "webhooks")
			if err != nil {
				return err
			}
			for _, h := range hooks {
				hook, _ := h.(map[string]any)
				if bundle, _, err := unstructured.NestedString(hook, "clientConfig", "caBundle"); err != nil || bundle == "" {
					return fmt.Errorf("webhook %v of %s has no caBundle", hook["name"], live.GetName())
				}
			}
			return nil
		}); err != nil {
			return fmt.Errorf("wait for the webhook's certificates: %w\n%s", err, c.Webhook.Tail())
		}
	}
	return nil
}

// poll asks again until it succeeds or ctx ends; the error is the last answer that came in time.
func poll(ctx context.Context, ask func(context.Context) error) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last
		}
	}
}
