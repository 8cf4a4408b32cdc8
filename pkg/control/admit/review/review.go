// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review is the envelope of admission: it reads a review of either version, within bounds, has it answered, and writes the
// answer. It also makes the patch of an object that was changed in memory.
//
// Called by: control/admit; control/admit/{defaulting,validation,podmutation}, for Answer and Patch.
// Next: the API server, which waits for the answer.
package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/kserve-go/kserve-go/pkg/apis/mistyped"
	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// MaxBody bounds a review: an API server takes objects of up to 3 MiB, and a review of a change holds two.
const MaxBody = 8 << 20

// Reviews share a budget of memory: each takes as much of it as its body is long, and a small one as much as its objects may need.
const (
	budget = 64 << 20
	share  = 1 << 20
)

// They share another for what their objects become: an object of two bytes may be a container of a KiB, and is held as it was sent, as it
// was read and as it is changed, some 4 KiB in all. So a MiB of them would need a GiB.
const (
	// copies of a body are held while it is answered, and so many bytes of them count as a part.
	copies     = 3
	sizeOfPart = 4 << 10
	// MaxParts bounds what is in one object: objects, lists, and values in them, of which many count as one.
	MaxParts = 16 << 10
	// valuesOfPart are as many texts and numbers as need about as much as an object.
	valuesOfPart = 32
)

// longest is how long an answer may take when the API server does not say; it never waits longer than 30 s.
const longest = 10 * time.Second

// Answer is what the API server is told.
type Answer struct {
	// Refusal is nil when the request is allowed.
	Refusal *metav1.Status
	// Patch is a JSON patch of the object, or nil.
	Patch []Operation
	// Warnings are shown to the person who made the request.
	Warnings []string

	// unread says that the object was refused because it could not be read, not for what it says.
	unread bool
}

// Allowed is the answer to a request that is in order.
func Allowed(warnings ...serving.Warning) Answer {
	return Answer{Warnings: texts(warnings)}
}

// maxWarning is the length up to which an API server shows a warning whole.
const maxWarning = 256

// Bounds of what one answer tells: nobody reads more, and an object of a MiB can have ten thousand faults.
const (
	maxWarnings = 32
	maxFaults   = 64
)

func texts(warnings []serving.Warning) []string {
	var all []string
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		all = append(all, Cut(w.String(), maxWarning))
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		all = append(all, fmt.Sprintf("and %d more warnings", more))
	}
	return all
}

// Cut shortens a text to so many bytes, at the end of a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}

// Checked is the answer to a request whose object was validated: the faults refuse it.
func Checked(kind schema.GroupKind, name string, faults field.ErrorList, warnings []serving.Warning) Answer {
	a := Answer{Warnings: texts(warnings)}
	if len(faults) > 0 {
		if more := len(faults) - maxFaults; more > 0 {
			faults = append(slices.Clone(faults[:maxFaults]), field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf("and %d more faults; put those right that are told, the rest comes then", more)))
		}
		status := apierrors.NewInvalid(kind, Cut(name, maxShown), short(faults)).Status()
		a.Refusal = &status
	}
	return a
}

// maxShown is how much of a value that is wrong an answer shows: it is told several times over, for each fault.
const maxShown = 1024

// short are the faults with values and details of a bounded length.
func short(faults field.ErrorList) field.ErrorList {
	shown := make(field.ErrorList, 0, len(faults))
	for _, f := range faults {
		f := *f
		if value := reflect.ValueOf(f.BadValue); value.Kind() == reflect.String { // of any type
			f.BadValue = Cut(value.String(), maxShown)
		}
		f.Field, f.Detail = Cut(f.Field, maxShown), Cut(f.Detail, 4*maxShown)
		shown = append(shown, &f)
	}
	return shown
}

// Failed is the answer to a request that could not be judged, or must be refused as a whole. The code of an API error is kept.
func Failed(code int, err error) Answer {
	reason := metav1.StatusReasonInternalError
	switch code {
	case http.StatusBadRequest:
		reason = metav1.StatusReasonBadRequest
	case http.StatusForbidden:
		reason = metav1.StatusReasonForbidden
	case http.StatusRequestEntityTooLarge:
		reason = metav1.StatusReasonRequestEntityTooLarge
	case http.StatusServiceUnavailable:
		reason = metav1.StatusReasonServiceUnavailable
	case http.StatusGatewayTimeout:
		reason = metav1.StatusReasonTimeout
	}
	return Answer{Refusal: &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: err.Error()}}
}

// Unread is the answer to a request whose object cannot be read.
func Unread(err error) Answer {
	a := Failed(http.StatusBadRequest, err)
	a.unread = true
	return a
}

