//! The host's variables: for `${VAR}`, and what a child may see of them.

use std::collections::BTreeMap;
use std::fmt;

/// What a child sees of the host's environment: what programs need to be found, to find
/// their files and to reach the network; never the host's keys.
const FOR_CHILDREN: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "PIP_INDEX_URL",
];

/// Variables of the host, read once by its config module.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// All variables of the host.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect() }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// What a child may see.
    pub(super) fn for_children(&self) -> BTreeMap<String, String> {
        let seen = |name: &&str| Some(((*name).to_owned(), self.variables.get(*name)?.clone()));
        FOR_CHILDREN.iter().filter_map(seen).collect()
    }

    /// The text with its `${VAR}` and `${VAR:-default}` filled in.
    pub(super) fn expand(&self, text: &str) -> Result<String, ExpandError> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (inside, behind) = after.split_once('}').ok_or(ExpandError::Open)?;
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            if !is_name(name) {
                return Err(ExpandError::Name(name.to_owned()));
            }
            // The shell's `:-` takes an empty variable for an unset one.
            let value = self.get(name).filter(|value| default.is_none() || !value.is_empty());
            let value = value.or(default).ok_or_else(|| ExpandError::Unset(name.to_owned()))?;
            expanded.push_str(before);
            expanded.push_str(value);
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("variables", &self.variables.len()).finish()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Why a value cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A variable that the host does not have.
    #[error("variable {0} is not set: set it, or write ${{{0}:-default}}")]
    Unset(String),
    /// Something in `${…}` that no variable is called.
    #[error("{0:?} is no name of a variable: write ${{NAME}}")]
    Name(String),
    /// A `${` without its end.
    #[error("a ${{ has no closing brace")]
    Open,
}
