//! What an image must hold: commands to run in it, and the answers that are right.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::builder::Answer;

/// One question to an image.
pub struct Probe {
    /// What is asked, for a person.
    pub what: String,
    /// What is run in the image.
    pub command: Vec<String>,
    expected: Expected,
}

/// Which answer is right.
enum Expected {
    /// It exits with 0, and these words are in what it prints.
    Words(String),
    /// It cannot be run, or fails.
    Failure,
}

impl Probe {
    /// What is wrong with an answer, if anything is.
    pub fn fault(&self, answer: &Answer) -> Option<String> {
        let shown = answer.words.trim();
        match &self.expected {
            Expected::Words(words) if !answer.success => {
                Some(format!("failed, and {words:?} was expected: {shown}"))
            }
            Expected::Words(words) if !answer.words.contains(words.as_str()) => {
                Some(format!("{words:?} was expected: {shown}"))
            }
            Expected::Failure if answer.success => Some(format!("must not be there: {shown}")),
            Expected::Words(_) | Expected::Failure => None,
        }
    }
}

/// Pinned versions, as `images/coding/versions` has them.
pub struct Versions(BTreeMap<String, String>);

impl Versions {
    /// Reads `NAME=value` lines.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let pairs = lines.map(|line| {
            let (name, value) = line
                .split_once('=')
                .with_context(|| format!("images/coding/versions: {line:?} is no NAME=value"))?;
            Ok((name.to_owned(), value.to_owned()))
        });
        pairs.collect::<Result<_>>().map(Self)
    }

    fn of(&self, name: &str) -> &str {
        // A name that is missing is asked for and found nowhere.
        self.0.get(name).map_or("a pinned version", String::as_str)
    }
}

/// The questions to an image.
pub fn of(image: &str, versions: &Versions) -> Vec<Probe> {
    match image {
        "foundry-harness" => harness(),
        "foundry-harness-coding" => harness().into_iter().chain(coding(versions)).collect(),
        control => vec![
            says("it runs", &[&format!("/{control}"), "--help"], "Usage"),
            fails("a shell", &["/bin/sh", "-c", "true"]),
        ],
    }
}

/// WORK-02, WORK-04, WORK-07
fn harness() -> Vec<Probe> {
    vec![
        shell("Debian 13", "cat /etc/os-release", "VERSION_CODENAME=trixie"),
        shell("its user", "id -u", "65532"),
        shell("its program", "test -x /harness && echo there", "there"),
        shell("certificates", "test -s /etc/ssl/certs/ca-certificates.crt && echo there", "there"),
    ]
}

/// WORK-13, WORK-14
fn coding(versions: &Versions) -> Vec<Probe> {
    let of = |name| versions.of(name);
    let tool = |module: &str, name: &str, argument: &str| {
        format!(
            "cd \"$(mktemp -d)\" && export HOME=$PWD GOFLAGS=-modcacherw && go mod init probe \
             && go get -tool {module} && go tool {name} {argument}"
        )
    };
    vec![
        shell("Go", "go version", &format!("go{} ", of("GO"))),
        shell("Node", "node --version", &format!("v{}", of("NODE"))),
        shell("npm", "npm --version", of("NPM")),
        shell("pnpm", "cd /tmp && HOME=/tmp pnpm --version", of("PNPM_DEFAULT")),
        shell(
            "the other pnpm",
            &format!("cd /tmp && HOME=/tmp corepack pnpm@{} --version", of("PNPM_OTHER")),
            of("PNPM_OTHER"),
        ),
        shell(
            "a store of package managers that nobody can change",
            "! test -w \"$COREPACK_HOME\" && echo \"$COREPACK_HOME\"",
            "/opt/corepack",
        ),
        shell("Python", "python3 --version", "Python 3."),
        shell("make", "make --version", "GNU Make"),
        shell("gcc", "gcc --version", "gcc "),
        shell("git", "git --version", "git version"),
        shell("ssh", "ssh -V", "OpenSSH"),
        shell("jq", "jq --version", "jq-"),
        shell("ripgrep", "rg --version", "ripgrep"),
        shell("gopls", "HOME=/tmp gopls version", of("GOPLS")),
        shell(
            "golangci-lint",
            "HOME=/tmp golangci-lint version",
            of("GOLANGCI_LINT").trim_start_matches('v'),
        ),
        shell("JAVA_HOME", "echo \"$JAVA_HOME\"", "/usr/lib/jvm/default-java"),
        shell("Java", "\"$JAVA_HOME/bin/javac\" -version", "javac 21."),
        shell(
            "gotestsum as a tool of Go",
            &tool("gotest.tools/gotestsum@latest", "gotestsum", "--version"),
            "gotestsum",
        ),
        shell(
            "sqlc as a tool of Go",
            &tool("github.com/sqlc-dev/sqlc/cmd/sqlc@latest", "sqlc", "version"),
            "v1.",
        ),
        fails("the Azure CLI", &["/bin/sh", "-c", "command -v az"]),
    ]
}

