//! Forms of what git is given: nothing here may be read as an option or a shell word.

use schemars::{Schema, SchemaGenerator};

use super::{described, list, matches, says, text};

/// An SSH remote, as `ssh://git@host/path` or `git@host:path` (CODE-01).
pub fn ssh_remote(_: &mut SchemaGenerator) -> Schema {
    text(
        1024,
        &[
            says(
                "!self.matches('^(?i)(https?|git|file|ftps?)://')",
                "must be an SSH remote: write ssh://git@host/path or git@host:path",
            ),
            says(
                "!self.startsWith('-')",
                "must not begin with '-': git would read it as an option",
            ),
            matches(
                // Without an absolute path, the path must not look like an option to git.
                r"^(?i)((https?|git|file|ftps?)://.*|-.*|ssh://([a-z0-9_][a-z0-9._-]*@)?([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+\])(:[0-9]{1,5})?/[a-z0-9._~%+@,=/-]+|[a-z0-9_][a-z0-9._-]*@[a-z0-9][a-z0-9.-]*:[a-z0-9._~%+@,=/][a-z0-9._~%+@,=/-]*)$",
                "must be ssh://git@host/path or git@host:path, without a password, blanks or control characters",
            ),
        ],
    )
}

/// A branch or tag, by the rules of `git check-ref-format`.
pub fn git_ref(_: &mut SchemaGenerator) -> Schema {
    text(
        255,
        &[
            says(
                "!self.startsWith('-')",
                "must not begin with '-': git would read it as an option",
            ),
            matches(
                r"^[^\s\pC~^:?*\[\\]+$",
                r"must be the name of a branch or tag, without blanks, control characters and ~ ^ : ? * [ \",
            ),
            says(
                "self != '@' && !self.matches('(^[/.]|[/.]$|//|/[.]|[.][.]|@[{]|[.]lock$|[.]lock/)')",
                "must be the name of a branch or tag that git accepts: no part empty, beginning with '.' or ending with .lock, no '..' and no '@{'",
            ),
        ],
    )
}

/// Path prefixes beneath the root of a clone (CODE-10).
pub fn path_prefixes(_: &mut SchemaGenerator) -> Schema {
    let prefix = text(
        512,
        &[
            says("!self.startsWith('/')", "must be relative to the root of the repository"),
            says(
                r"!self.matches('(^|/)[.][.](/|$)')",
                "must stay beneath the root of the repository, without '..'",
            ),
            matches(
                r"^[^\pC\\]+$",
                r"must not hold control characters or '\'; folders are parted by '/'",
            ),
        ],
    );
    list(100, &described(prefix, "Path of a folder or file, relative to the root."), &[])
}
