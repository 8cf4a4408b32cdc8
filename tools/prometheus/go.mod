// Prometheus for make test-prometheus, without what discovers targets in clouds (build tag remove_all_sd).
module github.com/kserve-go/kserve-go/tools/prometheus

go 1.26.7

require github.com/prometheus/prometheus v0.316.0 // indirect
