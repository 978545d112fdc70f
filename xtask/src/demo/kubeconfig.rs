//! Kubeconfigs: of a person's own cluster, read and tried before anything is built.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// How long a cluster may take to say its version.
const PATIENCE: Duration = Duration::from_secs(15);

/// What `KUBECONFIG` names; set and empty it names nothing, as kubectl takes it.
pub(super) fn named(value: Option<&OsStr>) -> Option<&Path> {
    value.filter(|value| !value.is_empty()).map(Path::new)
}

/// Reads a kubeconfig, or several whose paths stand in one list, as kubectl does: the
/// first file that says a thing wins, and one that does not exist is passed over
/// beside others.
pub(super) fn read(list: &Path) -> Result<Kubeconfig> {
    let files: Vec<_> = std::env::split_paths(list).filter(|file| file != Path::new("")).collect();
    let is_list = files.len() > 1;
    let present = files.iter().filter(|file| !is_list || file.exists());
    let read = present.map(|file| {
        Kubeconfig::read_from(file).map_err(|error| {
            let (path, cause) = (file.display(), one_line(&error.into()));
            anyhow!("{path} is no kubeconfig; correct it, or unset KUBECONFIG: {cause}")
        })
    });
    read.reduce(|first, next| Ok(first?.merge(next?)?)).unwrap_or_else(|| {
        let list = list.display();
        Err(anyhow!("no file of {list} exists; correct it, or unset KUBECONFIG"))
    })
}

/// A client of the cluster that a kubeconfig leads to, which has answered.
pub(super) async fn answering_client(path: &Path) -> Result<Client> {
    let client = client(read(path)?).await.map_err(|error| {
        let (path, cause) = (path.display(), one_line(&error));
        anyhow!("{path} leads to no cluster; correct it, or unset KUBECONFIG: {cause}")
    })?;
    let asked = tokio::time::timeout(PATIENCE, client.apiserver_version()).await;
    let answer = asked.context("silence").and_then(|answer| answer.map_err(Error::from));
    match answer {
        Ok(_) => Ok(client),
        Err(error) => {
            let (path, cause) = (path.display(), one_line(&error));
            Err(anyhow!(
                "the cluster of {path} does not answer; start it, or unset KUBECONFIG to let \
                 the demo start its own: {cause}"
            ))
        }
    }
}

/// Writes a file that only its owner may read.
pub(super) fn write_private(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("failed to write {}", path.display());
    fs::write(path, "").with_context(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).with_context(failed)?;
    fs::write(path, text).with_context(failed)
}

async fn client(kubeconfig: Kubeconfig) -> Result<Client> {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Client::try_from(config)?)
}

/// An error and its causes, each said once: libraries repeat their cause in their
/// own words, and parsers draw the place over several lines.
fn one_line(error: &Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let cause = cause.lines().next().unwrap_or_default();
        if line.is_empty() {
            cause.clone_into(&mut line);
        } else if !line.contains(cause) {
            line = format!("{line}: {cause}");
        }
    }
    // What follows is an error; a library need not say so again.
    line.replace("'\"", "'").replace("\"'", "'").replace(": error: ", ": ")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_empty_kubeconfig_variable_names_no_cluster() {
        assert_eq!(named(None), None);
        assert_eq!(named(Some(OsStr::new(""))), None);
        assert_eq!(named(Some(OsStr::new("/a:/b"))), Some(Path::new("/a:/b")));
    }

    #[test]
    fn of_a_list_of_kubeconfigs_the_first_word_holds_and_a_missing_file_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, context: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!("current-context: {context}")).unwrap();
            path
        };
        let missing = folder.path().join("none");
        let list = [missing.clone(), file("one", "first"), file("two", "second")];
        let list = std::env::join_paths(list).unwrap();
        assert_eq!(read(Path::new(&list)).unwrap().current_context.as_deref(), Some("first"));

        let both = std::env::join_paths([&missing, &missing]).unwrap();
        let error = read(Path::new(&both)).unwrap_err().to_string();
        assert!(error.contains("exists; correct it, or unset KUBECONFIG"), "{error}");
        let error = read(&missing).unwrap_err().to_string();
        assert!(error.contains("is no kubeconfig"), "{error}");
    }

    #[test]
    fn a_cause_is_said_once_and_on_one_line() {
        let error = anyhow!("broken\n  ^ here").context("failed to read '\"x\"': broken");
        assert_eq!(one_line(&error), "failed to read 'x': broken");
        assert_eq!(one_line(&anyhow!("no YAML: error: line 1")), "no YAML: line 1");
        assert_eq!(one_line(&anyhow!("refused").context("no answer")), "no answer: refused");
    }
}