// Handler answers one kind of request. It must not change what it is given and must have no effect of its own: the API server may
// ask again, and may throw the answer away.
type Handler func(ctx context.Context, request *admissionv1.AdmissionRequest) Answer

// Outcomes of a review, for the observer.
const (
	OutcomeAllowed = "allowed"
	OutcomePatched = "patched"
	OutcomeRefused = "refused"
	OutcomeFailed  = "failed"    // the review was in order, its answer could not be found
	OutcomeGarbage = "malformed" // not a review
)

// Endpoint serves one path of a webhook.
type Endpoint struct {
	Handle Handler
	// Observe is told about every review; operation is empty for one that could not be read. nil means nobody.
	Observe func(operation, outcome string, took time.Duration)
	// Failure is told about answers that could not be found and about panics. nil means nobody.
	Failure func(request *admissionv1.AdmissionRequest, message string)
	// Budget bounds memory and concurrency over all endpoints that share it; nil means no bound.
	Budget *Budget
}

// Budget is a bound that endpoints share. Who holds a part of both halves took that of bodies first, so nobody waits in a circle.
type Budget struct{ bodies, parts *semaphore.Weighted }

// NewBudget makes a bound.
func NewBudget() *Budget {
	return &Budget{bodies: semaphore.NewWeighted(budget), parts: semaphore.NewWeighted(MaxParts)}
}

// parts is the number of objects and lists in a JSON text, and of values by the many.
func parts(text []byte) int64 {
	var opened, values int64
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			opened++
		case c == ',':
			values++
		}
	}
	return opened + values/valuesOfPart
}

// What is read before a review takes its part of the budget, and how long the rest of a longer one may take: whoever sends a few bytes
// and waits is not to keep the others out.
const (
	first    = 64 << 10
	restTime = 2 * time.Second
)

// partial is a body of which the beginning was read.
type partial struct {
	head  []byte
	rest  io.Reader
	whole bool
}

// cost of reading and answering a review. Who does not say how long the body is pays for the longest.
func (b *partial) cost(r *http.Request) int64 {
	switch {
	case b.whole:
		return share
	case r.ContentLength < 0 || r.ContentLength > MaxBody:
		return MaxBody
	}
	return max(r.ContentLength, share)
}

type incoming struct {
	metav1.TypeMeta `json:",inline"`
	Request         *admissionv1.AdmissionRequest `json:"request"`
}

type outgoing struct {
	metav1.TypeMeta `json:",inline"`
	Response        admissionv1.AdmissionResponse `json:"response"`
}

// ServeHTTP answers a review. What is not one is answered with a code and a sentence, which the API server shows.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	// What comes slowly takes nothing of the budget: most reviews are whole before they do.
	body, code, err := beginning(w, r)
	if err != nil {
		e.observe("", OutcomeGarbage, start)
		http.Error(w, err.Error(), code)
		return
	}
	if e.Budget != nil {
		n := body.cost(r)
		if e.Budget.bodies.Acquire(ctx, n) != nil {
			e.busy(w, start)
			return
		}
		defer e.Budget.bodies.Release(n)
	}
	in, code, err := body.read(w)
	if err != nil {
		e.observe("", OutcomeGarbage, start)
		http.Error(w, err.Error(), code)
		return
	}
	asked := parts(in.Request.Object.Raw) // what is stored, or goes, is no longer the question
	if e.Budget != nil && asked <= MaxParts {
		size := int64(len(in.Request.Object.Raw) + len(in.Request.OldObject.Raw))
		n := min(asked+parts(in.Request.OldObject.Raw)+copies*size/sizeOfPart, MaxParts)
		if e.Budget.parts.Acquire(ctx, n) != nil {
			e.busy(w, start)
			return
		}
		defer e.Budget.parts.Release(n)
	}
	answer := tooMany(asked)
	if answer.Refusal == nil {
		answer = e.answer(ctx, in.Request)
	}
	if in.Request.Operation == admissionv1.Update && answer.unread && leaving(in.Request.Object.Raw) {
		answer = Allowed()
	}
	e.observe(string(in.Request.Operation), outcome(answer), start)
	out, err := encode(in, answer)
	if err != nil {
		e.fail(in.Request, err.Error())
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // an API server that has gone does not read the error either
}

