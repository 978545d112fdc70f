//! `list_dir`

use foundry_kernel::Effect;
use serde::Deserialize;

use super::{Job, only_permitted, root};
use crate::locate::{self, Last, is_git};
use crate::scope::Standing;
use crate::walk::Cancel;
use crate::{Error, Workspace, shown};

/// Entries shown.
const MOST_SHOWN: usize = 1_000;
/// Bytes of them.
const MOST_BYTES: usize = 40_000;
/// Entries looked at.
const MOST_READ: usize = 100_000;

pub struct ListDir;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(default = "root")]
    path: String,
}

impl Job for ListDir {
    const NAME: &'static str = "list_dir";
    const DESCRIPTION: &'static str =
        "List a folder of the clone; with a path prefix in force, only permitted paths.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "properties": {
        "path": {"type": "string", "default": ".", "description": "Folder, from the root of the clone."}}}"#;
    const EFFECT: Effect = Effect::Read;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { path }: Arguments,
        cancel: &Cancel,
    ) -> Result<String, Error> {
        let place = workspace.locate(&path, Last::Follow)?;
        let folder = place.open_folder()?;
        let failed = |source| Error::io("read", &place.shown())(source);
        let mut names = Vec::new();
        for entry in folder.entries().map_err(failed)?.take(MOST_READ) {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let name = entry.map_err(failed)?.file_name();
            let path = place.path().join(&name);
            if !is_git(&name) && workspace.scope().standing(&path) != Standing::Outside {
                names.push(name);
            }
        }
        names.sort_unstable();
        let mut text = format!("{}: {}", place.shown(), entries(names.len()));
        let mut listed = 0;
        for name in names.iter().take(MOST_SHOWN) {
            if text.len() > MOST_BYTES {
                break;
            }
            listed += 1;
            let shown = shown::name(name);
            let what = match folder.symlink_metadata(name) {
                Ok(found) if found.is_dir() => "/".to_owned(),
                Ok(found) if found.is_symlink() => {
                    let target = folder.read_link_contents(name).unwrap_or_default();
                    format!(" -> {}", shown::path(&target))
                }
                Ok(found) if found.is_file() => format!("  {}", shown::size(found.len())),
                Ok(found) => format!("  ({})", locate::kind(found.file_type())),
                Err(_) => "  (gone)".to_owned(),
            };
            shown::push(&mut text, format_args!("\n{shown}{what}"));
        }
        if names.len() > listed {
            let more = names.len() - listed;
            shown::push(
                &mut text,
                format_args!("\n[{more} more are not shown; glob finds files by pattern]"),
            );
        }
        Ok(text + &only_permitted(workspace, &place))
    }
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}
