//! Where the checkout is.

use std::path::{Path, PathBuf};

/// The root of the workspace this crate was built from.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
