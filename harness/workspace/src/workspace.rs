//! The clone, held by a handle on its root.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio::sync::Semaphore;

use crate::locate::{Last, Place};
use crate::scope::{Scope, Standing};
use crate::{Error, locate};

/// Jobs on the file system that run beside each other; more of them wait.
const JOBS: usize = 4;

/// One folder and what of it may be touched; copies share it.
#[derive(Clone, Debug)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Dir,
    /// The root as it was named, and with its links resolved.
    roots: [PathBuf; 2],
    scope: Scope,
    jobs: Arc<Semaphore>,
    writing: Mutex<()>,
}

impl Workspace {
    /// Opens a folder. With prefixes, only paths that begin with one of them may be
    /// touched (CODE-10); without, all but `.git`.
    pub fn open(root: impl AsRef<Path>, prefixes: &[String]) -> Result<Self, Error> {
        let root = root.as_ref();
        let scope = Scope::new(prefixes)?;
        let failed = |source| Error::Root { path: root.to_owned(), source };
        let canonical = root.canonicalize().map_err(failed)?;
        let handle = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        let roots = [canonical, root.to_owned()];
        let jobs = Arc::new(Semaphore::new(JOBS));
        let writing = Mutex::new(());
        Ok(Self { inner: Arc::new(Inner { handle, roots, scope, jobs, writing }) })
    }

    /// The root, absolute and without links.
    pub fn root(&self) -> &Path {
        let [canonical, _] = &self.inner.roots;
        canonical
    }

    /// Whether a path, relative to the root and without `..`, may be touched.
    pub fn permits(&self, path: &Path) -> bool {
        self.inner.scope.standing(path) == Standing::Inside && !path.iter().any(locate::is_git)
    }

    /// The absolute path of a folder in which a command may run: the root always may,
    /// for a command needs the whole clone.
    pub fn folder(&self, path: &str) -> Result<PathBuf, Error> {
        let place = self.locate(path, Last::Follow)?;
        place.open_folder()?;
        Ok(self.root().join(place.path()))
    }

    pub(crate) fn handle(&self) -> &Dir {
        &self.inner.handle
    }

    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.inner.roots
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.inner.scope
    }

    pub(crate) fn jobs(&self) -> &Arc<Semaphore> {
        &self.inner.jobs
    }

    /// Held from the reading of a file to its writing, so that no edit undoes another.
    pub(crate) fn write(&self) -> MutexGuard<'_, ()> {
        self.inner.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a path, by the rules of this workspace.
    pub(crate) fn locate(&self, path: &str, last: Last) -> Result<Place, Error> {
        locate::locate(self, self.scope(), path, last)
    }
}
