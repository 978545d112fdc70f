//! The tool catalog, seeded by migrations alone (OPS-02).

use serde_json::Value;

use crate::store::read;
use crate::text::json;
use crate::{Error, Store};

/// A tool that can be granted.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name, as the model calls it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// Which family it belongs to (TOOLS-03).
    pub family: Family,
    /// Whether it changes anything.
    pub effect: Effect,
}

/// Families of tools (TOOLS-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The agent's own memory and research checkpoint.
    Agent,
    /// Messages to people.
    Communications,
    /// Search, insights, evidence, conversations, outputs, files.
    Intelligence,
    /// Building and managing agents.
    Foundry,
    /// The coding harness's own.
    Coding,
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It only looks.
    Read,
    /// It changes something.
    Write,
}

const LIST: &str =
    "SELECT name, description, input_schema, family, effect FROM tool_catalog ORDER BY name";

#[derive(sqlx::FromRow)]
struct ToolRow {
    name: String,
    description: String,
    input_schema: String,
    family: String,
    effect: String,
}

impl TryFrom<ToolRow> for Tool {
    type Error = Error;

    fn try_from(row: ToolRow) -> Result<Self, Error> {
        Ok(Self {
            name: row.name,
            description: row.description,
            input_schema: json(&row.input_schema)?,
            family: match row.family.as_str() {
                "agent" => Family::Agent,
                "communications" => Family::Communications,
                "intelligence" => Family::Intelligence,
                "foundry" => Family::Foundry,
                "coding" => Family::Coding,
                _ => return Err(Error::Unreadable { what: "tool family" }),
            },
            effect: match row.effect.as_str() {
                "read" => Effect::Read,
                "write" => Effect::Write,
                _ => return Err(Error::Unreadable { what: "tool effect" }),
            },
        })
    }
}

impl Store {
    /// Every tool of the catalog, by name (ROUTE-17).
    pub async fn tools(&self) -> Result<Vec<Tool>, Error> {
        let rows: Vec<ToolRow> =
            read!(self, "read tool catalog", pool => sqlx::query_as(LIST).fetch_all(pool))?;
        let mut tools = rows.into_iter().map(Tool::try_from).collect::<Result<Vec<_>, _>>()?;
        // A database's locale may sort `_` in its own way.
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tools)
    }
}
