//! A repository as small as can be: one Go file that does not parse, which `gofmt`
//! sees in a few milliseconds. For scenarios that are about something else.

use std::fs;
use std::path::PathBuf;

use fakes::model::Reply;

use super::play::{Part, command, commit, edit, finish, open, push, read, save};
use super::world::World;

pub const FILE: &str = "notes.go";

pub const SOURCE: &str = "// Package notes counts notes.
package notes

// Count gives the number of notes.
func Count(notes []string) int {
\tretrun len(notes)
}
";

pub const PLAN: &str = "# Plan\n\n1. Spell `return` right in `notes.go`.\n2. Run `gofmt`.\n";

/// Its one check.
pub const CHECK: &str = "gofmt -l notes.go";

/// The files, in a folder.
pub fn files(world: &World) -> PathBuf {
    let folder = world.folder.join("notes");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(FILE), SOURCE).unwrap();
    folder
}

/// The turns of planning.
pub fn planning() -> Vec<Reply> {
    vec![read(FILE), save(PLAN)]
}

pub fn mend() -> Reply {
    edit(FILE, "retrun", "return")
}

pub fn request() -> Reply {
    open("Spell return right", "`notes.go` did not parse. Now it does.")
}

/// The turns of a building that goes well.
pub fn building() -> Vec<Reply> {
    vec![
        mend(),
        command(CHECK),
        commit("Spell return right"),
        push(),
        request(),
        finish("completed", "notes.go parses again."),
    ]
}

impl World {
    /// Has the model plan and build as it should.
    pub fn play_notes(&self, run: &str) {
        self.play(run, Part::Planning, planning());
        self.play(run, Part::Building, building());
    }
}
