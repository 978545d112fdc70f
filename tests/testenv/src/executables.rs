//! The control plane's executables, Helm, KWOK and Flux: given by the person, or built from Go
//! modules and kept in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::fail::or_fail;
use crate::{random, settings, workspace};

/// The names that the one executable answers to.
pub const CONTROL_PLANE_TOOLS: [&str; 5] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// Where each part of a control plane is.
#[derive(Clone, Debug)]
pub struct Executables {
    /// The store.
    pub etcd: PathBuf,
    /// The API server.
    pub apiserver: PathBuf,
    /// The controllers behind Deployments, Jobs, owner references.
    pub controller_manager: PathBuf,
    /// The command line a person uses.
    pub kubectl: PathBuf,
}

impl Executables {
    /// Each from `KUBEBUILDER_ASSETS` where it is there (envtest's set has no
    /// controller manager), else from the cache.
    pub fn find() -> Result<Self> {
        let given = settings::assets();
        let built = GoModule::control_plane()?.folder()?;
        let find = |name: &str| {
            let places = given.iter().chain([&built]);
            let found = places.map(|folder| folder.join(name)).find(|path| path.is_file());
            found.with_context(|| {
                format!(
                    "{name} is neither in KUBEBUILDER_ASSETS nor in {}; \
                     build it once with `cargo xtask control-plane`",
                    built.display()
                )
            })
        };
        Ok(Self {
            etcd: find("etcd")?,
            apiserver: find("kube-apiserver")?,
            controller_manager: find("kube-controller-manager")?,
            kubectl: find("kubectl")?,
        })
    }
}

/// Helm, of the version that is tested against: from `KUBEBUILDER_ASSETS` where it is
/// there, else from the cache.
#[track_caller]
pub fn helm() -> PathBuf {
    or_fail(find_helm())
}

/// The same, where its absence is no test's failure.
pub fn find_helm() -> Result<PathBuf> {
    find_one("helm", &GoModule::helm()?, "cargo xtask helm")
}

/// KWOK, which plays nodes: from `KUBEBUILDER_ASSETS` where it is there, else from the cache.
pub fn find_kwok() -> Result<PathBuf> {
    find_one("kwok", &GoModule::kwok()?, "cargo xtask kwok")
}

/// The scheduler, which no control plane of ours needs that has no nodes.
pub fn find_scheduler() -> Result<PathBuf> {
    find_one("kube-scheduler", &GoModule::control_plane()?, "cargo xtask control-plane")
}

fn find_one(name: &str, module: &GoModule, builder: &str) -> Result<PathBuf> {
    let built = module.folder()?;
    let given = settings::assets();
    let places = given.iter().chain([&built]);
    let found = places.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.with_context(|| {
        format!(
            "{name} is neither in KUBEBUILDER_ASSETS nor in {}; build it once with `{builder}`",
            built.display()
        )
    })
}

/// The controllers of Flux that the suite runs, and the types they want.
#[derive(Clone, Debug)]
pub struct Flux {
    /// Fetches Git repositories and serves them as archives.
    pub source_controller: PathBuf,
    /// Applies, prunes and judges what such an archive holds.
    pub kustomize_controller: PathBuf,
    /// Their CRDs.
    pub crds: Vec<PathBuf>,
}

impl Flux {
    /// Both controllers from the cache.
    #[track_caller]
    pub fn get() -> Self {
        or_fail(Self::find())
    }

    /// The same, where its absence is no test's failure.
    pub fn find() -> Result<Self> {
        let source = GoModule::flux_source()?.folder()?;
        let kustomize = GoModule::flux_kustomize()?.folder()?;
        let mut crds = Vec::new();
        for folder in [&source, &kustomize] {
            let kept = folder.join(FLUX_CRDS);
            let missing = || {
                let kept = kept.display();
                format!("{kept} is missing; build Flux once with `cargo xtask flux`")
            };
            for entry in fs::read_dir(&kept).with_context(missing)? {
                crds.push(entry.with_context(missing)?.path());
            }
        }
        crds.sort();
        Ok(Self {
            source_controller: source.join(FLUX_CONTROLLERS[0]),
            kustomize_controller: kustomize.join(FLUX_CONTROLLERS[1]),
            crds,
        })
    }
}

/// Flux' executables, each in the folder of its own module.
pub const FLUX_CONTROLLERS: [&str; 2] = ["source-controller", "kustomize-controller"];

/// Folder with the CRDs, beside each executable.
pub const FLUX_CRDS: &str = "crds";

/// A Go module of ours under `tests/controlplane/`, and the place its executables
/// are kept in.
#[derive(Clone, Debug)]
pub struct GoModule {
    source: PathBuf,
    manifest: String,
    digest: String,
    /// The required module whose version speaks for all.
    main: &'static str,
    /// Folder of the cache.
    shelf: &'static str,
}

impl GoModule {
    /// The module of Kubernetes and etcd.
    pub fn control_plane() -> Result<Self> {
        let source = workspace::root().join("tests/controlplane/kube");
        Self::read(&source, "k8s.io/kubernetes", "control-plane")
    }

    /// The module of Helm.
    pub fn helm() -> Result<Self> {
        Self::read(&workspace::root().join("tests/controlplane/helm"), "helm.sh/helm/v4", "helm")
    }

    /// The module of KWOK.
    pub fn kwok() -> Result<Self> {
        Self::read(&workspace::root().join("tests/controlplane/kwok"), "sigs.k8s.io/kwok", "kwok")
    }

    /// The module of Flux' source-controller.
    pub fn flux_source() -> Result<Self> {
        let source = workspace::root().join("tests/controlplane/flux-source");
        Self::read(&source, "github.com/fluxcd/source-controller", "flux-source")
    }

    /// The module of Flux' kustomize-controller.
    pub fn flux_kustomize() -> Result<Self> {
        let source = workspace::root().join("tests/controlplane/flux-kustomize");
        Self::read(&source, "github.com/fluxcd/kustomize-controller", "flux-kustomize")
    }

    fn read(source: &Path, main: &'static str, shelf: &'static str) -> Result<Self> {
        let read = |name: &str| {
            let path = source.join(name);
            fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
        };
        let manifest = read("go.mod")?;
        let mut parts = vec![manifest.clone(), read("go.sum")?];
        // What is built as its makers wrote it has no program of ours.
        if source.join("main.go").exists() {
            parts.push(read("main.go")?);
        }
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        digest.update(std::env::consts::ARCH);
        let digest = random::to_hex(&digest.finalize()[..6]);
        Ok(Self { source: source.to_path_buf(), manifest, digest, main, shelf })
    }

    /// Its folder in the checkout.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The version of a module that `go.mod` requires.
    pub fn version_of(&self, module: &str) -> Result<&str> {
        for line in self.manifest.lines() {
            let mut words = line.trim().trim_start_matches("require ").split_whitespace();
            if words.next() == Some(module) {
                return words.next().with_context(|| format!("{module} has no version"));
            }
        }
        bail!("{}/go.mod does not require {module}", self.source.display())
    }

    /// The version of what it is there for.
    pub fn version(&self) -> Result<&str> {
        self.version_of(self.main)
    }

    /// Where what was built from exactly these files is kept. The key says the
    /// version for people and the digest for the rest; a newer Go is no reason to
    /// build again.
    pub fn folder(&self) -> Result<PathBuf> {
        let key = format!("{}-{}", self.version()?, self.digest);
        Ok(settings::cache_folder()?.join(self.shelf).join(key))
    }
}

#[cfg(test)]
mod tests;
