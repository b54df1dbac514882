# The commands of this repository. `make` alone lists them.

GO   ?= go
# The linters have a module file of their own, so that what they need is not what we need. Go builds
# them once.
LINT := $(GO) tool -modfile=golangci-lint.mod golangci-lint
LINT_PATH := $(GO) tool -n -modfile=golangci-lint.mod golangci-lint

# Chromium's sandbox does not work for root. Our own pages are trusted, so root
# tests them without. The binary itself never decides this.
ifeq ($(shell id -u),0)
export PAGETOOLS_NO_SANDBOX := 1
SANDBOX := echo "Running as root: PAGETOOLS_NO_SANDBOX=1, for the pages of this repository only."
else
SANDBOX := :
endif

.PHONY: help
help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1: \2/p' Makefile

.PHONY: demo
demo: ## build, serve the stamp collection, call it as an agent would, stop
	@$(SANDBOX)
	@browser="$${PAGETOOLS_EXECUTABLE_PATH:-$$(scripts/headless-shell.sh)}" && browser="$${browser:-$$(scripts/browser.sh)}" && \
		[ -n "$$browser" ] && $(MAKE) --no-print-directory build && \
		PAGETOOLS_EXECUTABLE_PATH="$$browser" $(GO) run ./scripts/demo bin/pagetools

.PHONY: check
check: ## run the tests that need no browser, with the race detector
	@scripts/test.sh check

.PHONY: test
test: ## run what must hold after each change; make nightly has the longest tests
	@$(SANDBOX)
	@scripts/test.sh all

# What make test leaves to .ci/run. A test holds this to the tests and scripts.
LANDING := TestBlocks$$|TestCardInAChat|TestHandsOnTheCard|TestFirstGuide|TestFirstMinute|TestSecondGuide|TestTodayInEachPhase|TestWeather|TestScenarios$$|TestSubsetsTakeTheTestSuite|TestSignInBy|TestScripts/^(demo|doctor|examples|kinds|native|pages|profiles|recipes)$$

.PHONY: landing
landing: ## do what documents tell people to type, run the examples' tests, commands with browsers of their own, and processes that are killed
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" \
		PAGETOOLS_SCHEMAS="$$(scripts/schemas.sh)" PAGETOOLS_NIGHTLY=1 $(GO) test ./bridge/schema ./e2e/suite/serve ./e2e/suite/mcp ./examples ./examples/recipes -p 1 -count=1 -timeout 20m -run '$(LANDING)'
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" \
		$(GO) test ./e2e/suite/life -count=1 -timeout 20m

.PHONY: nightly
nightly: ## run what takes hours: cross, stress, race, chaos, faults, soak, consent, mutations, clients, wine, fuzz, corpus, release; PARTS="stress race" for some
	@scripts/nightly.sh $(PARTS)

.PHONY: stress
stress: ## run every test three times; ROUNDS=10
	@$(SANDBOX)
	@for run in $$(seq $(or $(ROUNDS),3)); do echo "== round $$run"; PAGETOOLS_NIGHTLY=1 scripts/test.sh all -count=1 || exit 1; done

.PHONY: race
race: ## run every test against a pagetools that is built with the race detector
	@$(SANDBOX)
	@PAGETOOLS_NIGHTLY=1 RACE_BINARY=1 scripts/test.sh all -count=1

.PHONY: consent
consent: ## play 10,000 random interleavings of consent, and 200 in a browser
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" $(GO) test ./e2e/app -count=1 -timeout 60m \
		-run TestNothingRunsUnagreed -interleavings 10000 -browser-interleavings 200

.PHONY: fuzz
fuzz: ## fuzz each decoder of strangers' input; FUZZTIME=60s
	@scripts/fuzz.sh

# What make test leaves to a whole browser, and to its own WebMCP. A test holds this to the tests.
WHOLE := TestContract|TestChallenged|TestNative|TestDevices|TestKinds|TestWindowBombs|TestRequestVectors|Killed|TestServiceWorkers|OfAProfile|OperatorsProfile|OfAPerson|TestIdleBrowser|TestReattach

.PHONY: contract
contract: ## hold the engine to its contract in a whole browser; make test does it in the headless shell
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_HEADLESS_SHELL= GORACE=atexit_sleep_ms=0 \
		$(GO) test -race ./session/cdp -count=1 -timeout 20m -whole -run '$(WHOLE)'

.PHONY: chaos
chaos: ## break browsers, pages and clients under load, and look what ran; DURATION=30m, and the SEED of a run
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" \
		PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" $(GO) test ./e2e/suite/life -count=1 -v -timeout 0 \
		-run 'TestChaos$$|TestLedgerSees' -chaos $(or $(DURATION),30m) -chaos-seed $(or $(SEED),0)

.PHONY: faults
faults: ## break nodes of a cluster, their network and their engine under load, and look what ran; FAULTS=200, and the SEED of a run
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" \
		PAGETOOLS_NATS_SERVERS="$$(scripts/nats.sh)" $(GO) test ./e2e/suite/cluster -count=1 -v -timeout 0 \
		-run 'TestFaults' -faults $(or $(FAULTS),200) -faults-seed $(or $(SEED),0)

.PHONY: soak
soak: ## call steadily, and look what grows; DURATION=1h
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" \
		PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" $(GO) test ./e2e/suite/life -count=1 -v -timeout 0 \
		-run TestSoak -soak $(or $(DURATION),1h)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" \
		PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" $(GO) test ./session/cdp -count=1 -timeout 0 \
		-run TestIdleBrowser -whole -idle $(or $(IDLE),1m)

