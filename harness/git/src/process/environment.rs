//! What children get to see of this process's environment: an allow-list, and nothing
//! that looks like a secret.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// The part of this process's environment that children may see.
///
/// What passes: where programs and homes are (`PATH HOME USER LOGNAME SHELL TMPDIR XDG_*`),
/// locale and time zone (`LANG LANGUAGE LC_* TZ TERM`), proxies and certificates
/// (`HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY` in both cases, `SSL_CERT_*`,
/// `CURL_CA_BUNDLE REQUESTS_CA_BUNDLE`), and the settings of tool chains: Go's own
/// variables (`GOCACHE GOFLAGS GOMODCACHE GOPROXY GOTOOLCHAIN GOMAXPROCS GOMEMLIMIT …`,
/// `CGO_*`, `GOLANGCI_*`), `NODE_*`, `NPM_CONFIG_*`, `COREPACK_*`, `PNPM_*`, `YARN_*`,
/// `PIP_*`, `PYTHON*`, `UV_*`, `VIRTUAL_ENV`, `JAVA_*`, `GRADLE_*`, `MAVEN_*`, `CARGO_*`,
/// `RUST*`, `CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH`, `CI`.
///
/// What never does, on any list or among additions: `FOUNDRY_*`, and every name with
/// a part such as `TOKEN`, `SECRET`, `PASSWORD`, `CREDENTIALS`, `AUTH` or `KEY`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    own: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Keeps what may pass of `variables`, which are those of this process
    /// (`std::env::vars_os()`).
    pub fn allowed(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut kept = Self::default();
        for (name, value) in variables {
            if is_allowed(&name) {
                kept.variables.insert(name, value);
            } else if name.to_str().is_some_and(|name| OWN.contains(&name)) {
                kept.own.insert(name, value);
            }
        }
        kept
    }

    /// The same with another variable. A name that must never pass is left out.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        if !is_secret(&name) {
            self.variables.insert(name, value.into());
        }
        self
    }

    /// Every variable, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The value of one variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// What a person's own git needs to reach their remote, and no command of a model.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.own.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Names alone: a proxy's URL may hold a password.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variables, own } = self;
        f.debug_set().entries(variables.keys()).entries(own.keys()).finish()
    }
}

/// For our own calls of a person's git alone.
const OWN: &[&str] = &["SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND"];

const NAMES: &[&str] = &[
    // Where things are.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    // Locale and time.
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    // The network's way out.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "ftp_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    // Go: its names share no prefix that is only its own.
    "GO111MODULE",
    "GOAMD64",
    "GOARCH",
    "GOARM",
    "GOARM64",
    "GOBIN",
    "GOCACHE",
    "GOCACHEPROG",
    "GOCOVERDIR",
    "GODEBUG",
    "GOENV",
    "GOEXPERIMENT",
    "GOFIPS140",
    "GOFLAGS",
    "GOGC",
    "GOINSECURE",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "GOMODCACHE",
    "GONOPROXY",
    "GONOSUMDB",
    "GOOS",
    "GOPATH",
    "GOPRIVATE",
    "GOPROXY",
    "GOROOT",
    "GOSUMDB",
    "GOTELEMETRY",
    "GOTMPDIR",
    "GOTOOLCHAIN",
    "GOTRACEBACK",
    "GOVCS",
    "GOWORK",
    // Compilers and make.
    "CC",
    "CXX",
    "CPP",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CI",
    "NO_COLOR",
    "SOURCE_DATE_EPOCH",
];

const PREFIXES: &[&str] = &[
    "LC_",
    "XDG_",
    "CGO_",
    "GOLANGCI_",
    "NODE_",
    "NPM_CONFIG_",
    "npm_config_",
    "COREPACK_",
    "PNPM_",
    "YARN_",
    "PIP_",
    "PYTHON",
    "UV_",
    "JAVA_",
    "GRADLE_",
    "MAVEN_",
    "CARGO_",
    "RUST",
];

fn is_allowed(name: &OsStr) -> bool {
    let Some(text) = name.to_str() else { return false };
    let listed = NAMES.contains(&text) || PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    listed && !is_secret(name)
}

/// Whole parts of a name, as `_` and other punctuation part it.
const SECRET_PARTS: &[&str] = &[
    "AUTH",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
    "KEY",
    "KEYS",
    "APIKEY",
    "PASS",
    "PASSWD",
    "PASSPHRASE",
    "PAT",
];

/// Secret wherever they stand: `npm_config_//host/:_authToken`.
const SECRET_WORDS: &[&str] = &["TOKEN", "SECRET", "PASSWORD"];

/// Whether a variable of this name must not reach a child.
pub(crate) fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with("FOUNDRY_")
        || SECRET_WORDS.iter().any(|word| name.contains(word))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| SECRET_PARTS.contains(&part))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn names(environment: &Environment) -> Vec<&str> {
        environment.variables().map(|(name, _)| name.to_str().unwrap()).collect()
    }

    fn allowed(names: &[&str]) -> Environment {
        Environment::allowed(names.iter().map(|&name| (name.into(), "value".into())))
    }

    /// CODE-05
    #[test]
    fn tokens_keys_and_what_is_foundrys_own_never_pass() {
        let environment = allowed(&[
            "GITHUB_TOKEN",
            "AZURE_DEVOPS_TOKEN",
            "FOUNDRY_TOKEN_FILE",
            "FOUNDRY_SSH_DIR",
            "NPM_CONFIG__AUTH",
            "npm_config_//host/:_authToken",
            "PIP_PASSWORD",
            "UV_INDEX_MAIN_PASSWORD",
            "CARGO_REGISTRIES_OURS_TOKEN",
            "YARN_NPM_AUTH_TOKEN",
            "NODE_AUTH_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOAUTH",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "GIT_SSH_COMMAND",
        ]);
        assert_eq!(names(&environment), Vec::<&str>::new());
    }

    /// CODE-12
    #[test]
    fn the_settings_of_tool_chains_pass() {
        let settings = [
            "CGO_ENABLED",
            "GOCACHE",
            "GOFLAGS",
            "GOMAXPROCS",
            "GOMEMLIMIT",
            "GOMODCACHE",
            "GOPROXY",
            "GOTOOLCHAIN",
            "HOME",
            "HTTPS_PROXY",
            "JAVA_HOME",
            "LC_ALL",
            "NODE_OPTIONS",
            "NPM_CONFIG_REGISTRY",
            "PATH",
            "PIP_INDEX_URL",
            "TMPDIR",
            "https_proxy",
        ];
        assert_eq!(names(&allowed(&settings)), settings);
    }

    #[test]
    fn an_addition_passes_unless_it_looks_like_a_secret() {
        let environment = Environment::default()
            .with("GIT_AUTHOR_NAME", "scout@ai.flow.life")
            .with("GITHUB_TOKEN", "t")
            .with("FOUNDRY_API_URL", "u");
        assert_eq!(names(&environment), ["GIT_AUTHOR_NAME"]);
    }

    #[test]
    fn a_dump_shows_names_alone() {
        let environment = Environment::default().with("HTTPS_PROXY", "http://me:word@proxy");
        assert_eq!(format!("{environment:?}"), r#"{"HTTPS_PROXY"}"#);
    }

    #[test]
    fn the_agent_of_a_person_is_for_our_own_calls_alone() {
        let environment = allowed(&["SSH_AUTH_SOCK", "PATH"]);
        assert_eq!(names(&environment), ["PATH"]);
        let own: Vec<_> = environment.own().map(|(name, _)| name).collect();
        assert_eq!(own, ["SSH_AUTH_SOCK"]);
    }
}
