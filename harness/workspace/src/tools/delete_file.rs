//! `delete_file`

use foundry_kernel::Effect;
use serde::Deserialize;

use super::{Job, writable};
use crate::locate::{self, Last};
use crate::walk::Cancel;
use crate::{Change, EditLog, Error, Workspace};

pub struct DeleteFile(pub EditLog);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
}

impl Job for DeleteFile {
    const NAME: &'static str = "delete_file";
    const DESCRIPTION: &'static str = "Delete one file or symbolic link. Folders are not deleted.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."}}}"#;
    const EFFECT: Effect = Effect::Write;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { path }: Arguments,
        _: &Cancel,
    ) -> Result<String, Error> {
        let place = workspace.locate(&path, Last::Keep)?;
        let path = place.shown();
        writable(workspace, &place)?;
        let (Some((folder, name)), false) = (place.entry(), place.is_folder()) else {
            return Err(Error::IsAFolder { path, instead: "delete the files in it" });
        };
        let Some(found) = place.found() else { return Err(place.missing()) };
        if !found.is_file() && !found.is_symlink() {
            return Err(Error::NotRegular { path, kind: locate::kind(found.file_type()) });
        }
        folder.remove_file(name).map_err(Error::io("delete", &path))?;
        self.0.record(place.path(), Change::Deleted);
        Ok(format!("deleted {path}"))
    }
}
