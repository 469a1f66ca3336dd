# `make` alone prints what there is to make. `make build`, `make demo` and `make run` need nothing but Go.
.DEFAULT_GOAL := help
.PHONY: help build generate demo run test test-race test-short escapes fuzz test-agents test-mcp test-client test-console chaos-short chaos bench bench-short lint fmt clean

TOOL := go tool -modfile=tools.mod

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Without cgo the binary needs no C compiler here and no C library there; stripped it is a third smaller. The scripts build what they
# run in the same way, since Go compiles all dependencies anew for other flags.
BIN ?= bin/signoff
build: ## Build bin/signoff, or BIN=another/path
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o $(BIN) ./cmd/server

demo: build ## Build and run the demo: a scripted agent and its first approval; no model, no key
	bin/signoff demo

run: build ## Build and run the server
	bin/signoff serve

generate: ## Generate the types of the contract from api/openapi.yaml
	go generate ./api

test: ## Lint, and run every test under the race detector; prints how many ran
	@scripts/test.sh

test-race: ## The same with the programs that tests start under the race detector, too
	@scripts/test.sh --race

test-short: ## Run the quick tests only, without lint and the race detector
	@scripts/test.sh --short

escapes: ## Try to break out of the sandbox in each kind of environment; prints how many ways were tried
	@scripts/escapes.sh

fuzz: ## Run each fuzz target beyond its seeds; prints how many ran
	@scripts/fuzz.sh

test-agents: ## Drive real agents through the server (needs npm; installs two gigabytes once)
	@scripts/test-agents.sh

test-mcp: ## Drive MCP servers through the server: the conformance kit, servers from npm, a hostile one, kills (needs npm)
	@scripts/test-mcp.sh

test-client: ## Test the TypeScript client against the real server, and the vendors' SDKs against our mocks (needs npm)
	@scripts/test-client.sh

test-console: ## Drive the console in a real Chromium against the real server (needs npm and chromium)
	@scripts/test-console.sh

chaos-short: ## Kill, pause and starve real servers for some minutes, and check that nothing is lost or doubled
	@scripts/chaos.sh -form short

MINUTES ?= 30
chaos: ## The same for MINUTES=30, going on where the last campaign on this commit ended
	@scripts/chaos.sh -form long -minutes $(MINUTES)

bench: ## Measure against the floors and print the table; goes on where it was interrupted
	@scripts/bench.sh

bench-short: ## The same in three minutes, to see a fall by half
	@scripts/bench.sh -short

lint: ## Run the linters of .golangci.yml
	$(TOOL) golangci-lint run

fmt: ## Format all Go code
	$(TOOL) golangci-lint fmt

clean: ## Remove what was built
	rm -rf bin coverage.out clients/typescript/dist clients/typescript/build clients/typescript/src/schema.ts test/console/shots
