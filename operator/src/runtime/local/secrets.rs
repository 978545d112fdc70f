//! Secrets of a Pod that runs as a process: what a kubelet mounts and sets.
//!
//! They go from the control plane into files of the Pod's own folder and into the
//! environment of its process, and nowhere else: no type here can be printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Container, PodSpec, Secret};
use kube::api::Api;
use kube::{Client, ResourceExt as _};

use super::folder::Folder;
use crate::error::chain;
use crate::read;

/// Only the user who runs the process may read a mounted key, and nobody write it.
const FILE_MODE: u32 = 0o400;

type Data = BTreeMap<String, ByteString>;

/// What of Secrets a container is given.
#[derive(Default)]
pub struct Secrets {
    /// Files by mount path.
    mounts: Vec<(String, Data)>,
    /// Variables; as bytes, for a key may hold any.
    variables: Vec<(String, Vec<u8>)>,
}

/// Why a container cannot be given its Secrets yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unready {
    /// One word, as a kubelet would say it.
    pub reason: &'static str,
    /// What is missing and what to do.
    pub message: String,
}

/// What a container is given of one Secret.
struct Wanted<'a> {
    secret: &'a str,
    is_optional: bool,
    what: What<'a>,
}

enum What<'a> {
    /// All its keys, as files.
    Files { mount_path: &'a str },
    /// One key, as a variable.
    Variable { name: &'a str, key: &'a str },
}

/// Whether a container has files of Secrets, which change when the Secrets do.
pub fn has_files(pod: &PodSpec, container: &Container) -> bool {
    wanted(pod, container).iter().any(|wanted| matches!(wanted.what, What::Files { .. }))
}

/// Reads what a container is given.
pub async fn read(
    client: &Client,
    namespace: &str,
    pod: &PodSpec,
    container: &Container,
) -> Result<Secrets, Unready> {
    let wanted = wanted(pod, container);
    let names: BTreeSet<&str> = wanted.iter().map(|wanted| wanted.secret).collect();
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut found = BTreeMap::new();
    for name in names {
        let secret = read::bounded("Secret", name, api.get_opt(name))
            .await
            .map_err(|error| Unready { reason: "SecretUnread", message: chain(&error) })?;
        if let Some(secret) = secret {
            found.insert(secret.name_any(), secret.data.unwrap_or_default());
        }
    }
    choose(&wanted, &found, namespace)
}

fn wanted<'a>(pod: &'a PodSpec, container: &'a Container) -> Vec<Wanted<'a>> {
    let mounts = container.volume_mounts.iter().flatten().filter_map(|mount| {
        let volume = pod.volumes.iter().flatten().find(|volume| volume.name == mount.name)?;
        let source = volume.secret.as_ref()?;
        Some(Wanted {
            secret: source.secret_name.as_deref()?,
            is_optional: source.optional.unwrap_or(false),
            what: What::Files { mount_path: &mount.mount_path },
        })
    });
    let variables = container.env.iter().flatten().filter_map(|variable| {
        let source = variable.value_from.as_ref()?.secret_key_ref.as_ref()?;
        Some(Wanted {
            secret: &source.name,
            is_optional: source.optional.unwrap_or(false),
            what: What::Variable { name: &variable.name, key: &source.key },
        })
    });
    mounts.chain(variables).collect()
}

