//! A person's own MCP servers, whose tools join a run (KERN-08).

use std::any::Any;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_client::LogLevel;
use foundry_git::Minded;
use foundry_kernel::Tool;
use foundry_mcp::{Children, ConfigError, Connections, Environment, Options, Problem, Servers};
use foundry_platform::events::kind;
use foundry_platform::tell::Lines;
use tokio_util::sync::CancellationToken;

use crate::engine::Granted;

/// Why a file of servers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("failed to read MCP servers from {file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// It does not say which servers there are.
    #[error("{file}: {source}")]
    Unusable {
        /// The file.
        file: String,
        /// What is wrong in it.
        source: ConfigError,
    },
}

/// Reads the servers of a file; nothing is started.
pub(crate) fn read(
    file: &Path,
    environment: &[(OsString, OsString)],
) -> Result<Servers, FileError> {
    let shown = || file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|source| FileError::Unreadable { file: shown(), source })?;
    // What is no text cannot stand in a file of text.
    let known = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    Servers::parse(&text, &Environment::new(known))
        .map_err(|source| FileError::Unusable { file: shown(), source })
}

/// Servers that are open. Their processes end with this.
pub(crate) struct McpTools {
    connections: Connections,
    lines: Arc<dyn Lines>,
    stop: CancellationToken,
}

impl McpTools {
    /// Connects to the servers; one that fails is a line, and the others serve.
    pub(crate) async fn open(
        servers: Servers,
        lines: Arc<dyn Lines>,
        stop: CancellationToken,
    ) -> Self {
        let options = Options { children: Some(Arc::new(Minding)), ..Options::default() };
        let (connections, problems) = Connections::open(servers, options).await;
        let opened = Self { connections, lines, stop };
        opened.tell(&problems);
        opened
    }

    /// Ends sessions and processes in good order.
    pub(crate) async fn close(self) {
        self.connections.close().await;
    }

    fn tell(&self, problems: &[Problem]) {
        for problem in problems {
            self.lines.write(kind::WARNING, LogLevel::Warn, &problem.to_string(), None);
        }
    }
}

#[async_trait]
impl Granted for McpTools {
    /// A server may have other tools by now, or be back.
    async fn tools(&self) -> Vec<Arc<Tool>> {
        // A server that hangs must not hold up somebody who wants to stop.
        if let Some(problems) = self.stop.run_until_cancelled(self.connections.refresh()).await {
            self.tell(&problems);
        }
        self.connections.tools()
    }
}

/// This process ends orphans, and must not take a server for one.
struct Minding;

impl Children for Minding {
    fn start(
        &self,
        spawn: &mut dyn FnMut() -> io::Result<u32>,
    ) -> io::Result<Box<dyn Any + Send + Sync>> {
        Ok(Box::new(Minded::start(spawn)?))
    }
}