// leaving reports whether an object is being deleted: it may have been stored while nobody looked at it, and its finalizers still have to go.
func leaving(raw []byte) bool {
	var object struct {
		Metadata struct {
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, &object) == nil && object.Metadata.DeletionTimestamp != nil
}

// busy answers when a budget is used up for as long as the API server waits.
func (e *Endpoint) busy(w http.ResponseWriter, start time.Time) {
	e.observe("", OutcomeFailed, start)
	http.Error(w, "too many admission reviews at a time; try again", http.StatusTooManyRequests)
}

// tooMany refuses what is too much to be looked at.
func tooMany(parts int64) Answer {
	if parts <= MaxParts {
		return Answer{}
	}
	a := Failed(http.StatusRequestEntityTooLarge, fmt.Errorf("the object has too many parts to be judged: %d objects and lists, and other values, of which %d count as one; "+
		"at most %d are taken: shorten its lists", parts, valuesOfPart, MaxParts))
	a.unread = true
	return a
}

// patience is how long the API server waits for the answer, a little less.
func patience(r *http.Request) time.Duration {
	asked, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || asked <= 0 || asked > 30*time.Second {
		return longest
	}
	return asked - asked/20
}

// beginning reads what needs no budget. The code is for the HTTP answer when there is an error.
func beginning(w http.ResponseWriter, r *http.Request) (*partial, int, error) {
	if r.Method != http.MethodPost {
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("%s is not possible here: an AdmissionReview is sent with POST", r.Method)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("the content type is %q: an AdmissionReview is application/json", r.Header.Get("Content-Type"))
	}
	b := &partial{rest: http.MaxBytesReader(w, r.Body, MaxBody)}
	head, err := io.ReadAll(io.LimitReader(b.rest, first))
	if err != nil {
		code, err := readFailed(err)
		return nil, code, err
	}
	b.head, b.whole = head, len(head) < first
	return b, 0, nil
}

// read reads the rest. The code is for the HTTP answer when there is an error.
func (b *partial) read(w http.ResponseWriter) (*incoming, int, error) {
	body := b.head
	if !b.whole {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // a server that cannot has a limit of its own
		rest, err := io.ReadAll(b.rest)
		if err != nil {
			code, err := readFailed(err)
			return nil, code, err
		}
		body = append(body, rest...)
	}
	in, err := decode(body)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	return in, 0, nil
}

func readFailed(err error) (int, error) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the review is larger than %d bytes", MaxBody)
	}
	return http.StatusBadRequest, fmt.Errorf("read the review: %w", err)
}

// decode reads an AdmissionReview of v1 or v1beta1, whose requests are the same.
func decode(body []byte) (*incoming, error) {
	var in incoming
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &in); err != nil {
		return nil, fmt.Errorf("the body is no AdmissionReview: %w", err)
	}
	v1, v1beta1 := admissionv1.SchemeGroupVersion.String(), admissionv1beta1.SchemeGroupVersion.String()
	switch {
	case in.Kind != "AdmissionReview" || in.APIVersion != v1 && in.APIVersion != v1beta1:
		return nil, fmt.Errorf("the body is %q of %q: AdmissionReview of %s or %s is expected", in.Kind, in.APIVersion, v1, v1beta1)
	case in.Request == nil:
		return nil, errors.New("the AdmissionReview has no request")
	case in.Request.UID == "":
		return nil, errors.New("the AdmissionReview's request has no uid")
	}
	return &in, nil
}

// answer has the request answered. A panic is an answer too: one bad object must not end the process that judges all others.
func (e *Endpoint) answer(ctx context.Context, request *admissionv1.AdmissionRequest) (answer Answer) {
	defer func() {
		if p := recover(); p != nil {
			answer = Failed(http.StatusInternalServerError, fmt.Errorf("the webhook has a fault and cannot judge this object: %v", p))
			e.fail(request, answer.Refusal.Message+"\n"+string(debug.Stack()))
		}
	}()
	answer = e.Handle(ctx, request)
	if outcome(answer) == OutcomeFailed {
		e.fail(request, answer.Refusal.Message)
	}
	return answer
}

func outcome(a Answer) string {
	switch {
	case a.Refusal != nil && (a.Refusal.Code >= http.StatusInternalServerError || a.Refusal.Code == http.StatusForbidden):
		return OutcomeFailed
	case a.Refusal != nil:
		return OutcomeRefused
	case len(a.Patch) > 0:
		return OutcomePatched
	}
	return OutcomeAllowed
}

func (e *Endpoint) observe(operation, outcome string, start time.Time) {
	if e.Observe != nil {
		e.Observe(operation, outcome, time.Since(start))
	}
}

func (e *Endpoint) fail(request *admissionv1.AdmissionRequest, message string) {
	if e.Failure != nil {
		e.Failure(request, message)
	}
}

