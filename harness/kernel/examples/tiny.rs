//! An agent as small as can be: a tool, a host, and the loop.
//!
//! ```console
//! $ cargo run -p foundry-kernel --example tiny -- http://127.0.0.1:8080/v1 qwen "Count this."
//! ```

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{
    Control, Effect, Event, Execute, Host, ModelCall, Purpose, Run, RunOptions, Settings, Tool,
    ToolError, UserInput, drive,
};
use foundry_llm::{Auth, Endpoint, Limits, LlmError, Reply, ToolSpec, Transport, Wire};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A tool: it gets arguments that fit its schema, and gives what the model reads.
struct CountWords;

#[async_trait]
impl Execute for CountWords {
    async fn execute(&self, arguments: Map<String, Value>) -> Result<String, ToolError> {
        let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default();
        Ok(format!("{} words", text.split_whitespace().count()))
    }
}

fn count_words() -> Tool {
    let spec = ToolSpec {
        name: "count_words".to_owned(),
        description: "Counts the words of a text.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        }),
    };
    Tool::new(spec, Effect::Read, Arc::new(CountWords))
}

/// A host: the world as far as a run needs one.
struct Terminal {
    model: Transport,
    control: Control,
}

#[async_trait]
impl Host for Terminal {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        match call.purpose {
            Purpose::Turn => self.model.stream(&call.request, &mut |_delta| ()).await,
            Purpose::Summary => self.model.complete(&call.request).await,
        }
    }

    async fn wait_until(&mut self, at: Timestamp) {
        let wait = at.duration_since(self.now());
        tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        if let Event::ToolStarted { call, .. } = event {
            writeln!(std::io::stderr(), "{} {}", call.call.name, call.call.arguments).ok();
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(model), Some(question)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("give the model's URL, its name and a question".into());
    };
    let endpoint = Endpoint::new(Wire::OpenAi, &url.parse()?, Auth::None)?;
    let mut host = Terminal {
        model: Transport::new(endpoint, Limits::default(), Arc::new(Timestamp::now))?,
        control: Control::default(),
    };
    let mut run = Run::new(RunOptions {
        settings: Settings::new(model, "You count words with your tool and answer briefly."),
        history: Vec::new(),
        input: UserInput::from(question),
        tools: vec![Arc::new(count_words())],
    })?;
    let outcome = drive(&mut run, &mut host).await;
    writeln!(std::io::stdout(), "{}", outcome.answer())?;
    Ok(())
}
