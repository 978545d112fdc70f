//! Sizes of the release executables.

use anyhow::Context as _;

use super::report::Figure;

/// Executables and their bar in MB; harness executables stay under 30.
const EXECUTABLES: &[(&str, Option<f64>)] = &[
    ("harness", Some(30.0)),
    ("harness-coding", Some(30.0)),
    ("flowcode", Some(30.0)),
    ("foundry-operator", None),
    ("foundry-api", None),
];

/// Sizes in MB (10⁶ bytes), stripped.
pub fn measure() -> anyhow::Result<Vec<Figure>> {
    let folder = super::release_folder()?;
    EXECUTABLES
        .iter()
        .map(|(name, bar)| {
            let path = folder.join(name);
            let bytes = std::fs::metadata(&path)
                .with_context(|| format!("failed to read {}", path.display()))?
                .len();
            #[expect(clippy::cast_precision_loss, reason = "file sizes are far below 2^52")]
            let megabytes = bytes as f64 / 1e6;
            let what = format!("executable {name}");
            Ok(match bar {
                Some(bar) => Figure::at_most(what, "MB", megabytes, *bar),
                None => Figure::plain(what, "MB", megabytes),
            })
        })
        .collect()
}
