//! How a request that failed is answered.

use serde::{Deserialize, Serialize};

/// `application/problem+json` (RFC 9457) with what a person needs to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Stable identifier of this kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the status means.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What went wrong, for a person.
    pub detail: String,
    /// The field of the request at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// One stable CamelCase word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Id of the request, as the API's own log names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}
