//! Which tools a run gets: the catalog, cut down to what is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foundry_client::{AgentView, CatalogTool, HarnessView};
use foundry_kernel::policy::truncate;
use foundry_kernel::{Effect, Execute, Tool};
use foundry_llm::ToolSpec;
use serde_json::Value;

/// Longest result that reaches the model whole (LOOP-07).
pub const RESULT_BYTES: usize = 6 * 1024;

/// What runs each tool, by the tool's name.
pub type Executors = BTreeMap<&'static str, Arc<dyn Execute>>;

/// Why no run can be assembled (LOOP-29). Found before the model is called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocker {
    /// Selected, and the catalog does not describe it.
    #[error(
        "tool {0} is selected, but the catalog has no schema for it: \
         remove it from the agent's tools, or bring the catalog up to date"
    )]
    NoSchema(String),
    /// Selected, and this program cannot run it.
    #[error(
        "tool {0} is selected, but this harness has no executor for it: \
         remove it from the agent's tools, or use a newer harness image"
    )]
    NoExecutor(String),
}

/// The tools of a run.
#[derive(Clone, Debug)]
pub struct Selected {
    /// In the order of their names, so that the request's bytes stay the same.
    pub tools: Vec<Arc<Tool>>,
    /// Granted to the agent, but not permitted by its harness; left out.
    pub not_permitted: Vec<String>,
}

/// Selects what the harness always grants, and of the agent's grants what the
/// harness permits.
pub fn select(
    catalog: &[CatalogTool],
    agent: &AgentView,
    harness: &HarnessView,
    executors: &Executors,
) -> Result<Selected, Blocker> {
    let permitted = harness.tools.iter().chain(&harness.always_granted).collect::<BTreeSet<_>>();
    let (granted, not_permitted): (Vec<_>, Vec<_>) =
        agent.tools.iter().partition(|name| permitted.contains(name));
    let names = harness.always_granted.iter().chain(granted).collect::<BTreeSet<_>>();
    let tools = names
        .into_iter()
        .map(|name| tool(name, catalog, executors).map(Arc::new))
        .collect::<Result<_, _>>()?;
    Ok(Selected { tools, not_permitted: not_permitted.into_iter().cloned().collect() })
}

/// One tool as the catalog describes it, with what runs it.
pub fn tool(name: &str, catalog: &[CatalogTool], executors: &Executors) -> Result<Tool, Blocker> {
    let described = catalog
        .iter()
        .find(|tool| tool.name == name)
        .filter(|tool| is_schema(&tool.input_schema))
        .ok_or_else(|| Blocker::NoSchema(name.to_owned()))?;
    let executor = executors.get(name).ok_or_else(|| Blocker::NoExecutor(name.to_owned()))?;
    let spec = ToolSpec {
        name: described.name.clone(),
        description: described.description.clone(),
        input_schema: described.input_schema.clone(),
    };
    let effect = match described.effect {
        foundry_client::Effect::Read => Effect::Read,
        foundry_client::Effect::Write => Effect::Write,
    };
    let mut tool = Tool::new(spec, effect, executor.clone());
    tool.limit_bytes = RESULT_BYTES;
    tool.form = truncate::enveloped;
    Ok(tool)
}

fn is_schema(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| !schema.is_empty())
}

#[cfg(test)]
mod tests;
