//! `Skill`: instructions that agents load, in versions or inline.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::{self, forbidden, immutable, required, rule};

/// A skill: instructions that agents of this namespace can be given. It is text and
/// files to read; nothing of it is run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "Skill",
    namespaced,
    status = "SkillStatus",
    derive = "PartialEq",
    shortname = "sk",
    category = "foundry",
    doc = "A skill: instructions that agents of this namespace can be given. It is text and files to read; nothing of it is run.",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Version","type":"integer","jsonPath":".status.latestVersion"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Visibility","type":"string","jsonPath":".spec.visibility","priority":1}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].reason","priority":1}"#
)]
#[x_kube(
    validation = immutable("createdBy", "cannot change; create another skill"),
    // Two forms in one kind: versions of documents, or text edited in place.
    validation = required(
        ".instructions",
        "has(self.instructions) || (has(self.versions) && size(self.versions) > 0)",
        "a skill holds instructions, or versions that name documents; give one of them",
    ),
    validation = forbidden(
        ".versions",
        "!has(self.instructions) || !has(self.versions) || size(self.versions) == 0",
        "a skill with instructions is edited in place and has no versions; leave one of them out",
    ),
    validation = forbidden(
        ".files",
        "!has(self.files) || size(self.files) == 0 || has(self.instructions)",
        "files stand beside instructions; a version's files are in its document",
    ),
    // SKILL-02: a pinned version reads the same for ever.
    validation = rule(
        ".versions",
        "!has(oldSelf.versions) || oldSelf.versions.all(o, has(self.versions) && \
         self.versions.exists(n, n == o))",
        "a version that was published stays as it is, for agents are pinned to it; add another one",
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SkillSpec {
    /// What the skill is for, in one line: what a model chooses it by.
    #[schemars(schema_with = "form::one_line::<1024>")]
    pub description: String,
    /// Who sees it: `workspace` (the default) for everybody in this namespace, `private`
    /// for who created it.
    // SKILL-06
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "workspace"))]
    #[schemars(schema_with = "form::choice::<Visibility>")]
    pub visibility: Option<Visibility>,
    /// Subject of the person who created it. Whoever writes it must be that person or hold
    /// the verb `actas` on agents. Cannot change.
    #[schemars(schema_with = "form::subject")]
    pub created_by: String,
    /// Published versions, each a document of the documents service.
    // SKILL-01
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::skill_versions")]
    pub versions: Vec<SkillVersion>,
    /// The text of the skill, in Markdown; 65536 characters at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::skill_instructions")]
    pub instructions: Option<String>,
    /// Files beside the instructions, at most 32, and 256 KiB of text in all.
    // SKILL-08
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::skill_files")]
    pub files: Vec<SkillFile>,
}

/// One published version.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct SkillVersion {
    /// Number of the version; the highest one is the latest.
    #[schemars(schema_with = "form::whole::<1, 1_000_000>")]
    pub version: i64,
    /// Document that holds it: a `SKILL.md`, a zip or a tar.
    #[schemars(schema_with = "form::one_line::<255>")]
    pub document_id: String,
    /// Path of the `SKILL.md` within an archive. Absent means the one at its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::skill_path")]
    pub path: Option<String>,
}

/// A file beside the instructions: its text, or size and digest of bytes that the API
/// keeps.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[x_kube(
    validation = rule(
        ".content",
        "has(self.content) != has(self.sha256)",
        "a file has content, or the sha256 of bytes that the API keeps; give one of them",
    ),
    validation = rule(
        ".size",
        "has(self.sha256) == has(self.size)",
        "stands beside sha256, and only there; give both or neither",
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SkillFile {
    /// Relative path with forward slashes, without `.` and `..`.
    #[schemars(schema_with = "form::skill_path")]
    pub path: String,
    /// The file's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<262_144>")]
    pub content: Option<String>,
    /// Bytes of a file that the API keeps; 256 KiB at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 262_144>")]
    pub size: Option<i64>,
    /// SHA-256 of a file that the API keeps, in lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::sha256")]
    pub sha256: Option<String>,
}

/// Who sees a skill.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum Visibility {
    /// Everybody in this namespace.
    #[default]
    Workspace,
    /// Who created it.
    Private,
}

/// What came of a skill's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct SkillStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The highest version; of a skill with instructions, `metadata.generation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000>")]
    pub latest_version: Option<i64>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}

impl SkillSpec {
    /// The highest published version.
    pub fn latest(&self) -> Option<&SkillVersion> {
        self.versions.iter().max_by_key(|version| version.version)
    }

    /// Who sees it; the workspace unless said otherwise.
    pub fn visibility(&self) -> Visibility {
        self.visibility.unwrap_or_default()
    }
}
