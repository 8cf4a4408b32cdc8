// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

const (
	settle = 300 * time.Millisecond // many changes in a short time are one screen
	again  = 2 * time.Second        // a pause before a watch that broke is begun anew
	tick   = 5 * time.Second        // logs grow without an event
	// patience bounds one look: a server that takes requests and answers none is as good as none.
	patience = 15 * time.Second
)

// follow shows the status whenever it changes, until the context ends: on a terminal in place, else one below the other.
func (a *asking) follow(ctx context.Context, streams output.Streams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan struct{}, 1)
	one := metav1.ListOptions{}
	if a.Name != "" {
		one.FieldSelector = "metadata.name=" + a.Name
		go a.watch(ctx, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, metav1.ListOptions{LabelSelector: serving.LabelInferenceService + "=" + a.Name}, changed)
	}
	go a.watch(ctx, live.InferenceServices(), one, changed)
	last, seen, lost := "", "", false // what is on the screen, the same without its ages, and whether it is no longer known to be so
	for {
		text, ageless, err := a.screen(ctx, streams)
		changes := ageless != seen || output.IsTerminal(streams.Out) && (text != last || lost)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && last == "":
			return err
		case err != nil && !lost: // once: the words of one cut differ from look to look
			lost = true
			err = a.missed(streams, last, err)
		case err != nil:
			err = nil
		case changes:
			last, seen, lost = text, ageless, false
			err = draw(streams, text)
		case lost:
			lost = false
			fmt.Fprintln(streams.Err, "the API server answers again; nothing has changed")
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			select {
			case <-ctx.Done():
			case <-time.After(settle):
			}
		case <-time.After(tick):
		}
	}
}

// missed tells that there is no answer at present. What was shown before stays to be seen.
func (a *asking) missed(streams output.Streams, last string, err error) error {
	words := output.Line(err.Error()) + "; still looking\n"
	if output.IsTerminal(streams.Out) {
		return draw(streams, last+"\n"+output.NewPaint(streams.Out).Bad("as last seen: ")+words)
	}
	_, err = fmt.Fprint(streams.Err, words)
	return err
}

// screen reads and prints into a text; ageless is the same without what changes by the mere passing of time.
func (a *asking) screen(ctx context.Context, streams output.Streams) (text, ageless string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := a.look(ctx)
	if err != nil {
		return "", "", err
	}
	if text, err = a.print(streams, s); err == nil {
		ageless, err = a.print(streams, s.ageless())
	}
	return text, ageless, err
}

func (a *asking) print(streams output.Streams, s shown) (string, error) {
	if a.Output == output.Table {
		return s.text(output.NewPaint(streams.Out))
	}
	var b strings.Builder
	err := output.Write(&b, a.Output, s)
	return b.String(), err
}

// draw clears a terminal first.
func draw(streams output.Streams, text string) error {
	if output.IsTerminal(streams.Out) {
		text = "\x1b[H\x1b[2J" + text
	}
	_, err := fmt.Fprint(streams.Out, text)
	if err != nil {
		return exit.Errorf(exit.Failed, "print the status: %w", err)
	}
	return nil
}

// watch tells of every event; a watch that breaks is begun again.
func (a *asking) watch(ctx context.Context, resource schema.GroupVersionResource, o metav1.ListOptions, changed chan<- struct{}) {
	for ctx.Err() == nil {
		w, err := a.client.Resource(resource).Namespace(a.namespace).Watch(ctx, o)
		if err == nil {
			tell(ctx, w, changed)
			nudge(changed) // a cut is a change, too
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

func tell(ctx context.Context, w watch.Interface, changed chan<- struct{}) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.ResultChan():
			if !ok || e.Type == watch.Error {
				return
			}
			nudge(changed)
		}
	}
}

func nudge(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default: // one is waiting already
	}
}
