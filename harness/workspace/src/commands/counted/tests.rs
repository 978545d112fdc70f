use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn judged(command: &str) -> Judgement {
    let words: Vec<String> =
        command.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
    judge(&words)
}

fn kind(command: &str) -> Option<String> {
    match judged(command) {
        Judgement::Counts(check) => Some(check.kind),
        Judgement::Hollow(_) | Judgement::NoCheck => None,
    }
}

/// CODE-20
#[rstest]
#[case("go test", "go test")]
#[case("go test ./...", "go test")]
#[case("go test -run TestX -count=1 -v ./pkg", "go test")]
#[case("go test -race -timeout 30s -coverprofile c.out ./...", "go test")]
#[case("go test -C sub ./...", "go test")]
#[case("go -C sub test ./...", "go test")]
#[case("go test ./... -args -v", "go test")]
#[case("go test -bench . ./...", "go test")]
#[case("go test -run XXX_NONE ./...", "go test")]
#[case("go vet ./...", "go vet")]
#[case("go build ./...", "go build")]
#[case("go build -o /dev/null .", "go build")]
#[case("go build -tags integration main.go", "go build")]
#[case("gofmt -l .", "gofmt")]
#[case("gofmt -s -d main.go", "gofmt")]
#[case("golangci-lint run", "golangci-lint")]
#[case("golangci-lint run ./... --timeout 5m -E gosec", "golangci-lint")]
#[case("golangci-lint -c .golangci.yml run --default none -E govet", "golangci-lint")]
#[case("make test", "make test")]
#[case("make lint", "make lint")]
#[case("make lint-new", "make lint-new")]
#[case("make check", "make check")]
#[case("make check-static", "make check-static")]
#[case("make -j4 -s build test", "make test")]
#[case("make -j 4 --keep-going lint test", "make lint test")]
#[case("make -C sub -f build/Makefile test", "make test")]
fn go_and_make_count(#[case] command: &str, #[case] wanted: &str) {
    assert_eq!(kind(command).as_deref(), Some(wanted));
}

/// CODE-21
#[rstest]
#[case("npm test", "npm test")]
#[case("npm t", "npm test")]
#[case("npm run lint", "npm lint")]
#[case("npm run check", "npm check")]
#[case("npm run verify", "npm verify")]
#[case("npm run typecheck", "npm typecheck")]
#[case("npm run-script build", "npm build")]
#[case("npm --prefix web -s test", "npm test")]
#[case("npm run test -w api -- --grep x", "npm test")]
#[case("pnpm test", "pnpm test")]
#[case("pnpm lint", "pnpm lint")]
#[case("pnpm run typecheck", "pnpm typecheck")]
#[case("pnpm -r --filter web build", "pnpm build")]
#[case("pnpm -w check", "pnpm check")]
#[case("yarn test", "yarn test")]
#[case("yarn run check", "yarn check")]
#[case("yarn workspace api lint", "yarn lint")]
#[case("yarn --cwd web build", "yarn build")]
#[case("npx tsc --noEmit", "tsc")]
#[case("npx -p typescript@5 tsc -p web", "tsc")]
#[case("npx eslint . --max-warnings 0", "eslint")]
#[case("npx eslint@9 src", "eslint")]
#[case("npx vitest run", "vitest")]
#[case("npx --yes jest src", "jest")]
#[case("npx playwright test", "playwright")]
#[case("node --test", "node --test")]
#[case("node --import tsx --test test/a.ts", "node --test")]
#[case("node --test --test-reporter spec test", "node --test")]
fn scripts_and_tools_of_packages_count(#[case] command: &str, #[case] wanted: &str) {
    assert_eq!(kind(command).as_deref(), Some(wanted));
}

