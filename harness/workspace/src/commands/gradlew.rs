//! Where `gradlew` is (CODE-14).

use std::path::{Path, PathBuf};

use super::policy::GRADLEW;
use crate::locate::{self, Last};
use crate::scope::Scope;
use crate::{Error, Workspace};

/// Where the wrapper may be, from the root of the clone.
const PLACES: [&str; 2] = ["", "deepsky"];

/// The clone's wrapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// What to run in the place of `gradlew`.
    pub program: PathBuf,
    /// The folder it belongs to, in which it finds its project: where to run it when the
    /// model named none.
    pub folder: PathBuf,
}

/// Finds it for a command that runs in this folder of the clone: the wrapper of the
/// folder itself or of one above it comes first.
pub fn gradlew(workspace: &Workspace, folder: &str) -> Result<Wrapper, Error> {
    let asked = workspace.locate(folder, Last::Follow)?;
    let mut places = PLACES.map(Path::new);
    if asked.path().starts_with("deepsky") {
        places.reverse();
    }
    let mut why = None;
    for place in places {
        match wrapper(workspace, place) {
            Ok(wrapper) => return Ok(wrapper),
            Err(Error::NotFound { .. } | Error::NotAFolder { .. }) => {}
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or_else(|| {
        Error::Refused(
            "the clone has no wrapper: there is neither gradlew nor deepsky/gradlew".to_owned(),
        )
    }))
}

fn wrapper(workspace: &Workspace, folder: &Path) -> Result<Wrapper, Error> {
    use cap_std::fs::MetadataExt as _;
    // It is run and not touched, so it need not be among the permitted paths.
    let path = folder.join(GRADLEW);
    let place =
        locate::locate(workspace, &Scope::default(), &path.to_string_lossy(), Last::Follow)?;
    let (_, found) = place.open_file("it should be a script")?;
    if found.mode() & 0o111 == 0 {
        return Err(Error::Refused(format!(
            "{} is not executable: git update-index --chmod=+x makes it so for others, and a \
             checkout of it then for this clone",
            place.shown()
        )));
    }
    let root = workspace.root();
    Ok(Wrapper { program: root.join(place.path()), folder: root.join(folder) })
}
