//! Where a repository is, and who hosts it.

use std::fmt;

/// How a remote is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// SSH.
    Ssh,
    /// HTTPS; only for a person's own clone.
    Https,
}

/// A remote repository. Holds no password and nothing that git could read as an option.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remote {
    url: String,
    scheme: Scheme,
    host: String,
    port: Option<u16>,
    path: String,
}

/// Why a text is no remote. The text is not repeated: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Not a remote over SSH.
    #[error("remote is not one over SSH: write ssh://git@host/path or git@host:path")]
    NotSsh,
    /// A password in it.
    #[error("remote holds a password: leave it out, keys come from elsewhere")]
    Password,
    /// A part of it is missing or not legal.
    #[error("{0} of the remote is not legal: write ssh://git@host/path or git@host:path")]
    Part(&'static str),
}

impl Remote {
    /// Reads `ssh://[user@]host[:port]/path` or `user@host:path`.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        match split_scheme(text) {
            Some(("ssh", rest)) => parse_url(text, Scheme::Ssh, rest),
            Some(_) => Err(RemoteError::NotSsh),
            None => parse_short(text),
        }
    }

    /// Reads the remote of a person's own clone: over SSH, or `https://host/path`,
    /// whose user and password are left off.
    pub fn parse_persons(text: &str) -> Result<Self, RemoteError> {
        match split_scheme(text) {
            Some(("https", rest)) => {
                let rest = match rest.split_once('/') {
                    Some((authority, path)) => {
                        let host = authority.rsplit('@').next().unwrap_or(authority);
                        format!("{host}/{path}")
                    }
                    None => rest.to_owned(),
                };
                parse_url(&format!("https://{rest}"), Scheme::Https, &rest)
            }
            _ => Self::parse(text),
        }
    }

    /// As git takes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How it is spoken to.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host alone, in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, when it is named.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path, without slashes around it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host, with its port when that is named and not the usual one.
    pub fn authority(&self) -> String {
        let usual = match self.scheme {
            Scheme::Ssh => 22,
            Scheme::Https => 443,
        };
        match self.port {
            Some(port) if port != usual => format!("{}:{port}", self.host),
            Some(_) | None => self.host.clone(),
        }
    }

    /// Owner and name, where the path is just these, as it is at GitHub.
    pub fn owner_and_name(&self) -> Option<(&str, &str)> {
        let (owner, name) = self.path.split_once('/')?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        let legal = |part: &str| {
            !matches!(part, "" | "." | "..")
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        (legal(owner) && legal(name)).then_some((owner, name))
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// The scheme in lower case, and what follows `://`.
fn split_scheme(text: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    if scheme.contains(['/', ':', '@']) {
        return None;
    }
    match scheme.to_ascii_lowercase().as_str() {
        "ssh" => Some(("ssh", rest)),
        "https" => Some(("https", rest)),
        _ => Some(("", rest)),
    }
}

fn parse_url(text: &str, scheme: Scheme, rest: &str) -> Result<Remote, RemoteError> {
    let (authority, path) = rest.split_once('/').ok_or(RemoteError::Part("the path"))?;
    let (user, host_and_port) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    check_user(user)?;
    let (host, port) = split_port(host_and_port)?;
    let port = match port {
        None => None,
        Some(digits) => {
            let port: u16 = digits.parse().map_err(|_| RemoteError::Part("the port"))?;
            if port == 0 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(RemoteError::Part("the port"));
            }
            Some(port)
        }
    };
    remote(text, scheme, host, port, path)
}

/// `user@host:path`, as scp writes it.
fn parse_short(text: &str) -> Result<Remote, RemoteError> {
    let (user, rest) = text.split_once('@').ok_or(RemoteError::NotSsh)?;
    if user.contains('/') {
        return Err(RemoteError::NotSsh);
    }
    check_user(Some(user))?;
    let (host, path) = rest.split_once(':').ok_or(RemoteError::NotSsh)?;
    if host.contains('/') {
        return Err(RemoteError::NotSsh);
    }
    if host.starts_with('[') {
        // In brackets git would look for a port or an address.
        return Err(RemoteError::Part("the host"));
    }
    if path.starts_with('-') {
        return Err(RemoteError::Part("the path"));
    }
    remote(text, Scheme::Ssh, host, None, path)
}

fn check_user(user: Option<&str>) -> Result<(), RemoteError> {
    let Some(user) = user else { return Ok(()) };
    if user.contains(':') {
        return Err(RemoteError::Password);
    }
    let first = user.bytes().next().ok_or(RemoteError::Part("the user"))?;
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if (first.is_ascii_alphanumeric() || first == b'_') && user.bytes().all(legal) {
        Ok(())
    } else {
        Err(RemoteError::Part("the user"))
    }
}

fn split_port(text: &str) -> Result<(&str, Option<&str>), RemoteError> {
    if text.starts_with('[') {
        let end = text.find(']').ok_or(RemoteError::Part("the host"))?;
        let (host, rest) = text.split_at(end + 1);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(RemoteError::Part("the host")),
        };
    }
    Ok(match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

fn remote(
    text: &str,
    scheme: Scheme,
    host: &str,
    port: Option<u16>,
    path: &str,
) -> Result<Remote, RemoteError> {
    if text.len() > 1024 {
        return Err(RemoteError::Part("the length"));
    }
    let host = host.to_ascii_lowercase();
    if !is_host(&host) {
        return Err(RemoteError::Part("the host"));
    }
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"._~%+@,=/-".contains(&b);
    let bare = path.trim_matches('/');
    if bare.is_empty() || !path.bytes().all(legal) {
        return Err(RemoteError::Part("the path"));
    }
    Ok(Remote { url: text.to_owned(), scheme, host, port, path: bare.to_owned() })
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    host.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
}

/// Who hosts a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hosting {
    /// GitHub, or an installation of its Enterprise Server.
    GitHub,
    /// Azure DevOps Services.
    AzureDevOps,
    /// Anybody else.
    Other,
}

/// Which hosts are GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostingSettings {
    /// `host`, whatever the port, or `host:port`; from `FOUNDRY_GITHUB_HOST`.
    pub github_host: String,
}

impl Default for HostingSettings {
    fn default() -> Self {
        Self { github_host: "github.com".to_owned() }
    }
}

impl Hosting {
    /// Who hosts `remote` (CODE-01, CODE-06).
    pub fn of(remote: &Remote, settings: &HostingSettings) -> Self {
        let github = settings.github_host.to_ascii_lowercase();
        let host = remote.host();
        let with_port = remote.port().map(|port| format!("{host}:{port}"));
        if host == github
            || remote.authority() == github
            || with_port.as_ref() == Some(&github)
            // GitHub's own way around closed ports.
            || (github == "github.com" && host == "ssh.github.com")
        {
            return Self::GitHub;
        }
        let azure = ["dev.azure.com", "visualstudio.com"];
        if azure.iter().any(|domain| host == *domain || host.ends_with(&format!(".{domain}"))) {
            return Self::AzureDevOps;
        }
        Self::Other
    }
}

#[cfg(test)]
mod tests;