/// CODE-22
#[rstest]
#[case("python -m pytest", "pytest")]
#[case("python3 -m pytest tests -k x -q", "pytest")]
#[case("python -X dev -W error -Bm pytest", "pytest")]
#[case("python3 -mpytest", "pytest")]
#[case("gradlew test", "gradle test")]
#[case("gradlew :app:lint --console plain", "gradle lint")]
#[case("gradlew clean check --continue", "gradle check")]
#[case("gradlew build -x test", "gradle build")]
#[case("gradlew ktlint", "gradle ktlint")]
#[case("gradle -p deepsky test --tests a.B", "gradle test")]
#[case("ktlint", "ktlint")]
#[case("ktlint src/**/*.kt", "ktlint")]
fn python_and_the_jvm_count(#[case] command: &str, #[case] wanted: &str) {
    assert_eq!(kind(command).as_deref(), Some(wanted));
}

/// CODE-20, CODE-21, CODE-22
#[rstest]
#[case("env CGO_ENABLED=0 go test ./...", "go test")]
#[case("env -u X CI=1 npx tsc", "tsc")]
#[case("env GOFLAGS=-mod=mod go test", "go test")]
#[case("time -p make test", "make test")]
#[case("corepack pnpm test", "pnpm test")]
#[case("corepack pnpm@9.1.0 run lint", "pnpm lint")]
#[case("corepack yarn test", "yarn test")]
#[case("pnpm exec eslint .", "eslint")]
#[case("npm exec -- tsc --noEmit", "tsc")]
#[case("pnpm dlx vitest run", "vitest")]
#[case("go tool golangci-lint run", "golangci-lint")]
#[case("env A=b time corepack pnpm exec jest", "jest")]
fn a_check_counts_through_programs_that_run_it(#[case] command: &str, #[case] wanted: &str) {
    assert_eq!(kind(command).as_deref(), Some(wanted));
}

/// CODE-18, CODE-20
#[rstest]
#[case("go test -h")]
#[case("go test --help")]
#[case("go vet -h")]
#[case("go vet -json ./...")]
#[case("go vet -vettool=/bin/true ./...")]
#[case("go test -n ./...")]
#[case("go build -n ./...")]
#[case("go build -toolexec /bin/true ./...")]
#[case("go build -overlay o.json ./...")]
#[case("go test -exec true ./...")]
#[case("go test -list . ./...")]
#[case("go test -c ./pkg")]
#[case("go test -count=0 ./...")]
#[case("go test -count 0 ./...")]
#[case("go test -run '^$' ./...")]
#[case("go test ./... -args -test.run=^$")]
#[case("go test -skip . ./...")]
#[case("go test fmt")]
#[case("go build std")]
#[case("go vet example.com/other/...")]
#[case("go test /tmp/x.go")]
#[case("go -C /tmp/x test")]
#[case("go test -C ../other ./...")]
#[case("gofmt .")]
#[case("gofmt -w .")]
#[case("gofmt -l")]
#[case("gofmt -l /tmp/x.go")]
#[case("golangci-lint run --issues-exit-code=0")]
#[case("golangci-lint run --issues-exit-code 0")]
#[case("golangci-lint run --default=none")]
#[case("golangci-lint run --help")]
#[case("make -n test")]
#[case("make -kn test")]
#[case("make --dry-run test")]
#[case("make --just-print test")]
#[case("make -i test")]
#[case("make --ignore-errors test")]
#[case("make -t test")]
#[case("make -q test")]
#[case("make -h test")]
#[case("make -p test")]
#[case("make -f /tmp/Makefile test")]
#[case("make -f - test")]
#[case("make -C / test")]
#[case("make --file=../Makefile test")]
#[case("make test GO=true")]
#[case("make --eval=test: test")]
#[case("make -e test")]
#[case("make -o test test")]
#[case("env GOFLAGS=-n go test")]
#[case("env MAKEFLAGS=n make test")]
#[case("env PATH=/tmp go test")]
#[case("env -C /tmp/x go test")]
fn go_and_make_do_not_count_where_they_cannot_fail(#[case] command: &str) {
    assert!(matches!(judged(command), Judgement::Hollow(_)), "{:?}", judged(command));
}

