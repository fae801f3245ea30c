.PHONY: all agents browser check lint fuzz soak bench microbench update pictures build demo release release-check
FUZZTIME ?= 10m
PEERS ?= $(or $(TMPDIR),/tmp)/tercet-peers

all: check
build: ; CGO_ENABLED=0 go build -trimpath -tags=nethttpomithttp2 -ldflags=-s -o tercet ./cmd/tercet
release: ; sh scripts/release.sh
release-check: ; sh scripts/release/check.sh
demo: ; go run ./cmd/tercet demo
check: ; gofmt -l -s . | (! grep .) && go vet ./... && go test -race -shuffle=on ./... && TEST_DEEP=1 go test -vet=off -timeout 60m ./...
lint: ; sh scripts/sentences.sh && GOOS=windows go vet ./cmd/tercet && GOOS=darwin go vet ./cmd/tercet && golangci-lint run ./... && golangci-lint fmt --diff && cd engine/nats && go mod tidy -diff && golangci-lint run ./...
agents: ; sh scripts/agents.sh $(AGENTS)
browser: ; sh scripts/browser.sh
fuzz: ; sh scripts/fuzz.sh $(FUZZTIME)
soak: ; sh scripts/soak.sh $(GOAL)
bench: ; sh internal/bench/peers.sh $(PEERS) && go test ./internal/bench -run '^TestGoals$$' -timeout 60m -count 1 -v -goals -peers $(PEERS) -into ../../docs/performance.md
microbench: ; go test -run '^$$' -bench . -benchmem -count 6 ./... | tee bench.out
update: ; TEST_DEEP=1 go test ./... -update && git diff --stat
pictures: ; mkdir -p docs/pictures && go test ./cmd/tercet -run '^TestScreens$$/^80$$' -count 1 -args -pictures $(CURDIR)/docs/pictures
	dir=$$(mktemp -d) && sh scripts/browser.sh -pictures "$$dir" && for page in run question; do \
		cp "$$dir/page-$$page-1440-light.png" docs/pictures/page-$$page.png; done && rm -r "$$dir"
