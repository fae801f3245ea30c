.PHONY: all check lint fuzz soak bench update build demo
FUZZTIME ?= 10m

all: check
build: ; go build -trimpath -ldflags=-s -o tercet ./cmd/tercet
demo: ; go run ./cmd/tercet demo
check: ; gofmt -l -s . | (! grep .) && go vet ./... && go test -race -shuffle=on ./...
lint: ; golangci-lint run ./... && golangci-lint fmt --diff
fuzz: ; sh ./fuzz.sh $(FUZZTIME)
soak: ; go test ./state/crash -timeout 60m -v -args -full
bench: ; go test -run '^$$' -bench . -benchmem -count 6 ./... | tee bench.out
update: ; go test ./... -update && git diff --stat
