//! Which tools of the platform a coding task gets beside its own (CODE-35, CODE-36).

use std::collections::BTreeSet;
use std::sync::Arc;

use foundry_client::{AgentView, CatalogTool, HarnessView, ToolFamily};
use foundry_kernel::Tool;
use foundry_platform::catalog::{self, Executors};

/// Reads the dead-letter queue, so that its cause can be mended; every task has it.
const ALWAYS: &str = "list_queue_errors";
/// Would act on that queue before the task's fix is deployed: never offered.
const NEVER: &[&str] = &["requeue_queue_jobs", "expire_queue_job"];

/// The platform tools of a task.
pub(crate) struct Granted {
    /// In the order of their names, so that the request's bytes stay the same.
    pub tools: Vec<Arc<Tool>>,
    /// What was granted and is not offered, each with the reason.
    pub left_out: Vec<String>,
}

/// Always-granted tools, and of the agent's grants what its harness permits, as the
/// catalog describes them. The coding family is the harness's own and not among them.
pub(crate) fn granted(
    catalog: &[CatalogTool],
    agent: &AgentView,
    harness: &HarnessView,
    executors: &Executors,
) -> Granted {
    let permitted: BTreeSet<&str> =
        harness.tools.iter().chain(&harness.always_granted).map(String::as_str).collect();
    let grants = agent.tools.iter().map(String::as_str);
    let always = harness.always_granted.iter().map(String::as_str).chain([ALWAYS]);
    let names: BTreeSet<&str> =
        grants.filter(|name| permitted.contains(name)).chain(always).collect();
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    for name in names {
        if NEVER.contains(&name) {
            left_out.push(format!("tool {name} is never offered to a coding task"));
        } else if !is_own(name, catalog) {
            match catalog::tool(name, catalog, executors) {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(blocker) => left_out.push(blocker.to_string()),
            }
        }
    }
    Granted { tools, left_out }
}

/// Whether a tool is one of the coding harness's own.
fn is_own(name: &str, catalog: &[CatalogTool]) -> bool {
    catalog.iter().any(|tool| tool.name == name && tool.family == ToolFamily::Coding)
}

#[cfg(test)]
mod tests {
    use foundry_platform::api::Api;
    use foundry_platform::fake::{self, FakeApi};
    use foundry_platform::tools;
    use pretty_assertions::assert_eq;

    use super::*;

    fn grant(grants: &[&str], permits: &[&str], always: &[&str]) -> Granted {
        let api: Arc<dyn Api> = Arc::new(FakeApi::default());
        let executors = tools::executors(&api);
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let agent = AgentView { tools: names(grants), ..fake::agent("ann") };
        let mut catalog =
            ["remember", "recall", "get_agent", "list_agents", "search"].map(fake::tool).to_vec();
        catalog.extend([ALWAYS, "requeue_queue_jobs", "expire_queue_job"].map(fake::tool));
        catalog.push(CatalogTool { family: ToolFamily::Coding, ..fake::tool("grep") });
        let harness = HarnessView {
            id: "coding-v1".to_owned(),
            tools: names(permits),
            always_granted: names(always),
            features: vec!["repo_scope".to_owned()],
            allows_skills: false,
        };
        granted(&catalog, &agent, &harness, &executors)
    }

    fn names(granted: &Granted) -> Vec<&str> {
        granted.tools.iter().map(|tool| tool.spec.name.as_str()).collect()
    }

    /// CODE-35
    #[test]
    fn a_task_gets_what_is_granted_and_permitted_and_what_is_always_granted() {
        let granted = grant(
            &["list_agents", "get_agent"],
            &["get_agent", "grep", "recall"],
            &["remember", "grep"],
        );
        assert_eq!(names(&granted), ["get_agent", "list_queue_errors", "remember"]);
        assert_eq!(granted.tools[0].spec.description, "Does what get_agent says.");
        assert!(granted.left_out.is_empty(), "{:?}", granted.left_out);
    }

    /// CODE-36
    #[test]
    fn the_dead_letter_queue_can_always_be_read_and_never_be_changed() {
        let wanted = ["requeue_queue_jobs", "expire_queue_job"];
        let granted = grant(&wanted, &wanted, &wanted);
        assert_eq!(names(&granted), ["list_queue_errors"]);
        assert_eq!(granted.left_out.len(), 2);
    }

    /// CODE-35
    #[test]
    fn a_tool_that_cannot_be_run_here_is_left_out_and_named() {
        let granted = grant(&["search"], &["search"], &[]);
        assert_eq!(names(&granted), ["list_queue_errors"]);
        assert!(granted.left_out[0].starts_with("tool search is selected, but"));
    }
}
