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

/// Bytes of names, descriptions and schemas kept of one server.
const BYTES_LIMIT: usize = 32 << 20;

/// Bytes of a tool's name.
const NAME_LIMIT: usize = 1_024;

/// Characters of a description: more than this would take the place of the work.
const DESCRIPTION_LIMIT: usize = 16_000;

/// Bytes of what leads to the next page.
const CURSOR_LIMIT: usize = 64 << 10;

/// Tools that are left out and named one by one.
const PROBLEMS_LIMIT: usize = 20;

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
            // Schemas take long to be looked at, and the limit must be heeded meanwhile.
            tokio::task::yield_now().await;
            if let Err(limit) = gathering.add(entry) {
                gathering
                    .problem(format!("it has more than {limit}: what comes after is left out"));
                return Ok(gathering.catalog());
            }
        }
        match page.next {
            None => return Ok(gathering.catalog()),
            Some(next) if next.len() > CURSOR_LIMIT => {
                gathering.problem(format!(
                    "its list of tools goes on at a mark of more than {CURSOR_LIMIT} bytes: the rest is left out"
                ));
                return Ok(gathering.catalog());
            }
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
    let patience = Patience::new(limit, limit);
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
    /// By which its tools are called there.
    true_names: BTreeSet<String>,
    /// By which they are called here.
    names: BTreeSet<String>,
    tools: Vec<Arc<Tool>>,
    bytes: usize,
    problems: Vec<Problem>,
    left_out: usize,
}

impl<'a> Gathering<'a> {
    fn new(server: &'a Arc<Server>) -> Self {
        Self {
            server,
            true_names: BTreeSet::new(),
            names: BTreeSet::new(),
            tools: Vec::new(),
            bytes: 0,
            problems: Vec::new(),
            left_out: 0,
        }
    }

    /// Takes a tool; else the limit that leaves no room for it.
    fn add(&mut self, entry: Entry) -> Result<(), String> {
        if self.tools.len() + self.left_out >= TOOLS_LIMIT {
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
            Err((name, words)) => self.leave_out(&name, &words),
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &str, words: &str) {
        self.left_out += 1;
        if self.left_out <= PROBLEMS_LIMIT {
            let (name, words) = (self.server.short(name), self.server.short(words));
            self.problems.push(Problem::of_tool(self.server.name(), &name, words));
        }
    }

    /// The tool, and how many bytes of it are kept.
    fn tool(&mut self, listed: Listed) -> Result<(Tool, usize), (String, String)> {
        let true_name = listed.name.to_string();
        let refused = |words: String| Err((true_name.clone(), words));
        if true_name.len() > NAME_LIMIT {
            return refused(format!("its name has more than {NAME_LIMIT} bytes"));
        }
        let name = name::safe(self.server.name(), &true_name);
        if !self.true_names.insert(true_name.clone()) {
            return refused(
                "the server has another tool of this name, which came first".to_owned(),
            );
        }
        // Names can be found that come to one, and no run begins with two tools of one name.
        if !self.names.insert(name.clone()) {
            return refused(
                "its name comes to the same here as that of another tool, which came first"
                    .to_owned(),
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
        let description = self.server.clean_result(description.or(title).unwrap_or_default());
        let spec = ToolSpec { name, description: bounded(description), input_schema };
        let schema_bytes = spec.input_schema.to_string().len();
        let bytes = true_name.len() + spec.description.len() + schema_bytes;
        let remote = Remote::new(self.server.clone(), true_name, effect);
        let tool = Tool::new(spec, effect, Arc::new(remote)).deferred();
        // A word that asks for more care needs no trust.
        let is_guarded = annotations.destructive_hint == Some(true) && effect == Effect::Write;
        Ok((if is_guarded { tool.guarded() } else { tool }, bytes))
    }

    fn problem(&mut self, words: String) {
        self.problems.push(Problem::of_server(self.server.name(), words));
    }

    fn catalog(mut self) -> Catalog {
        if let more @ 1.. = self.left_out.saturating_sub(PROBLEMS_LIMIT) {
            self.problem(format!("{more} more of its tools are left out"));
        }
        Catalog { tools: self.tools, problems: self.problems }
    }
}

/// The description, cut where it is beyond all measure.
fn bounded(mut description: String) -> String {
    if let Some((end, _)) = description.char_indices().nth(DESCRIPTION_LIMIT) {
        description.truncate(end);
        description.push_str("… (cut: it is longer than is shown)");
    }
    description
}