/// CODE-18, CODE-21, CODE-22
#[rstest]
#[case("npm test --if-present")]
#[case("npm run --if-present test")]
#[case("npm test --if-pres")]
#[case("npm test --script-shell=/bin/true")]
#[case("npm --script-shell /bin/true test")]
#[case("npm test -- --help")]
#[case("npm test -- --passWithNoTests")]
#[case("npm --prefix /tmp/x test")]
#[case("pnpm --if-present test")]
#[case("pnpm -C .. test")]
#[case("yarn -B test")]
#[case("npx tsc --version")]
#[case("npx tsc --init")]
#[case("npx tsc --showConfig")]
#[case("npx tsc --noCheck")]
#[case("npx -p other tsc")]
#[case("npx --unknown tsc")]
#[case("npm exec tsc --version")]
#[case("npx eslint --print-config a.js")]
#[case("npx eslint --no-error-on-unmatched-pattern x")]
#[case("npx vitest --passWithNoTests")]
#[case("npx jest --listTests")]
#[case("npx jest -o")]
#[case("npx playwright test --list")]
#[case("node --test -e 1")]
#[case("node --test --help")]
#[case("python -m pytest --collect-only")]
#[case("python -m pytest --co -q")]
#[case("python -m pytest -o addopts=--collect-only")]
#[case("python -m pytest --help")]
#[case("gradlew test --dry-run")]
#[case("gradlew -m test")]
#[case("gradlew test -x test")]
#[case("gradlew test --test-dry-run")]
#[case("gradlew --version test")]
#[case("gradlew -p /tmp/x test")]
#[case("gradlew -I init.gradle test")]
#[case("ktlint --help")]
#[case("env NODE_OPTIONS=--require=x npm test")]
#[case("env PYTEST_ADDOPTS=--co python -m pytest")]
#[case("env npm_config_if_present=true npm test")]
#[case("npx -c tsc")]
fn the_others_do_not_count_where_they_cannot_fail(#[case] command: &str) {
    assert!(matches!(judged(command), Judgement::Hollow(_)), "{:?}", judged(command));
}

/// CODE-18
#[rstest]
#[case("")]
#[case("ls")]
#[case("cat test")]
#[case("echo go test")]
#[case("git commit -m test")]
#[case("go")]
#[case("go run ./test")]
#[case("go generate ./...")]
#[case("go help test")]
#[case("go mod tidy")]
#[case("go tool vet")]
#[case("go tool gotestsum")]
#[case("golangci-lint")]
#[case("golangci-lint fmt")]
#[case("golangci-lint linters")]
#[case("make")]
#[case("make build")]
#[case("make testing")]
#[case("make install-lint")]
#[case("npm install")]
#[case("npm ci")]
#[case("npm run")]
#[case("npm run start")]
#[case("npm run test:unit")]
#[case("npm run dev -- test")]
#[case("npm lint")]
#[case("pnpm install test")]
#[case("pnpm add lint")]
#[case("yarn add test")]
#[case("yarn check")]
#[case("npx prettier --check .")]
#[case("npx")]
#[case("npx playwright install")]
#[case("npx playwright")]
#[case("npx vitest list")]
#[case("node test.js")]
#[case("node script.js --test")]
#[case("node -- --test")]
#[case("node --run test")]
#[case("python -m unittest")]
#[case("python -c pytest")]
#[case("python test.py -m pytest")]
#[case("pytest")]
#[case("gradlew tasks")]
#[case("gradlew help --task test")]
#[case("gradlew assemble")]
#[case("gradlew testClasses")]
#[case("java -jar ktlint.jar")]
#[case("env")]
#[case("time")]
#[case("env A=b ls")]
#[case("corepack enable")]
fn everything_else_is_no_check(#[case] command: &str) {
    assert_eq!(judged(command), Judgement::NoCheck);
}

/// CODE-20
#[test]
fn only_gofmt_must_say_nothing() {
    let quiet = |command| matches!(judged(command), Judgement::Counts(Check { quiet: true, .. }));
    assert!(quiet("gofmt -l .") && quiet("gofmt -d .") && !quiet("go test"));
}
