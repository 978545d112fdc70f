//! Settings, each an environment variable; a secret is only ever named by its file.

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use foundry_crds::meta;
use foundry_relay::Broker;
use secrecy::SecretString;
use url::Url;

use crate::{documents::Account, identity::jwt::Issuer};

/// How long a shutdown waits for requests under way.
pub const DRAIN: Duration = Duration::from_secs(20);

/// Settings of `foundry-api`.
#[derive(Args, Clone, Debug)]
pub struct Config {
    /// Address to listen on.
    #[arg(
        long,
        env = "FOUNDRY_API_LISTEN",
        default_value = "0.0.0.0:8080",
        value_parser = socket_address
    )]
    pub listen: SocketAddr,

    /// Database: `sqlite:<path>` or `postgres://user@host/name`. A SQLite file in the data
    /// folder when absent. It may hold a password.
    #[arg(long, env = "FOUNDRY_DATABASE_URL", hide_env_values = true, value_parser = secret)]
    pub database_url: Option<SecretString>,

    /// Folder for data of this API's own.
    #[arg(long, env = "FOUNDRY_DATA_DIR", default_value = "/var/lib/foundry")]
    pub data_dir: PathBuf,

    /// Namespaces that are workspaces; a service that names none means the first.
    #[arg(
        long,
        env = "FOUNDRY_WATCH_NAMESPACES",
        value_delimiter = ',',
        default_value = meta::DEFAULT_NAMESPACE,
        value_parser = namespace
    )]
    pub watch_namespaces: Vec<String>,

    /// File with the service token; without it no service can call.
    #[arg(long, env = "FOUNDRY_SERVICE_TOKEN_FILE")]
    pub service_token_file: Option<PathBuf>,

    /// Issuer of persons' tokens; without it no person can call.
    #[arg(long, env = "FOUNDRY_OIDC_ISSUER", value_parser = web_address)]
    pub oidc_issuer: Option<String>,

    /// Audience that persons' tokens must name.
    #[arg(long, env = "FOUNDRY_OIDC_AUDIENCE", default_value = "foundry")]
    pub oidc_audience: String,

    /// Address of the issuer's keys; found by its discovery document when absent.
    #[arg(long, env = "FOUNDRY_OIDC_JWKS_URL", value_parser = web_address)]
    pub oidc_jwks_url: Option<String>,

    /// Claim that lists a person's workspaces.
    #[arg(long, env = "FOUNDRY_OIDC_WORKSPACES_CLAIM", default_value = "workspaces")]
    pub oidc_workspaces_claim: String,

    /// Claim that lists a person's roles: viewer, member, admin.
    #[arg(long, env = "FOUNDRY_OIDC_ROLES_CLAIM", default_value = "roles")]
    pub oidc_roles_claim: String,

    /// Where people reach this API, for links to documents; as each request reached it
    /// when absent.
    #[arg(long, env = "FOUNDRY_PUBLIC_URL", value_parser = web_address)]
    pub public_url: Option<String>,

    /// Storage account for documents; a folder in the data folder when absent.
    #[arg(long, env = "FOUNDRY_FILE_STORAGE_ACCOUNT")]
    pub file_storage_account: Option<String>,

    /// File with the storage account's key.
    #[arg(long, env = "FOUNDRY_FILE_STORAGE_KEY_FILE")]
    pub file_storage_key_file: Option<PathBuf>,

    /// Address of the storage account, its name included, when it is not where the
    /// provider has it.
    #[arg(long, env = "FOUNDRY_FILE_STORAGE_ENDPOINT", value_parser = web_address)]
    pub file_storage_endpoint: Option<String>,

    /// Broker that model calls go to with the shared service token and the agent's
    /// mailbox, where a Model of its origin names no key.
    #[arg(long, env = "FOUNDRY_BROKER_URL", value_parser = web_url)]
    pub broker_url: Option<Url>,

    /// File with the service token for the broker.
    #[arg(long, env = "FOUNDRY_BROKER_TOKEN_FILE")]
    pub broker_token_file: Option<PathBuf>,

    /// The intelligence service, called with the service token.
    #[arg(long, env = "FOUNDRY_INTELLIGENCE_URL", value_parser = web_url)]
    pub intelligence_url: Option<Url>,

    /// What is logged, as in `info,foundry_api=debug`. Audit records always are.
    #[arg(long, env = "FOUNDRY_LOG", default_value = "info")]
    pub log: String,

    /// Ends this process when its parent ends: for demos and tests.
    #[arg(long, env = "FOUNDRY_PDEATHSIG", value_parser = flag, default_value = "0")]
    pub pdeathsig: bool,
}

