//! `go test`, `go vet`, `go build`, `gofmt` and `golangci-lint` (CODE-20).

use super::{Check, Judgement, counts, hollow, is_local, with_option};

/// Flags of `go` that take a value; every other one is a switch.
const VALUED: &[&str] = &[
    "C",
    "p",
    "asmflags",
    "bench",
    "benchtime",
    "blockprofile",
    "blockprofilerate",
    "buildmode",
    "compiler",
    "count",
    "covermode",
    "coverpkg",
    "coverprofile",
    "cpu",
    "cpuprofile",
    "exec",
    "fuzz",
    "fuzzminimizetime",
    "fuzztime",
    "gccgoflags",
    "gcflags",
    "installsuffix",
    "ldflags",
    "list",
    "memprofile",
    "memprofilerate",
    "mod",
    "modfile",
    "mutexprofile",
    "mutexprofilefraction",
    "o",
    "outputdir",
    "overlay",
    "parallel",
    "pgo",
    "pkgdir",
    "run",
    "shuffle",
    "skip",
    "tags",
    "timeout",
    "toolexec",
    "trace",
    "vet",
    "vettool",
];

/// `go …`
pub fn judge(arguments: &[String]) -> Judgement {
    let mut rest = arguments;
    // -C must come first.
    if let Some(first) = rest.first().map(|word| word.trim_start_matches('-'))
        && arguments.first().is_some_and(|word| word.starts_with('-'))
    {
        let folder = match first.split_once('=') {
            Some(("C", folder)) => Some((folder, 1)),
            None if first == "C" => rest.get(1).map(|folder| (folder.as_str(), 2)),
            _ => None,
        };
        let Some((folder, words)) = folder else { return Judgement::NoCheck };
        if !is_local(folder) {
            return hollow("it runs in another folder: give it as `path`");
        }
        rest = rest.get(words..).unwrap_or_default();
    }
    let Some((command, rest)) = rest.split_first() else { return Judgement::NoCheck };
    if !["test", "vet", "build"].contains(&command.as_str()) {
        return Judgement::NoCheck;
    }
    if let Some(why) = flaw(command, rest) {
        return Judgement::Hollow(why);
    }
    counts(format!("go {command}"))
}

/// Why `go test`, `vet` or `build` with these arguments checks nothing.
pub fn flaw(command: &str, arguments: &[String]) -> Option<String> {
    let mut rest = arguments;
    let mut is_own = true; // arguments of go, not of the test program
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let Some(flag) = word.strip_prefix('-') else {
            if is_own && !is_package_here(word) {
                return Some(format!(
                    "{word} may lie outside the clone: name packages by path, such as ./..."
                ));
            }
            continue;
        };
        let flag = flag.strip_prefix('-').unwrap_or(flag);
        let (name, glued) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        if name == "args" {
            is_own = false;
            continue;
        }
        // -test.run is -run, also behind -args.
        let name = name.strip_prefix("test.").unwrap_or(name);
        let value = glued.or_else(|| {
            let (value, left) = VALUED.contains(&name).then(|| after.split_first())??;
            rest = left;
            Some(value.as_str())
        });
        if is_flaw(command, name, value) {
            return Some(format!("with -{name}, go {command} checks nothing: leave it out"));
        }
    }
    None
}

fn is_flaw(command: &str, name: &str, value: Option<&str>) -> bool {
    let is_on = value != Some("false");
    match name {
        "h" | "help" | "n" | "V" | "flags" => is_on,
        "list" | "exec" | "toolexec" | "overlay" | "vettool" => true,
        "C" => !value.is_some_and(is_local),
        // Built and not run.
        "c" => command == "test" && is_on,
        // Reports and exits with 0.
        "json" => command == "vet" && is_on,
        "count" => value.is_some_and(|times| times.trim_start_matches('0').is_empty()),
        "run" => value.is_some_and(|pattern| ["^$", "$^", "^\\b$", "^NONE$"].contains(&pattern)),
        "skip" => value.is_some_and(|pattern| {
            ["", ".", ".*", "^", "^.*", "^.*$", "Test", "^Test"].contains(&pattern)
        }),
        _ => false,
    }
}

/// Whether a package is named so that it must be one of the clone's.
fn is_package_here(package: &str) -> bool {
    let is_path = package == "."
        || package == ".."
        || package.starts_with("./")
        || package.starts_with("../")
        || (package.strip_suffix(".go").is_some() && is_local(package));
    is_path || ["...", "all"].contains(&package)
}

/// `gofmt`: without `-l` or `-d` it prints, and exits with 0 whatever it found.
pub fn format(arguments: &[String]) -> Judgement {
    let mut shows = false;
    let mut files = 0;
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let Some(flag) = word.strip_prefix('-').filter(|flag| !flag.is_empty()) else {
            if !is_local(word) {
                return hollow_format();
            }
            files += 1;
            continue;
        };
        let flag = flag.strip_prefix('-').unwrap_or(flag);
        match flag {
            "l" | "l=true" | "d" | "d=true" => shows = true,
            "r" | "cpuprofile" => rest = rest.get(1..).unwrap_or_default(),
            "h" | "help" => return with_option("gofmt", word),
            _ => {}
        }
    }
    if !shows || files == 0 {
        return hollow_format();
    }
    Judgement::Counts(Check { kind: "gofmt".to_owned(), quiet: true })
}

fn hollow_format() -> Judgement {
    hollow(
        "gofmt counts with -l or -d and files or folders of the clone, when it then says nothing",
    )
}

/// Options of `golangci-lint` that take a value.
const LINT_VALUED: &[&str] = &[
    "-c",
    "--config",
    "--color",
    "--timeout",
    "-E",
    "--enable",
    "-D",
    "--disable",
    "--enable-only",
    "--default",
    "-j",
    "--concurrency",
    "--build-tags",
    "--modules-download-mode",
    "--max-issues-per-linter",
    "--max-same-issues",
    "--new-from-rev",
    "--new-from-patch",
    "--new-from-merge-base",
    "--path-prefix",
    "--path-mode",
    "--issues-exit-code",
    "--exclude",
    "--skip-dirs",
    "--skip-files",
    "--go",
    "--out-format",
    "--cpu-profile-path",
    "--mem-profile-path",
    "--trace-path",
    "-p",
    "--presets",
];

/// `golangci-lint run`
pub fn lint(arguments: &[String]) -> Judgement {
    let mut command = None;
    let mut flaw = None;
    let (mut all_off, mut some_on) = (false, false);
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if !word.starts_with('-') {
            command = command.or(Some(word.as_str()));
            continue;
        }
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let value = glued.or_else(|| {
            let (value, left) = LINT_VALUED.contains(&name).then(|| after.split_first())??;
            rest = left;
            Some(value.as_str())
        });
        match name {
            "-h" | "--help" | "--version" => flaw = Some(name),
            "--issues-exit-code"
                if value.is_none_or(|code| code.trim_start_matches('0').is_empty()) =>
            {
                flaw = Some(name);
            }
            "--disable-all" => all_off = true,
            "--default" if value == Some("none") => all_off = true,
            "-E" | "--enable" | "--enable-only" | "-p" | "--presets" => some_on = true,
            _ => {}
        }
    }
    if command != Some("run") {
        return Judgement::NoCheck;
    }
    if all_off && !some_on {
        flaw = Some("all linters off");
    }
    match flaw {
        Some(option) => with_option("golangci-lint", option),
        None => counts("golangci-lint"),
    }
}