fn shell(what: &str, script: &str, words: &str) -> Probe {
    says(what, &["/bin/sh", "-c", &format!("{{ {script}; }} 2>&1")], words)
}

fn says(what: &str, command: &[&str], words: &str) -> Probe {
    probe(what, command, Expected::Words(words.to_owned()))
}

fn fails(what: &str, command: &[&str]) -> Probe {
    probe(&format!("not {what}"), command, Expected::Failure)
}

fn probe(what: &str, command: &[&str], expected: Expected) -> Probe {
    let command = command.iter().map(ToString::to_string).collect();
    Probe { what: what.to_owned(), command, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> Versions {
        let file = crate::repository::root().join("images/coding/versions");
        Versions::parse(&std::fs::read_to_string(file).unwrap()).unwrap()
    }

    /// WORK-13: the versions that are pinned are the ones asked for, and each is looked for
    /// in the image.
    #[test]
    fn the_coding_image_pins_what_it_must_hold() {
        let versions = versions();
        for (name, version) in [
            ("GO", "1.26."),
            ("NODE", "26.5.1"),
            ("PNPM_OTHER", "11.0.8"),
            ("PNPM_DEFAULT", "11.1.3"),
            ("GOPLS", "v0.22.0"),
            ("GOLANGCI_LINT", "v2.13.2"),
        ] {
            let pinned = versions.of(name);
            assert!(pinned.starts_with(version), "{name}={pinned}");
            let bare = version.trim_start_matches('v');
            let is_looked_for = of("foundry-harness-coding", &versions).iter().any(
                |probe| matches!(&probe.expected, Expected::Words(words) if words.contains(bare)),
            );
            assert!(is_looked_for, "{name}");
        }
    }

    #[test]
    fn an_answer_is_right_by_its_words_and_its_end() {
        let answer = |success, words: &str| Answer { success, words: words.to_owned() };
        let go = shell("Go", "go version", "go1.26.8 ");
        assert_eq!(go.fault(&answer(true, "go version go1.26.8 linux/amd64")), None);
        assert!(go.fault(&answer(true, "go version go1.25.1 linux/amd64")).is_some());
        assert!(go.fault(&answer(false, "go1.26.8 ")).is_some());
        let azure = fails("the Azure CLI", &["az"]);
        assert_eq!(azure.fault(&answer(false, "")), None);
        assert!(azure.fault(&answer(true, "/usr/bin/az")).is_some());
    }

    #[test]
    fn a_line_that_pins_nothing_is_refused() {
        assert!(Versions::parse("# words\n\nGO=1.26.8\n").is_ok());
        let error = Versions::parse("GO 1.26.8").err().unwrap().to_string();
        assert!(error.contains("\"GO 1.26.8\" is no NAME=value"), "{error}");
    }
}
