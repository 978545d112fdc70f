//! What the API server's audit log says about requests.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

/// What of all requests the log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// Writes alone, to count them.
    Writes,
    /// Reads too, a watch when it ends: to know every right that was used.
    Requests,
}

/// The verbs that write.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

impl Audit {
    /// Metadata of each answered request: enough to count them by user and manager.
    pub(crate) fn policy(self) -> String {
        let verbs = match self {
            Self::Writes => format!("\n    verbs: {WRITES:?}"),
            Self::Requests => String::new(),
        };
        format!(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\n\
             omitStages: [RequestReceived, ResponseStarted, Panic]\n\
             rules:\n  - level: Metadata{verbs}\n  - level: None\n"
        )
    }
}

/// One request that the API server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asked.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or
    /// `deletecollection`.
    pub verb: String,
    /// Field manager, as the request named it.
    pub manager: Option<String>,
    /// API group of the kind; empty for the core group and for what is no resource.
    pub group: String,
    /// Plural of the kind, with the subresource: `agents/status`.
    pub resource: String,
    /// Namespace of the object; empty for one that has none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// When the API server got it.
    pub received: Timestamp,
    /// When it had answered.
    pub answered: Timestamp,
    /// Whether it asked only what would come of it.
    pub dry_run: bool,
}

impl Request {
    /// Whether it was to change something.
    pub fn is_write(&self) -> bool {
        WRITES.contains(&self.verb.as_str()) && !self.dry_run
    }
}

/// Reads a log bit by bit, each line once.
#[derive(Debug)]
pub struct AuditReader {
    path: PathBuf,
    offset: u64,
}

impl AuditReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// The requests that were logged since the last call, oldest first.
    pub fn more(&mut self) -> Result<Vec<Request>> {
        let failed = || format!("failed to read {}", self.path.display());
        let mut file = File::open(&self.path).with_context(failed)?;
        file.seek(SeekFrom::Start(self.offset)).with_context(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(failed)?;
        // The last line may still be on its way.
        bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1));
        self.offset += u64::try_from(bytes.len()).context("the audit log has no length")?;
        let text = String::from_utf8(bytes).context("the audit log is not text")?;
        text.lines().map(parse).collect()
    }
}

/// Reads the whole log.
pub(crate) fn read(path: &Path) -> Result<Vec<Request>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    // The last line may still be on its way.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Request> {
    let event: Event = serde_json::from_str(line).context("the audit log has a strange line")?;
    let object = event.object_ref.unwrap_or_default();
    let mut resource = object.resource;
    if !object.subresource.is_empty() {
        resource = format!("{resource}/{}", object.subresource);
    }
    Ok(Request {
        user: event.user.username,
        verb: event.verb,
        manager: manager_of(&event.request_uri),
        group: object.api_group,
        resource,
        namespace: object.namespace,
        name: object.name,
        status: event.response_status.map_or(0, |status| status.code),
        received: event.request_received_timestamp,
        answered: event.stage_timestamp,
        dry_run: event.request_uri.contains("dryRun=All"),
    })
}

/// The field manager that a request names.
pub(crate) fn manager_of(request_uri: &str) -> Option<String> {
    let (_, query) = request_uri.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix("fieldManager="))?;
    Some(value.replace("%2F", "/").replace("%2f", "/"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_write_is_read_with_its_manager_and_subresource() {
        let line = r#"{"verb":"patch",
            "requestURI":"/apis/foundry.flow.life/v1alpha1/namespaces/a/agents/x/status?fieldManager=foundry-operator%2Fstatus&force=true",
            "user":{"username":"operator"},
            "objectRef":{"resource":"agents","namespace":"a","name":"x","subresource":"status",
                "apiGroup":"foundry.flow.life"},
            "responseStatus":{"code":200},
            "requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z",
            "stageTimestamp":"2026-01-02T03:04:05.250000Z"}"#;
        let written = parse(line).unwrap();
        let expected = Request {
            user: "operator".to_owned(),
            verb: "patch".to_owned(),
            manager: Some("foundry-operator/status".to_owned()),
            group: "foundry.flow.life".to_owned(),
            resource: "agents/status".to_owned(),
            namespace: "a".to_owned(),
            name: "x".to_owned(),
            status: 200,
            received: "2026-01-02T03:04:05.000006Z".parse().unwrap(),
            answered: "2026-01-02T03:04:05.25Z".parse().unwrap(),
            dry_run: false,
        };
        assert_eq!(written, expected);
        assert!(written.is_write());
    }

    #[test]
    fn a_question_of_what_a_write_would_do_is_none() {
        let line = r#"{"verb":"patch","requestURI":"/api/v1/namespaces/a/secrets/x?dryRun=All&fieldManager=flux",
            "user":{"username":"flux"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":200},
            "requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z",
            "stageTimestamp":"2026-01-02T03:04:05.250000Z"}"#;
        assert!(!parse(line).unwrap().is_write());
    }

    #[test]
    fn a_read_is_no_write() {
        let line = r#"{"verb":"watch","requestURI":"/api/v1/pods","user":{"username":"operator"},
            "objectRef":{"resource":"pods"},"responseStatus":{"code":200},
            "requestReceivedTimestamp":"2026-01-02T03:04:05Z",
            "stageTimestamp":"2026-01-02T03:04:05Z"}"#;
        assert!(!parse(line).unwrap().is_write());
    }

    #[test]
    fn a_log_that_grows_is_read_on_from_the_last_whole_line() {
        let line = |name: &str| {
            format!(
                r#"{{"verb":"create","requestURI":"/","user":{{"username":"ann"}},"objectRef":{{"name":"{name}"}},"requestReceivedTimestamp":"2026-01-02T03:04:05Z","stageTimestamp":"2026-01-02T03:04:05Z"}}"#
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let (one, two) = (line("one"), line("two"));
        let mut reader = AuditReader::new(path.clone());
        let names = |requests: Vec<Request>| -> Vec<String> {
            requests.into_iter().map(|request| request.name).collect()
        };
        fs::write(&path, format!("{one}\n{}", &two[..20])).unwrap();
        assert_eq!(names(reader.more().unwrap()), ["one"]);
        assert!(reader.more().unwrap().is_empty());
        fs::write(&path, format!("{one}\n{two}\n")).unwrap();
        assert_eq!(names(reader.more().unwrap()), ["two"]);
    }
}