// encode writes the answer in the version of the review.
func encode(in *incoming, a Answer) ([]byte, error) {
	out := outgoing{TypeMeta: in.TypeMeta, Response: admissionv1.AdmissionResponse{
		UID: in.Request.UID, Allowed: a.Refusal == nil, Result: a.Refusal, Warnings: a.Warnings,
	}}
	if a.Refusal == nil && len(a.Patch) > 0 {
		patch, err := json.Marshal(a.Patch)
		if err != nil {
			return nil, fmt.Errorf("write the patch: %w", err)
		}
		kind := admissionv1.PatchTypeJSONPatch
		out.Response.Patch, out.Response.PatchType = patch, &kind
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return text, nil
}

// Object reads the object of a request. The error is the caller's mistake.
func Object(raw []byte, into any) error {
	if len(raw) == 0 {
		return errors.New("the request has no object")
	}
	if err := bounded(raw, into); err != nil {
		return err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err != nil {
		return unreadable(raw, err, into)
	}
	return nil
}

// Stored reads the object before a change. One with more parts than an object that is sent may have is not read.
func Stored(raw []byte, into any) error {
	if n := parts(raw); n > MaxParts {
		return fmt.Errorf("it has %d parts, more than the %d that are judged", n, MaxParts)
	}
	return Object(raw, into)
}

// bounded refuses an object whose quantities cannot be computed: decoding it would not end.
func bounded(raw []byte, into any) error {
	if path, message := quantity.Unbounded(raw, reflect.TypeOf(into)); message != "" {
		return fmt.Errorf("%s: %s", path, message)
	}
	return nil
}

// maxSearched bounds the object in which the value that cannot be read is looked for: the search decodes it many times.
const maxSearched = 256 << 10

// unreadable says which value cannot be read, and what is expected there.
func unreadable(raw []byte, err error, into any) error {
	kind := reflect.TypeOf(into)
	if len(raw) > maxSearched || kind.Kind() != reflect.Pointer {
		return fmt.Errorf("read the object: %w", err)
	}
	path, message := mistyped.Find(raw, err, func(raw []byte) error {
		return kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(kind.Elem()).Interface())
	})
	if path == "" {
		return fmt.Errorf("read the object: %s", message)
	}
	return fmt.Errorf("%s: %s", path, message)
}

// StrictObject reads the object of a request as Object does, and names the fields that its kind does not have. The API server drops
// or refuses them itself where the kind is installed with its schema; where it is installed without, only a webhook can tell.
func StrictObject(raw []byte, into any) (unknown []error, err error) {
	if len(raw) == 0 {
		return nil, errors.New("the request has no object")
	}
	if err := bounded(raw, into); err != nil {
		return nil, err
	}
	unknown, err = kjson.UnmarshalStrict(raw, into)
	if err != nil {
		return nil, unreadable(raw, err, into)
	}
	return unknown, nil
}

// FieldValidation is what the client asked the API server to do about unknown fields: Strict (as kubectl does), Warn or Ignore.
func FieldValidation(request *admissionv1.AdmissionRequest) string {
	var options metav1.CreateOptions // the other kinds of options have this field too
	if len(request.Options.Raw) == 0 || json.Unmarshal(request.Options.Raw, &options) != nil || options.FieldValidation == "" {
		return metav1.FieldValidationWarn
	}
	return options.FieldValidation
}

// maxUnknown bounds how many unknown fields an answer names.
const maxUnknown = 20

// Unknown does about unknown fields what the client asked for, and says what they were probably meant to be: kind is the type of the object.
// An answer that refuses already stays as it is.
func (a *Answer) Unknown(fields []error, validation string, kind reflect.Type) {
	if len(fields) == 0 || a.Refusal != nil || validation == metav1.FieldValidationIgnore {
		return
	}
	names := make([]string, 0, maxUnknown)
	for _, f := range fields[:min(len(fields), maxUnknown)] {
		names = append(names, Cut(f.Error()+meant(f.Error(), kind), maxWarning))
	}
	if validation == metav1.FieldValidationStrict {
		*a = Failed(http.StatusBadRequest, fmt.Errorf("strict decoding error: %s; correct the names, or remove the fields", strings.Join(names, ", ")))
		return
	}
	a.Warnings = append(a.Warnings, names...)
}

// meant is what the field of a message such as `unknown field "spec.x"` was probably meant to be.
func meant(message string, kind reflect.Type) string {
	path, ok := strings.CutPrefix(message, `unknown field "`)
	if !ok {
		return ""
	}
	return spelling.Field(kind, spelling.SplitPath(strings.TrimSuffix(path, `"`)))
}