impl Config {
    /// The issuer of persons' tokens, when one is configured.
    pub fn issuer(&self) -> Option<Issuer> {
        self.oidc_issuer.clone().map(|url| Issuer {
            url,
            audience: self.oidc_audience.clone(),
            jwks_url: self.oidc_jwks_url.clone(),
            workspaces_claim: self.oidc_workspaces_claim.clone(),
            roles_claim: self.oidc_roles_claim.clone(),
        })
    }

    /// Settings that mean nothing without another: the one that is given and the one that
    /// is missing.
    pub fn incomplete(&self) -> Option<(&'static str, &'static str)> {
        let account = self.file_storage_account.is_some();
        [
            (
                account && self.file_storage_key_file.is_none(),
                ("FOUNDRY_FILE_STORAGE_ACCOUNT", "FOUNDRY_FILE_STORAGE_KEY_FILE"),
            ),
            (
                !account && self.file_storage_key_file.is_some(),
                ("FOUNDRY_FILE_STORAGE_KEY_FILE", "FOUNDRY_FILE_STORAGE_ACCOUNT"),
            ),
            (
                !account && self.file_storage_endpoint.is_some(),
                ("FOUNDRY_FILE_STORAGE_ENDPOINT", "FOUNDRY_FILE_STORAGE_ACCOUNT"),
            ),
            (
                self.broker_url.is_some() && self.broker_token_file.is_none(),
                ("FOUNDRY_BROKER_URL", "FOUNDRY_BROKER_TOKEN_FILE"),
            ),
            (
                self.broker_url.is_none() && self.broker_token_file.is_some(),
                ("FOUNDRY_BROKER_TOKEN_FILE", "FOUNDRY_BROKER_URL"),
            ),
            (
                self.intelligence_url.is_some() && self.service_token_file.is_none(),
                ("FOUNDRY_INTELLIGENCE_URL", "FOUNDRY_SERVICE_TOKEN_FILE"),
            ),
        ]
        .into_iter()
        .find_map(|(incomplete, names)| incomplete.then_some(names))
    }

    /// The storage account for documents, when one is configured.
    pub fn storage_account(&self) -> Option<Account> {
        let name = self.file_storage_account.clone()?;
        let key_file = self.file_storage_key_file.clone()?;
        Some(Account { name, key_file, endpoint: self.file_storage_endpoint.clone() })
    }

    /// The broker of model calls, when one is configured.
    pub fn broker(&self) -> Option<Broker> {
        let url = self.broker_url.clone()?;
        Some(Broker { url, token_file: self.broker_token_file.clone()? })
    }

    /// Where the SQLite file is when no database is named.
    pub fn database_file(&self) -> PathBuf {
        self.data_dir.join("foundry.db")
    }
}

fn namespace(name: &str) -> Result<String, String> {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let name = name.trim();
    if !name.is_empty() && name.len() <= 63 && name.bytes().all(inside) {
        Ok(name.to_owned())
    } else {
        Err(format!("{name:?} is not the name of a namespace"))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form that clap calls")]
fn secret(value: &str) -> Result<SecretString, Infallible> {
    Ok(value.into())
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give an address and a port, as 0.0.0.0:8080".to_owned())
}

fn web_address(text: &str) -> Result<String, String> {
    let uri = text.parse::<http::Uri>().ok();
    let is_web = |uri: &http::Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    uri.filter(is_web)
        .map(|_| text.to_owned())
        .ok_or_else(|| "give an address that begins with http:// or https://".to_owned())
}

fn web_url(text: &str) -> Result<Url, String> {
    let url = web_address(text)?.parse::<Url>().map_err(|error| error.to_string())?;
    if url.username().is_empty() && url.password().is_none() {
        Ok(url)
    } else {
        Err("give an address without a user name or password".to_owned())
    }
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "" | "0" | "false" => Ok(false),
        other => Err(format!("{other:?} is neither 1 nor 0")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        config: Config,
    }

    /// BIND-11
    #[test]
    fn the_password_of_the_database_is_not_in_the_settings_debug_form() {
        let url = "postgres://foundry:sesame@host/foundry";
        let cli = Cli::try_parse_from(["foundry-api", "--database-url", url]).unwrap();
        assert!(cli.config.database_url.is_some());
        assert!(!format!("{cli:?}").contains("sesame"));
    }
}