fn choose(
    wanted: &[Wanted<'_>],
    found: &BTreeMap<String, Data>,
    namespace: &str,
) -> Result<Secrets, Unready> {
    let mut secrets = Secrets::default();
    for Wanted { secret, is_optional, what } in wanted {
        let data = found.get(*secret);
        if data.is_none() && !is_optional {
            return Err(Unready {
                reason: "SecretNotFound",
                message: format!(
                    "Secret \"{secret}\" not found in namespace {namespace}; create it"
                ),
            });
        }
        match what {
            What::Files { mount_path } => {
                let files = data.cloned().unwrap_or_default();
                secrets.mounts.push(((*mount_path).to_owned(), files));
            }
            What::Variable { name, key } => match data.and_then(|data| data.get(*key)) {
                Some(ByteString(value)) => {
                    secrets.variables.push(((*name).to_owned(), value.clone()));
                }
                None if *is_optional => {}
                None => {
                    return Err(Unready {
                        reason: "SecretKeyMissing",
                        message: format!(
                            "Secret \"{secret}\" in namespace {namespace} has no key \"{key}\"; add it"
                        ),
                    });
                }
            },
        }
    }
    Ok(secrets)
}

impl Secrets {
    /// Puts the files where the process reads them.
    pub fn place(&self, folder: &Folder) -> io::Result<()> {
        for (mount_path, files) in &self.mounts {
            place(&folder.prepare_mount(mount_path)?, files)?;
        }
        Ok(())
    }

    /// The variables of the process.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }
}

/// Makes a folder hold these files and no others, each of them whole at any time.
fn place(folder: &Path, files: &Data) -> io::Result<()> {
    for (key, ByteString(content)) in files {
        if key.contains('/') || key.starts_with("..") || key == "." {
            return Err(io::Error::other(format!("a Secret has a key that is no name: {key}")));
        }
        let path = folder.join(key);
        if std::fs::read(&path).is_ok_and(|present| present == *content) {
            continue;
        }
        // No key begins so.
        let fresh = folder.join(format!("..{key}"));
        remove_if_there(&fresh)?;
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&fresh)?;
        file.write_all(content)?;
        std::fs::rename(&fresh, &path)?;
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_wanted = entry.file_name().to_str().is_some_and(|name| files.contains_key(name));
        if !is_wanted {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn data(pairs: &[(&str, &str)]) -> Data {
        let pairs = pairs.iter();
        pairs.map(|(key, text)| ((*key).to_owned(), ByteString(text.as_bytes().to_vec()))).collect()
    }

    fn pod(is_optional: bool) -> PodSpec {
        serde_json::from_value(json!({
            "volumes": [
                { "name": "tmp", "emptyDir": {} },
                { "name": "ssh", "secret": { "secretName": "keys", "optional": is_optional } },
                { "name": "other", "secret": { "secretName": "unmounted" } },
            ],
            "containers": [{
                "name": "harness",
                "volumeMounts": [
                    { "name": "tmp", "mountPath": "/tmp" },
                    { "name": "ssh", "mountPath": "/etc/foundry/ssh" },
                ],
                "env": [
                    { "name": "PLAIN", "value": "x" },
                    { "name": "TOKEN", "valueFrom": { "secretKeyRef": {
                        "name": "git", "key": "token", "optional": is_optional,
                    } } },
                ],
            }],
        }))
        .unwrap()
    }

    fn chosen(is_optional: bool, found: &[(&str, Data)]) -> Result<Secrets, Unready> {
        let pod = pod(is_optional);
        let found = found.iter().map(|(name, data)| ((*name).to_owned(), data.clone())).collect();
        choose(&wanted(&pod, &pod.containers[0]), &found, "team")
    }

    /// WORK-12
    #[test]
    fn a_container_is_given_the_files_it_mounts_and_the_variables_it_names() {
        let found = [
            ("keys", data(&[("github", "k"), ("known_hosts", "h")])),
            ("git", data(&[("token", "t")])),
        ];
        let secrets = chosen(false, &found).ok().unwrap();
        assert_eq!(secrets.variables().collect::<Vec<_>>(), [("TOKEN", b"t".as_slice())]);
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(
            dir.path(),
            super::super::PodId {
                namespace: "team".to_owned(),
                name: "pod".to_owned(),
                uid: "uid-1".to_owned(),
                agent: "ann".to_owned(),
            },
        );
        secrets.place(&folder).unwrap();
        let keys = folder.mount("/etc/foundry/ssh");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(std::fs::read_to_string(keys.join("github")).unwrap(), "k");
        assert_eq!((mode(&keys), mode(&keys.join("github"))), (0o700, 0o400));
        folder.remove();
        assert!(!keys.exists(), "nothing stays on the disk");
    }

    #[test]
    fn what_is_missing_is_named_unless_it_is_optional() {
        let unready = |found: &[(&str, Data)]| chosen(false, found).err().unwrap();
        assert_eq!(unready(&[]).reason, "SecretNotFound");
        assert!(
            unready(&[]).message.contains("Secret \"keys\" not found in namespace team; create it")
        );
        let keyless = [("keys", data(&[])), ("git", data(&[("other", "t")]))];
        let unready = unready(&keyless);
        assert_eq!(unready.reason, "SecretKeyMissing");
        assert!(
            unready.message.contains("has no key \"token\"") && !unready.message.contains("\"t\"")
        );
        for found in [&[][..], &keyless[1..]] {
            let secrets = chosen(true, found).ok().unwrap();
            assert_eq!(secrets.variables().count(), 0);
            assert_eq!(secrets.mounts.len(), 1, "the folder is there and empty");
        }
    }

    /// A Secret that changed shows in its files, whole, and what it lost is gone.
    #[test]
    fn a_changed_secret_replaces_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let files = || {
            let mut names: Vec<_> = std::fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        place(dir.path(), &data(&[("a", "1"), ("b", "2")])).unwrap();
        place(dir.path(), &data(&[("a", "3"), ("c.d", "4")])).unwrap();
        assert_eq!(files(), ["a", "c.d"]);
        assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "3");
        for strange in ["../x", "..x", "."] {
            assert!(place(dir.path(), &data(&[(strange, "5")])).is_err(), "{strange}");
        }
    }
}
