//! A real MCP server, by rmcp, that does what tests need and counts what it did. The
//! example `stdio-server` is this one on standard streams.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Tools on a page of the list.
const PAGE: usize = 100;

/// How often a call that reports progress does so.
const BEAT: Duration = Duration::from_millis(50);

/// What one or more lives of a server did, and what holds them.
#[derive(Clone)]
pub struct World {
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
    tools: Arc<Mutex<Vec<Tool>>>,
    /// `held` calls end when a permit is given.
    pub gate: Arc<Semaphore>,
    /// Whether only the revision without a handshake is spoken.
    modern: bool,
}

impl Default for World {
    fn default() -> Self {
        Self {
            counts: Arc::default(),
            tools: Arc::new(Mutex::new(usual_tools())),
            gate: Arc::new(Semaphore::new(0)),
            modern: false,
        }
    }
}

impl World {
    /// One whose server speaks only the revision without a handshake.
    pub fn modern() -> Self {
        Self { modern: true, ..Self::default() }
    }

    /// How often something happened: `initialize`, `list`, `cancelled`, or a call of a tool.
    pub fn count(&self, what: &str) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(what).copied().unwrap_or(0)
    }

    /// Offers these tools.
    pub fn offer(&self, tools: Vec<Tool>) {
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = tools;
    }

    /// Offers one more tool.
    pub fn offer_more(&self, tool: Tool) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).push(tool);
    }

    fn note(&self, what: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(what.to_owned()).or_default() += 1;
    }
}

/// A tool that takes anything.
pub fn tool(name: &str) -> Tool {
    tool_with(name, json!({"type": "object"}))
}

/// A tool with a schema of its own.
pub fn tool_with(name: &str, schema: Value) -> Tool {
    let Value::Object(schema) = schema else { return Tool::default() };
    Tool::new(Cow::Owned(name.to_owned()), format!("does {name}"), Arc::new(schema))
}

/// The same tool, said to only read.
pub fn reading(tool: Tool) -> Tool {
    tool.with_annotations(ToolAnnotations::new().read_only(true))
}

/// The same tool, said to destroy.
pub fn destroying(tool: Tool) -> Tool {
    tool.with_annotations(ToolAnnotations::new().destructive(true))
}

fn usual_tools() -> Vec<Tool> {
    let writing = [
        "write",
        "held_write",
        "fail",
        "refuse",
        "hang",
        "progress",
        "chatter",
        "grow",
        "die",
        "orphan",
        "huge",
        "giant",
        "environment",
    ];
    let reads = ["read", "held_read", "hang_reading"].map(|name| reading(tool(name)));
    reads.into_iter().chain(writing.map(tool)).collect()
}

/// One life of the server.
#[derive(Clone)]
pub struct TestServer {
    world: World,
}

impl TestServer {
    /// Acts in this world.
    pub fn new(world: World) -> Self {
        Self { world }
    }

    async fn beat(&self, context: &RequestContext<RoleServer>, times: u32) {
        let Some(token) = context.meta.get_progress_token() else { return };
        for beat in 0..times {
            tokio::time::sleep(BEAT).await;
            let param = ProgressNotificationParam::new(token.clone(), f64::from(beat));
            if context.peer.notify_progress(param).await.is_err() {
                return;
            }
        }
    }

    async fn act(
        &self,
        name: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let text = |text: String| Ok(CallToolResult::success(vec![ContentBlock::text(text)]));
        match name {
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("the disk is full")])),
            "refuse" => Err(ErrorData::invalid_params("no such row", Some(json!({"row": 7})))),
            "held_read" | "held_write" => {
                if let Ok(permit) = self.world.gate.acquire().await {
                    permit.forget();
                }
                text("let go".to_owned())
            }
            "hang" | "hang_reading" => std::future::pending().await,
            "progress" => {
                self.beat(context, 40).await; // two seconds
                text("done at last".to_owned())
            }
            "chatter" => {
                self.beat(context, u32::MAX).await;
                text("never".to_owned())
            }
            "grow" => {
                self.world.offer_more(tool("grown"));
                drop(context.peer.notify_tool_list_changed().await);
                text("grown".to_owned())
            }
            "die" => {
                drop(writeln!(std::io::stderr(), "panic: the index is corrupt"));
                std::process::exit(3)
            }
            "orphan" => match std::process::Command::new("sleep").arg("600").spawn() {
                Ok(child) => text(child.id().to_string()),
                Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
            },
            "environment" => {
                let names: Vec<String> =
                    std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
                text(names.join("\n"))
            }
            "huge" => text("x".repeat(2_000_000)),
            "giant" => text("x".repeat(17 * 1024 * 1024)),
            other => text(format!("{other} did it")),
        }
    }
}

impl ServerHandler for TestServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        InitializeResult::new(capabilities)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS;
        Cow::Borrowed(if self.world.modern { &known[known.len() - 1..] } else { known })
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.world.note("initialize");
        if self.world.modern {
            let known = self.supported_protocol_versions();
            return Err(ErrorData::unsupported_protocol_version(request.protocol_version, &known));
        }
        let version = request.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(self.get_info().with_protocol_version(version))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.world.note("list");
        let tools = self.world.tools.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let cursor = request.and_then(|request| request.cursor);
        let begin: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let page: Vec<Tool> = tools.iter().skip(begin).take(PAGE).cloned().collect();
        let mut result = ListToolsResult::with_all_items(page);
        result.next_cursor = (begin + PAGE < tools.len()).then(|| (begin + PAGE).to_string());
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        self.world.note(&name);
        let cancelled = context.ct.clone();
        tokio::select! {
            result = self.act(&name, &context) => result.map(CallToolResponse::Complete),
            () = cancelled.cancelled() => {
                self.world.note("cancelled");
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }
}
