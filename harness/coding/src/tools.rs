//! The coding harness's own tools, beside those that read and edit files. Names and
//! schemas are those of the catalog.

mod ask_question;
mod finish;
mod git_push;
mod merge_pull_request;
mod open_pull_request;
mod run_command;
mod save_coding_plan;
mod todos;

use std::sync::Arc;

use foundry_client::Approval;
use foundry_kernel::{Effect, Execute, Tool};
use foundry_llm::ToolSpec;
use serde_json::Value;

use crate::desk::Desk;
use crate::prompt::Delivery;
use crate::site::Site;
use crate::task::attempt::Phase;
use crate::task::clock::Stopwatch;
use crate::task::ledger::Ledger;

/// What the tools of a task work with.
#[derive(Clone)]
pub struct Bench {
    /// Where plans are kept and people are asked.
    pub desk: Arc<dyn Desk>,
    /// The clone and what is done in it.
    pub site: Arc<Site>,
    /// What the task has come to.
    pub ledger: Arc<Ledger>,
    /// The task's clock.
    pub stopwatch: Stopwatch,
    /// Who approves plans and answers questions.
    pub approval: Approval,
}

/// The tools of a phase, in the order in which the model sees them.
pub fn of_phase(phase: Phase, bench: &Bench) -> Vec<Arc<Tool>> {
    let reading = bench.site.reading_tools();
    let mut own = vec![
        run_command::tool(bench),
        ask_question::tool(bench),
        todos::list(bench),
        todos::add(bench),
        todos::update(bench),
    ];
    match phase {
        Phase::Plan => {
            own.push(save_coding_plan::tool(bench));
            reading.into_iter().chain(own.into_iter().map(Arc::new)).collect()
        }
        Phase::Build => {
            match bench.site.delivery() {
                Delivery::Commit => {}
                Delivery::Push | Delivery::PullRequest => {
                    own.push(git_push::tool(bench));
                    own.push(open_pull_request::tool(bench));
                    own.push(merge_pull_request::tool());
                }
            }
            own.push(finish::tool(bench));
            let editing = bench.site.editing_tools();
            reading.into_iter().chain(editing).chain(own.into_iter().map(Arc::new)).collect()
        }
    }
}

fn spec(name: &str, description: &str, input_schema: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
}

fn reads(spec: ToolSpec, executor: impl Execute + 'static) -> Tool {
    Tool::new(spec, Effect::Read, Arc::new(executor))
}

fn writes(spec: ToolSpec, executor: impl Execute + 'static) -> Tool {
    Tool::new(spec, Effect::Write, Arc::new(executor))
}
