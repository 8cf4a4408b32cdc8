// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
)

// RenderCommand is `kserve render`.
func RenderCommand(streams output.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "render -f FILE...",
		Short: "Print the objects that a cluster would get",
		Long: `Print the Deployments, Services, routes and autoscalers that the controller would create for each InferenceService
and InferenceGraph, made by the same code. Runtimes, secrets, service accounts and the ConfigMap inferenceservice-config are taken from the files
where they are there; the shipped runtimes and settings stand for the rest, or, with --cluster, those of a cluster.`,
		Example: `  kserve render -f deploy/samples/sklearn-iris.yaml
  kserve render -f isvc.yaml -o json | jq '.items[].kind'
  kserve render -f isvc.yaml --cluster -n models`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.take(args); err != nil {
				return err
			}
			return renderAll(cmd.Context(), o, streams)
		},
	}
	o.bind(cmd, output.YAML)
	return cmd
}

func renderAll(ctx context.Context, o options, streams output.Streams) error {
	world, err := o.read(ctx, streams)
	if err != nil {
		return err
	}
	var objects []plan.Object
	code := exit.OK
	fails := func(item offline.Item, as int, text string) {
		code = max(code, as)
		fmt.Fprintf(streams.Err, "%s: %s\n", item.Object.ID(), output.Text(text))
	}
	for _, item := range world.items() {
		p, err := item.Plan()
		var made []plan.Object
		if err == nil {
			made, err = render.Objects(p, world.Settings)
		}
		if err != nil {
			if cannot := world.cannotTell(err); cannot != nil {
				fails(item, exit.Failed, cannot.Error())
				continue
			}
			fails(item, exit.Invalid, err.Error())
			continue
		}
		lacking, err := world.lacks(ctx, made)
		if err != nil {
			return err
		}
		for _, lack := range lacking {
			fails(item, exit.Invalid, lack)
		}
		for _, obj := range made {
			obj.SetOwnerReferences(withUID(obj.GetOwnerReferences()))
		}
		objects = append(objects, made...)
		for _, u := range p.Unplanned {
			fails(item, exit.Invalid, fmt.Sprintf("spec.canary[%d]: %v", u.Index, u.Why))
		}
		for _, n := range world.notes(item.Object) {
			fmt.Fprintf(streams.Err, "%s: %s\n", item.Object.ID(), output.Text(n))
		}
	}
	if err := printObjects(o.output, streams, objects); err != nil {
		return err
	}
	if code != exit.OK {
		return exit.Silent(code)
	}
	return nil
}

// withUID leaves out the owners that have no UID yet, as owners in a file do: an API server refuses a reference without one.
func withUID(owners []metav1.OwnerReference) []metav1.OwnerReference {
	owners = slices.DeleteFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == "" })
	if len(owners) == 0 {
		return nil // an empty list would be printed
	}
	return owners
}

func printObjects(format output.Format, streams output.Streams, objects []plan.Object) error {
	switch format {
	case output.Table:
		rows := make([][]string, 0, len(objects))
		for _, obj := range objects {
			rows = append(rows, []string{obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace(), obj.GetName()})
		}
		return output.Rows(streams.Out, []string{"KIND", "NAMESPACE", "NAME"}, rows)
	case output.JSON:
		items := make([]json.RawMessage, 0, len(objects))
		for _, obj := range objects {
			raw, err := json.Marshal(obj)
			if err != nil {
				return fmt.Errorf("print %s: %w", obj.GetName(), err)
			}
			items = append(items, raw)
		}
		return output.Write(streams.Out, format, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	default:
		var out bytes.Buffer
		for i, obj := range objects {
			text, err := yaml.Marshal(obj)
			if err != nil {
				return fmt.Errorf("print %s: %w", obj.GetName(), err)
			}
			if i > 0 {
				out.WriteString("---\n")
			}
			out.Write(text)
		}
		_, err := streams.Out.Write(out.Bytes())
		return err
	}
}