.PHONY: mutations
mutations: ## undo each finding's fix in a copy, and see its test fail
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_NATS_SERVERS="$$(scripts/nats.sh)" \
		PAGETOOLS_POSTGRES="$$(scripts/postgres.sh)" $(GO) run ./scripts/mutate docs/internal/*.md

.PHONY: screens
screens: ## make the pictures of the operators' page anew, in docs/console
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_NIGHTLY=1 PAGETOOLS_EXECUTABLE_PATH="$$browser" $(GO) test ./e2e/suite/serve -count=1 -run 'TestInbox|TestSites|OnThePage|OnNarrowScreens|TestScreensInThemes|TestStatesInThemes|TestAnswerWithChanges|TestSessionsByKeyboard|TestAnywhere' -screens

.PHONY: picture
picture: ## make the picture of the README anew, of a session as it is today
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" $(GO) test ./e2e/suite/serve -count=1 -run "TestPicture|TestFirstMinute" -picture

.PHONY: bench
bench: ## measure; see docs/performance.md
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_NATS_SERVERS="$$(scripts/nats.sh)" $(GO) run ./e2e/suite/bench

.PHONY: bench-peers
bench-peers: ## measure ours beside what npm has, and draw docs/peers/*.svg; see docs/performance.md
	@$(SANDBOX)
	@scripts/bench-peers.sh

.PHONY: clients clients-short
clients: ## run our cases in the browser's own WebMCP, and MCP's clients and suite against pages
	@$(SANDBOX)
	@scripts/clients.sh all
clients-short: ## the same in two minutes, where npm's packages can be had
	@$(SANDBOX)
	@scripts/clients.sh short

.PHONY: corpus
corpus: ## read OpenAPI documents of others, and hold requests to them; DOCUMENTS=FOLDER, see docs/opentools.md
	@[ -d "$(DOCUMENTS)" ] || { echo "make corpus DOCUMENTS=FOLDER: the folder has the documents, as docs/opentools.md says"; exit 2; }
	$(GO) run ./e2e/suite/corpus -notes "$(DOCUMENTS)"
	PAGETOOLS_CORPUS="$(abspath $(DOCUMENTS))" $(GO) test ./bridge/opentools -run TestCorpusFits -count=1 -v

.PHONY: build
build: ## build bin/pagetools
	$(GO) build -o bin/pagetools ./cmd/pagetools

# The tool that makes releases is a module of its own.
RELEASE := $(GO) -C scripts/release run .
HERE     = $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)

.PHONY: release
release: ## build everything of a release in dist; VERSION=1.2.3, and PLATFORMS=linux/amd64,… for some
	@$(RELEASE) build -version "$(VERSION)" $(if $(PLATFORMS),-platforms "$(PLATFORMS)")

.PHONY: cut
cut: ## make what is unreleased in CHANGELOG.md the section of VERSION, as a commit
	@$(RELEASE) cut "$(VERSION)"

.PHONY: release-check release-short
release-check: ## build a release twice and compare the bytes, validate it, and install each package in an empty place
	@$(SANDBOX)
	@PAGETOOLS_EXECUTABLE_PATH="$$(scripts/browser.sh)" && export PAGETOOLS_EXECUTABLE_PATH && \
		$(RELEASE) check $(if $(PLATFORMS),-platforms "$(PLATFORMS)") && \
		PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" $(GO) -C scripts/release test . -count=1 -timeout 40m -v \
			-run '$(INSTALLED)' -dist ../../bin/release -chroots
release-short: ## build it once for this system, and install what needs no system of its own; the size counts, too
	@$(SANDBOX)
	@PAGETOOLS_EXECUTABLE_PATH="$$(scripts/browser.sh)" && export PAGETOOLS_EXECUTABLE_PATH && \
		$(RELEASE) check -once -platforms "linux/amd64,$(HERE)" && \
		PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" $(GO) -C scripts/release test . -count=1 -timeout 20m \
			-dist ../../bin/release
INSTALLED := TestSize|TestChecksums|TestArchive|TestBundle|TestNPM|TestSDK|TestRPM|TestContainerfile|TestImageRuns

.PHONY: cross
cross: ## vet and build everything, tests included, for all six platforms; PLATFORMS="windows/amd64" for some
	@scripts/cross.sh $(PLATFORMS)

.PHONY: wine
wine: ## run pagetools for Windows in wine, against a browser of this machine; skips where there is no wine
	@$(SANDBOX)
	@browser="$$(scripts/browser.sh)" && PAGETOOLS_EXECUTABLE_PATH="$$browser" PAGETOOLS_HEADLESS_SHELL="$$(scripts/headless-shell.sh)" \
		$(GO) run ./scripts/wine

.PHONY: generate
generate: ## rebuild what is committed but generated
	$(GO) generate ./...

.PHONY: lint
lint: ## check the format and run the linters
	@unformatted="$$(gofmt -l .)"; if [ -n "$$unformatted" ]; then echo "gofmt -w is needed for:" $$unformatted; exit 1; fi
	$(LINT) run
	@lint="$$($(LINT_PATH))" && cd scripts/release && "$$lint" run --config ../../.golangci.yml

.PHONY: vuln
vuln: ## look for known vulnerabilities in what we use
	@scripts/vuln.sh
