module github.com/kserve-go/kserve-go/test/e2e

go 1.26.0
