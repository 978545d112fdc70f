//! Runs a server's tool.

use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{Effect, Execute, ToolError};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::{Map, Value};

use crate::content;
use crate::fault::Fault;
use crate::server::{Repeat, Server};
use crate::session::Patience;

/// One tool of one server.
pub(crate) struct Remote {
    server: Arc<Server>,
    /// As the server calls it.
    name: String,
    effect: Effect,
}

impl Remote {
    pub(crate) fn new(server: Arc<Server>, name: String, effect: Effect) -> Self {
        Self { server, name, effect }
    }

    /// Why the call brought nothing. What may have been carried out is unknown, unless
    /// carrying it out changes nothing (KERN-41).
    fn failed(&self, fault: Fault) -> ToolError {
        let told = |words: &str| self.server.says(words);
        match (fault, self.effect) {
            (Fault::Unsent(words), _) => {
                ToolError::Failed(told(&format!("{words}; {} was not called", self.name)))
            }
            (Fault::Refused(words), _)
            | (Fault::Lost(words) | Fault::Doubtful(words), Effect::Read) => {
                ToolError::Failed(told(&words))
            }
            (Fault::Lost(words) | Fault::Doubtful(words), Effect::Write) => {
                ToolError::Unknown(told(&format!("{words} while {} ran", self.name)))
            }
        }
    }
}

#[async_trait]
impl Execute for Remote {
    async fn execute(&self, arguments: Map<String, Value>) -> Result<String, ToolError> {
        let request = || {
            let params = CallToolRequestParams::new(self.name.clone());
            let params = params.with_arguments(arguments.clone());
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        let options = self.server.options();
        let patience = Patience::new(options.call, options.call_cap.max(options.call));
        let repeat = match self.effect {
            Effect::Read => Repeat::Safe,
            Effect::Write => Repeat::Never,
        };
        let answer = self.server.request(request, patience, repeat).await;
        let result =
            match answer.map_err(|fault| self.failed(fault))? {
                ServerResult::CallToolResult(result) => content::of_result(&result),
                ServerResult::InputRequiredResult(_) => Err(ToolError::Failed(self.server.says(
                    &format!("{} asks a person for input, which cannot be given here", self.name),
                ))),
                ServerResult::CreateTaskResult(_) => Err(ToolError::Unknown(self.server.says(
                    &format!("{} runs on as a task, which is not waited for here", self.name),
                ))),
                other => content::of_other(other),
            };
        // A server may repeat what it was given, and transcripts are kept.
        result.map(|text| self.server.clean_result(text)).map_err(|error| match error {
            ToolError::Failed(words) => ToolError::Failed(self.server.clean_result(words)),
            ToolError::Unknown(words) => ToolError::Unknown(self.server.clean_result(words)),
        })
    }
}
