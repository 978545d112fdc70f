//! What a tree of agents may spend.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::form::{self, required};

/// What may be spent, by the object that carries it and everything it spawns.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[x_kube(validation = required(
    ".costMicros",
    "has(self.costMicros) || has(self.tokens)",
    "a budget must bound costMicros, tokens or both; to spend without bound leave the budget out",
))]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Micros (millionths) of the accounting currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<1, 1_000_000_000_000>")]
    pub cost_micros: Option<i64>,
    /// Input and output tokens together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<1, 1_000_000_000_000>")]
    pub tokens: Option<i64>,
}
