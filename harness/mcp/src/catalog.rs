//! A server's tools as the kernel's.

use std::collections::BTreeSet;
use std::sync::Arc;

use foundry_kernel::tool::name;
use foundry_kernel::{Effect, Tool, policy};
use foundry_llm::ToolSpec;
use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool as Listed,
};
use serde_json::Value;

use crate::fault::Fault;
use crate::options::Problem;
use crate::remote::Remote;
use crate::server::{Repeat, Server};
use crate::session::Patience;

/// Tools taken of one server.
const TOOLS_LIMIT: usize = 4_096;

/// Bytes of descriptions and schemas kept of one server.
const BYTES_LIMIT: usize = 32 << 20;

/// Pages read of one server's list.
const PAGES_LIMIT: usize = 1_024;

/// The tools of a server, and what is left out.
pub(crate) struct Catalog {
    pub tools: Vec<Arc<Tool>>,
    pub problems: Vec<Problem>,
}

/// Lists a server's tools, all pages.
pub(crate) async fn list(server: &Arc<Server>) -> Result<Catalog, Fault> {
    let mut gathering = Gathering::new(server);
    let mut cursor = None;
    let mut seen = BTreeSet::new();
    for _ in 0..PAGES_LIMIT {
        let page = page(server, cursor).await?;
        for entry in page.entries {
            if let Err(limit) = gathering.add(entry) {
                gathering
                    .problem(format!("it has more than {limit}: what comes after is left out"));
                return Ok(gathering.catalog());
            }
        }
        match page.next {
            None => return Ok(gathering.catalog()),
            Some(next) if !seen.insert(next.clone()) => {
                gathering.problem("its list of tools leads back to a page already read".to_owned());
                return Ok(gathering.catalog());
            }
            Some(next) => cursor = Some(next),
        }
    }
    gathering.problem(format!(
        "its list of tools has more than {PAGES_LIMIT} pages: the rest is left out"
    ));
    Ok(gathering.catalog())
}

struct Page {
    entries: Vec<Entry>,
    next: Option<String>,
}

/// One tool as it was listed, or why it cannot be read, with its name where it has one.
type Entry = Result<Listed, (String, String)>;

async fn page(server: &Arc<Server>, cursor: Option<String>) -> Result<Page, Fault> {
    let request = || {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))
    };
    let limit = server.options().connect;
    let patience = Patience { quiet: limit, whole: limit };
    match server.request(request, patience, Repeat::Safe).await? {
        ServerResult::ListToolsResult(page) => {
            Ok(Page { entries: page.tools.into_iter().map(Ok).collect(), next: page.next_cursor })
        }
        // One tool of a wrong form makes a page of none.
        ServerResult::CustomResult(page) => Ok(Page {
            entries: page
                .0
                .get("tools")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(entry)
                .collect(),
            next: page.0.get("nextCursor").and_then(Value::as_str).map(str::to_owned),
        }),
        _ => Err(Fault::Refused("its list of tools has no form that is known".to_owned())),
    }
}

fn entry(value: &Value) -> Entry {
    serde_json::from_value(value.clone()).map_err(|error| {
        let name = value.get("name").and_then(Value::as_str).unwrap_or("without a name");
        (name.to_owned(), format!("its entry cannot be read: {error}"))
    })
}

struct Gathering<'a> {
    server: &'a Arc<Server>,
    names: BTreeSet<String>,
    tools: Vec<Arc<Tool>>,
    bytes: usize,
    problems: Vec<Problem>,
}

impl<'a> Gathering<'a> {
    fn new(server: &'a Arc<Server>) -> Self {
        Self { server, names: BTreeSet::new(), tools: Vec::new(), bytes: 0, problems: Vec::new() }
    }

    /// Takes a tool; else the limit that leaves no room for it.
    fn add(&mut self, entry: Entry) -> Result<(), String> {
        if self.tools.len() + self.problems.len() >= TOOLS_LIMIT {
            return Err(format!("{TOOLS_LIMIT} tools"));
        }
        match entry.and_then(|listed| self.tool(listed)) {
            Ok((_, bytes)) if self.bytes + bytes > BYTES_LIMIT => {
                return Err(format!("{BYTES_LIMIT} bytes of tools"));
            }
            Ok((tool, bytes)) => {
                self.bytes += bytes;
                self.tools.push(Arc::new(tool));
            }
            Err((name, words)) => {
                let words = self.server.clean(&words);
                self.problems.push(Problem::of_tool(self.server.name(), &name, words));
            }
        }
        Ok(())
    }

    /// The tool, and how many bytes of it are kept.
    fn tool(&mut self, listed: Listed) -> Result<(Tool, usize), (String, String)> {
        let true_name = listed.name.to_string();
        let refused = |words: String| Err((true_name.clone(), words));
        if !self.names.insert(true_name.clone()) {
            return refused(
                "the server has another tool of this name, which came first".to_owned(),
            );
        }
        let input_schema = Value::Object(Arc::unwrap_or_clone(listed.input_schema));
        if let Err(words) = policy::schema::check(&input_schema) {
            return refused(format!("its schema is not usable: {words}"));
        }
        let annotations = listed.annotations.unwrap_or_default();
        let says_read = annotations.read_only_hint == Some(true);
        let effect =
            if says_read && self.server.trusts_read_only() { Effect::Read } else { Effect::Write };
        let title = listed.title.or(annotations.title);
        let description = listed.description.map(std::borrow::Cow::into_owned);
        let spec = ToolSpec {
            name: name::safe(self.server.name(), &true_name),
            description: description.or(title).unwrap_or_default(),
            input_schema,
        };
        let bytes = spec.description.len() + spec.input_schema.to_string().len();
        let remote = Remote::new(self.server.clone(), true_name, effect);
        let tool = Tool::new(spec, effect, Arc::new(remote)).deferred();
        // A word that asks for more care needs no trust.
        let is_guarded = annotations.destructive_hint == Some(true) && effect == Effect::Write;
        Ok((if is_guarded { tool.guarded() } else { tool }, bytes))
    }

    fn problem(&mut self, words: String) {
        self.problems.push(Problem::of_server(self.server.name(), words));
    }

    fn catalog(self) -> Catalog {
        Catalog { tools: self.tools, problems: self.problems }
    }
}
