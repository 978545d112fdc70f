//! What a host decides about all its servers, and what it is told of them.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Characters of a tool's name that a problem tells.
const NAME_SHOWN: usize = 100;

/// Limits and habits, the same for all servers of a host.
#[derive(Clone)]
pub struct Options {
    /// How long connecting, the handshake and listing tools may take, each.
    pub connect: Duration,
    /// How long a call may take without a word from its server. A server that reports
    /// progress gets as long again, up to `call_cap`.
    pub call: Duration,
    /// How long a call may take in all.
    pub call_cap: Duration,
    /// Whether every server is believed when it says that a tool only reads. A server's
    /// own [`trust_read_only`](crate::Server::trust_read_only) may say so for one.
    pub trust_read_only: bool,
    /// Told of each child that is started, where the process minds its children.
    pub children: Option<Arc<dyn Children>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            call: Duration::from_mins(2),
            call_cap: Duration::from_mins(10),
            trust_read_only: false,
            children: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connect, call, call_cap, trust_read_only, children } = self;
        f.debug_struct("Options")
            .field("connect", connect)
            .field("call", call)
            .field("call_cap", call_cap)
            .field("trust_read_only", trust_read_only)
            .field("children", &children.is_some())
            .finish()
    }
}

/// Who minds the children of this process, such as one that ends orphans and must not
/// take a server for one.
pub trait Children: Send + Sync {
    /// Calls `spawn` once, which starts a child and gives its process id. What comes
    /// back is held for as long as the child lives.
    fn start(
        &self,
        spawn: &mut dyn FnMut() -> io::Result<u32>,
    ) -> io::Result<Box<dyn Any + Send + Sync>>;
}

/// Something that a server, or one of its tools, cannot do; the rest serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool that is left out, by the server's own name for it; none when it is the server.
    pub tool: Option<String>,
    /// What is wrong and what to do, without any secret.
    pub words: String,
}

impl Problem {
    pub(crate) fn of_server(server: &str, words: impl Into<String>) -> Self {
        Self { server: server.to_owned(), tool: None, words: one_line(&words.into()) }
    }

    pub(crate) fn of_tool(server: &str, tool: &str, words: impl Into<String>) -> Self {
        // The name is the server's own, and may be anything.
        let tool = tool.chars().take(NAME_SHOWN).collect::<String>().escape_debug().to_string();
        Self { server: server.to_owned(), tool: Some(tool), words: one_line(&words.into()) }
    }
}

/// The words as one line: a server must not write lines of its own where problems are told.
fn one_line(words: &str) -> String {
    words.replace(char::is_control, " ")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tool, words } = self;
        match tool {
            Some(tool) => write!(f, "MCP server {server}: tool {tool} is left out: {words}"),
            None => write!(f, "MCP server {server}: {words}"),
        }
    }
}
