//! Forms of skills.

use schemars::{Schema, SchemaGenerator};

use super::{list, matches, says, text, unique};
use crate::skill::{SkillFile, SkillVersion};

/// A relative path with forward slashes that leads nowhere but down (SKILL-08).
pub fn skill_path(_: &mut SchemaGenerator) -> Schema {
    text(
        255,
        &[
            matches(
                r"^[^/\\\pC][^\\\pC]*$",
                "must be a relative path with forward slashes and without control characters",
            ),
            says(
                r"!self.matches('(^[.]{1,2}|/[.]{0,2})(/|$)')",
                "must hold no empty part, no '.' and no '..'",
            ),
        ],
    )
}

/// The text of a skill.
pub fn skill_instructions(_: &mut SchemaGenerator) -> Schema {
    text(65_536, &[matches(r"\S", "must hold the text of the skill")])
}

/// A SHA-256 in lower-case hex.
pub fn sha256(_: &mut SchemaGenerator) -> Schema {
    text(64, &[matches("^[0-9a-f]{64}$", "must be a SHA-256: 64 digits of lower-case hex")])
}

/// Published versions. None is ever taken out, so there is room for many.
pub fn skill_versions(generator: &mut SchemaGenerator) -> Schema {
    list(
        200,
        &generator.subschema_for::<SkillVersion>(),
        &[unique(".version", "numbers two versions alike; give each a number of its own")],
    )
}

/// Files beside the instructions.
pub fn skill_files(generator: &mut SchemaGenerator) -> Schema {
    list(
        32,
        &generator.subschema_for::<SkillFile>(),
        &[
            unique(".path", "names a path twice; keep one of the files"),
            says(
                "self.map(f, has(f.content) ? size(bytes(f.content)) : 0).sum() <= 262144",
                "holds over 256 KiB of text in all; keep fewer or shorter files here",
            ),
        ],
    )
}
