# kserve-go: every command a person or CI runs. `make help` lists them.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE_PREFIX ?= kserve-go
BIN          := $(CURDIR)/bin
MODULES      := $(shell awk '$$1 == "." || $$1 ~ /^\.\// {print $$1}' go.work)
BINARIES     := $(notdir $(patsubst %/,%,$(wildcard cmd/*/)))
COMMIT       ?= $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS      := -s -w -X github.com/kserve-go/kserve-go/pkg/version.Version=$(VERSION) -X github.com/kserve-go/kserve-go/pkg/version.Commit=$(COMMIT)
TOOL         := GOWORK=off go tool -modfile=$(CURDIR)/tools/go.mod

IMAGES_DIR   ?= $(BIN)/images
MODELS_DIR   ?= test/data/models
PARITY_DIR   ?= test/data/parity
PROTOCOL_DIR ?= test/data/protocol
FUZZTIME     ?= 30s
# Which tests of a cluster run, as of go test -run; the ordinary user's run may be a subset.
CLUSTER_TESTS  ?= .
ROOTLESS_TESTS ?= $(CLUSTER_TESTS)

##@ Use it

.PHONY: help
help: ## Show this list
	@awk 'BEGIN{FS=":.*## "} /^##@/{printf "\n%s\n",substr($$0,5)} /^[a-z0-9-]+:.*## /{printf "  %-22s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Build kserve, serve the iris InferenceService from its YAML, check V1, V2 and gRPC answers
	@go run ./test/demo

.PHONY: build
build: ## Build the seven static binaries into bin/ and print their sizes
	@mkdir -p $(BIN)
	@for b in $(BINARIES); do CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/$$b ./cmd/$$b; done
	@cd $(BIN) && wc -c $(BINARIES) | awk '$$2!="total"{printf "%-22s %6.1f MB\n",$$2,$$1/1e6}'

.PHONY: local-cluster
local-cluster: ## Build the local cluster (local/) into the user cache and print its path: 25 minutes the first time, at once when nothing changed
	@go run ./pkg/cli/cluster/binary/cmd/local-cluster

.PHONY: images
images: build ## Write an OCI image layout of every binary into IMAGES_DIR/<binary>, and print their digests and sizes
	@go run ./deploy/images/cmd -bin $(BIN) -out $(IMAGES_DIR) -prefix $(IMAGE_PREFIX) -version $(VERSION) -revision '$(COMMIT)' $(BINARIES)

.PHONY: manifests
manifests: ## Write dist/kserve-go.yaml: all that an installation applies, with images IMAGE_PREFIX/<binary>:VERSION
	@go run ./deploy/manifests -out dist -prefix $(IMAGE_PREFIX) -tag $(VERSION)

##@ Test it

.PHONY: test
test: ## Unit, golden, fixture and process tests of every module, with the race detector; prints counts per module
	@go run ./test/runner -race $(MODULES)

.PHONY: test-models
test-models: ## Golden predictions of every model fixture in MODELS_DIR
	@go run ./test/models/cmd -dir $(MODELS_DIR)

.PHONY: conformance
conformance: ## Replay the recorded exchanges of PROTOCOL_DIR against the model server, or the one at URL and GRPC; GROUPS=folder[/group],…; MODEL_ROOT is that server's model directory
	@go run ./test/conformance/cmd -dir '$(PROTOCOL_DIR)' -url '$(URL)' -grpc '$(GRPC)' -groups '$(GROUPS)' -model-root '$(MODEL_ROOT)'

.PHONY: test-local
test-local: ## Tests of the local cluster's own module: nodes, pods, limits, what is left behind
	@test -z "$$(gofmt -l local)" || { gofmt -l local; echo 'test-local: not formatted: gofmt -w local'; exit 1; } # linters would analyse all of Kubernetes
	@cd local && GOWORK=off go test -vet=off -count=1 -ldflags='-s -w' ./...

.PHONY: test-api
test-api: cluster-binary ## Controller and webhook as processes on a real API server, with the shipped roles: a refused request or an unexplained grant fails
	@$(WITH_CLUSTER_BINARY) KSERVE_TEST_API=1 go test -json -vet=off -count=1 -p 1 -timeout 30m ./pkg/testkit/cluster ./test/apiserver/... ./test/install | go run ./test/runner -events
	@sed -n 's/^kserve-/granted, and used by no test: kserve-/p' test/apiserver/testdata/unused-grants.txt

# KSERVE_CLUSTER_BINARY names a built local cluster; without it this checkout's is built, unless the cache has it.
.PHONY: cluster-binary
cluster-binary:
	@test -n "$${KSERVE_CLUSTER_BINARY:-}" || $(MAKE) --no-print-directory local-cluster >/dev/null

# One look-up for a whole target, so that it works with one binary also while sources change.
WITH_CLUSTER_BINARY = export KSERVE_CLUSTER_BINARY="$${KSERVE_CLUSTER_BINARY:-$$(go run ./pkg/cli/cluster/binary/cmd/local-cluster 2>/dev/null)}";

.PHONY: test-cluster
test-cluster: test-cluster-binaries ## InferenceServices on a cluster of this machine, from kubectl apply to answers, failures and what is left: CLUSTER_TESTS chooses
	@(cd test/cluster && KSERVE_TEST_CLUSTER=1 go tool test2json -t -p test/cluster $(BIN)/cluster.test -test.v=test2json -test.timeout 30m -test.parallel 3 -test.run '$(CLUSTER_TESTS)') | go run ./test/runner -events
	@[ '$(CLUSTER_TESTS)' != . ] || KSERVE_TEST_CLUSTER=1 go test -json -vet=off -count=1 -timeout 30m ./test/local | go run ./test/runner -events

.PHONY: test-cluster-rootless
test-cluster-rootless: test-cluster-binaries ## The same as an ordinary user who is made for it: ROOTLESS_TESTS chooses
	@go run ./test/cluster/rootless -run '$(ROOTLESS_TESTS)' | go tool test2json -t -p test/cluster | go run ./test/runner -events

.PHONY: test-cluster-binaries
test-cluster-binaries: cluster-binary images
	@CGO_ENABLED=0 go build -trimpath -o $(BIN)/store ./test/cluster/store
	@CGO_ENABLED=0 go test -c -trimpath -vet=off -o $(BIN)/cluster.test ./test/cluster

.PHONY: parity
parity: cluster-binary ## Controller and webhook on an API server: compare what they make of the recorded inputs of PARITY_DIR with the recorded outcomes
	@$(WITH_CLUSTER_BINARY) go run ./test/parity/cmd -dir $(PARITY_DIR)

.PHONY: test-clients
test-clients: $(BIN)/grpcurl ## Python kserve SDK, tritonclient, grpcurl and curl against running services
	@go run ./test/clients
	@KSERVE_TEST_CLIENTS=1 KSERVE_CLIENTS_PYTHON=$(CURDIR)/.venv/clients/bin/python KSERVE_CLIENTS_GRPCURL=$(BIN)/grpcurl go test -count=1 ./test/conformance/clients

$(BIN)/grpcurl: tools/grpcurl/go.mod tools/grpcurl/go.sum
	@cd tools/grpcurl && GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o $@ github.com/fullstorydev/grpcurl/cmd/grpcurl

# Prometheus is in no module that others build: what it needs is for nobody else. Its discovery of clouds is left out.
$(BIN)/prometheus: tools/prometheus/go.mod tools/prometheus/go.sum
	@cd tools/prometheus && GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -tags remove_all_sd -o $@ github.com/prometheus/prometheus/cmd/prometheus

.PHONY: test-prometheus
test-prometheus: $(BIN)/prometheus ## The queries of canary analysis on a real Prometheus that scrapes model servers; it is built first, once
	@KSERVE_PROMETHEUS_BINARY=$< go test -json -vet=off -count=1 ./test/prometheus | go run ./test/runner -events

.PHONY: golden
golden: ## Rewrite golden files from what the code does now; read the diff before you commit it
	@go test ./pkg/control/... ./pkg/cli/... -update >/dev/null || true
	@git diff --stat -- '*/testdata/*'

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each
	@go run ./test/runner -fuzz $(FUZZTIME) $(MODULES)

# What strangers send: every protocol's decoders, and the pickles that models come in.
WIRE_PARSERS := pkg/data/protocol pkg/data/pickle

.PHONY: fuzz-wire
fuzz-wire: ## Run every fuzz target of the protocols and of pickles for FUZZTIME each, two at once: three minutes
	@go run ./test/runner -fuzz $(FUZZTIME) -at-once 2 $(WIRE_PARSERS)

SOAK_N ?= 1000000

.PHONY: soak-server
soak-server: ## SOAK_N requests of good, wrong, slow and vanishing clients to a model server: no fault, no leak
	@SOAK_REQUESTS=$(SOAK_N) go test -count=1 -timeout 0 -run '^TestSoak$$' -v ./pkg/data/serve

.PHONY: bench
bench: ## Benchmarks beside the code, then servers against a bare handler in one run
	@go test -run '^$$' -bench . -benchmem ./pkg/data/... ./pkg/storage/...
	@go run ./bench

.PHONY: bench-server
bench-server: ## The model server against bare servers, and against KServe's Python server where make bench-python has installed it: a table of targets
	@go run ./bench

.PHONY: bench-python
bench-python: ## Install KServe's Python server, for bench-server, into .venv/bench
	@[ -x .venv/bench/bin/python ] || python3 -m venv .venv/bench
	@.venv/bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r test/clients/requirements.txt -r bench/python/requirements.txt

BENCH_N ?= 500

.PHONY: bench-cluster
bench-cluster: images cluster-binary ## From `kserve local up` to the first prediction and the memory held; BENCH_N InferenceServices: processor time, API requests, memory. Results are kept in bin/bench-*.json
	@go run ./bench/cluster -json $(BIN)/bench-cluster.json
	@$(WITH_CLUSTER_BINARY) go run ./bench/converge -n $(BENCH_N) -json $(BIN)/bench-converge.json

CONTROL_N ?= 1000

.PHONY: bench-control
bench-control: cluster-binary ## What the control plane costs: benchmarks beside the code, then CONTROL_N InferenceServices of mixed shapes and of one. Results are kept in bin/bench-control-*.json
	@mkdir -p $(BIN)
	@go test -run '^$$' -bench . -benchmem ./pkg/control/... > $(BIN)/bench-control.txt || { cat $(BIN)/bench-control.txt; exit 1; }
	@grep '^Benchmark' $(BIN)/bench-control.txt
	@$(WITH_CLUSTER_BINARY) for s in mixed single; do go run ./bench/converge -n $(CONTROL_N) -shape $$s -json $(BIN)/bench-control-$$s.json || exit 1; done
	@echo && go run ./bench/converge -summary $(BIN)/bench-control.txt $(BIN)/bench-control-single.json $(BIN)/bench-control-mixed.json

##@ Change it

.PHONY: generate
generate: rbac ## Regenerate deepcopy, CRDs, roles and protobuf code
	@cd pkg/apis && $(TOOL) controller-gen object:headerFile=serving/boilerplate.go.txt paths=./serving/...
	@cd pkg/apis && $(TOOL) controller-gen crd:generateEmbeddedObjectMeta=true paths=./serving/... output:crd:dir=$(BIN)/crd
	@cd pkg/apis && go run ./internal/crdtrim $(BIN)/crd $(CURDIR)/deploy/crd
	@cd proto && $(TOOL) buf generate

# Whoever calls the API server says what the call needs in a +kubebuilder:rbac mark beside it. controller-gen does not see marks in the
# comments of functions, so that they are collected for it first.
CONTROLLER_CODE := $(wildcard $(addprefix pkg/control/,apply gather manager observe reconcile))
define role
	@mkdir -p $(BIN)/_marks/$(1)
	@{ echo 'package marks'; echo; grep -rh --include='*.go' '^// +kubebuilder:rbac:' $(2) | sort -u; } > $(BIN)/_marks/$(1)/marks.go
	@$(TOOL) controller-gen rbac:roleName=kserve-$(1)-role,fileName=$(3),headerFile=deploy/base/rbac/header.txt paths=./bin/_marks/$(1) output:rbac:dir=deploy/base/rbac
endef

.PHONY: rbac
rbac: ## Regenerate the roles of controller and webhook
	$(call role,manager,$(CONTROLLER_CODE),controller-role.yaml)
	$(call role,webhook,pkg/control/admit,webhook-role.yaml)

# The linter loads packages in the workspace, where `go tool -modfile` may not run: it is built first.
$(BIN)/golangci-lint: tools/go.mod tools/go.sum
	@cd tools && GOWORK=off go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format all Go code
	@for m in $(MODULES); do (cd $$m && $< fmt --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters of .golangci.yml and buf over every module
	@for m in $(MODULES); do echo "lint $$m" && (cd $$m && $< run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...); done
	@cd proto && $(TOOL) buf lint

.PHONY: tidy
tidy: ## Tidy every module
	@for m in $(MODULES); do (cd $$m && go mod tidy); done
	@go work sync

.PHONY: verify
verify: generate tidy fmt lint ## generate, tidy, format, lint, then fail on any difference
	@git diff --exit-code --stat || { echo 'verify: the tree differs after generate, tidy and fmt: commit the changes above'; exit 1; }
	@test -z "$$(git status --porcelain)" || { git status --short; echo 'verify: untracked files appeared: commit or ignore them'; exit 1; }
	@echo 'verify: clean'

.PHONY: clean
clean: ## Remove what the other targets made
	@rm -rf $(BIN) .cache .venv
