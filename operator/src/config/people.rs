//! Where agents' mailboxes are registered.

use std::path::PathBuf;

use clap::Args;
use reqwest::Url;

use super::ConfigError;

/// What the command line and the environment say of the people service.
#[derive(Debug, Clone, Args)]
pub struct PeopleArguments {
    /// Service that agents' mailboxes are registered with, by `POST /v1/people`. Absent: none
    /// are.
    #[arg(long, env = "FOUNDRY_PEOPLE_URL", value_parser = address)]
    pub people_url: Option<Url>,
    /// File with the service token for it, read at each use.
    #[arg(long, env = "FOUNDRY_PEOPLE_TOKEN_FILE")]
    pub people_token_file: Option<PathBuf>,
}

/// The people service (BIND-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeopleConfig {
    /// Its address.
    pub url: Url,
    /// File with the service token for it.
    pub token_file: PathBuf,
}

impl PeopleArguments {
    /// The settings made whole.
    pub fn into_config(self) -> Result<Option<PeopleConfig>, ConfigError> {
        match (self.people_url, self.people_token_file) {
            (None, None) => Ok(None),
            (Some(url), Some(token_file)) => Ok(Some(PeopleConfig { url, token_file })),
            (Some(_), None) | (None, Some(_)) => Err(ConfigError::People),
        }
    }
}

fn address(text: &str) -> Result<Url, String> {
    let wrong = || "give an address, as http://broker.default:8080".to_owned();
    let url: Url = text.parse().map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("leave name and password out; the token stands in a file".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_address_that_no_token_should_go_to_is_refused() {
        for (text, way_out) in [
            ("broker:8080", "as http://"),
            ("ftp://broker", "as http://"),
            ("http://ann:secret@broker", "in a file"),
        ] {
            let said = address(text).unwrap_err();
            assert!(said.contains(way_out) && !said.contains("secret"), "{text}: {said}");
        }
        assert_eq!(address("https://broker/api").unwrap().as_str(), "https://broker/api");
    }

    #[test]
    fn a_service_without_a_token_and_a_token_without_a_service_are_refused() {
        let url: Option<Url> = Some("http://broker".parse().unwrap());
        let file = Some(PathBuf::from("/token"));
        for (people_url, people_token_file, is_fine) in [
            (None, None, true),
            (url.clone(), file.clone(), true),
            (url, None, false),
            (None, file, false),
        ] {
            let arguments = PeopleArguments { people_url, people_token_file };
            assert_eq!(arguments.clone().into_config().is_ok(), is_fine, "{arguments:?}");
        }
    }
}
