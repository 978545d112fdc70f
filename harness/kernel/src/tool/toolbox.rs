//! The tools of one run, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use foundry_llm::ToolSpec;

use super::{AssembleError, Tool, name};
use crate::policy::structured::OutputSchema;
use crate::policy::{schema, search, structured};

/// What a run may call: the tools its host gave it, and those of the kernel that answer
/// for themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toolbox {
    tools: Vec<Arc<Tool>>,
    by_name: BTreeMap<String, usize>,
    /// Names of the deferred tools, in the order in which they were given.
    deferred: Vec<String>,
    /// `ToolSearch`, when a tool is deferred (KERN-08).
    search: Option<Arc<Tool>>,
    /// `structured_output`, when the run has an output schema (KERN-28).
    output: Option<Arc<Tool>>,
}

/// A name and what is behind it.
pub(crate) enum Found<'a> {
    /// A tool of the host.
    Tool(&'a Arc<Tool>),
    /// The kernel's search for deferred tools.
    Search(&'a Tool),
    /// The kernel's tool that takes the run's output.
    Output(&'a Tool),
    /// Nothing.
    None,
}

impl Toolbox {
    /// Takes the tools in the order in which the model will see them. A tool that could
    /// not be called stops it, by name (LOOP-29).
    pub(crate) fn assemble(
        tools: Vec<Arc<Tool>>,
        output: Option<&OutputSchema>,
    ) -> Result<Self, AssembleError> {
        let output = output.map(structured::tool).transpose()?;
        let deferred: Vec<String> =
            tools.iter().filter(|tool| tool.deferred).map(|tool| tool.spec.name.clone()).collect();
        let search = (!deferred.is_empty()).then(|| search::tool(&tools));
        let mut by_name = BTreeMap::new();
        for (position, tool) in tools.iter().enumerate() {
            let name = &tool.spec.name;
            if !name::is_legal(name) {
                return Err(AssembleError::IllegalName(name.clone()));
            }
            check_schema(tool)?;
            let taken = [&search, &output].into_iter().flatten().any(|own| own.spec.name == *name);
            if taken || by_name.insert(name.clone(), position).is_some() {
                return Err(AssembleError::DuplicateName(name.clone()));
            }
        }
        Ok(Self {
            tools,
            by_name,
            deferred,
            search: search.map(Arc::new),
            output: output.map(Arc::new),
        })
    }

    /// A tool of the host, deferred or not.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).and_then(|position| self.tools.get(*position))
    }

    /// What a call of this name means.
    pub(crate) fn find(&self, name: &str) -> Found<'_> {
        let is = |own: &&Arc<Tool>| own.spec.name == name;
        if let Some(tool) = self.get(name) {
            Found::Tool(tool)
        } else if let Some(search) = self.search.as_ref().filter(is) {
            Found::Search(search)
        } else if let Some(output) = self.output.as_ref().filter(is) {
            Found::Output(output)
        } else {
            Found::None
        }
    }

    /// What the model may call now: the same tools in the same order give the same bytes,
    /// and a tool that was found comes last, so that all before it stays cached.
    pub(crate) fn specs(&self, activated: &[String]) -> Vec<ToolSpec> {
        self.in_sight(activated).map(|tool| tool.spec.clone()).collect()
    }

    /// Names of what the model may call now, in order.
    pub(crate) fn names<'a>(&'a self, activated: &'a [String]) -> impl Iterator<Item = &'a str> {
        self.in_sight(activated).map(|tool| tool.spec.name.as_str())
    }

    /// About how many bytes the tools take in a request.
    pub(crate) fn spec_bytes(&self, activated: &[String]) -> u64 {
        self.in_sight(activated).map(|tool| schema::spec_bytes(&tool.spec)).sum()
    }

    /// Whether results of this tool stay in sight (SKILL-13).
    pub(crate) fn stays(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.stays)
    }

    /// The deferred tools, found or not, in the order in which they were given.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.deferred.iter().filter_map(|name| self.get(name))
    }

    fn in_sight<'a>(&'a self, activated: &'a [String]) -> impl Iterator<Item = &'a Arc<Tool>> {
        let given = self.tools.iter().filter(|tool| !tool.deferred);
        let own = [&self.search, &self.output].into_iter().flatten();
        // A stored run may have found a tool that is gone, or is no longer deferred.
        let found = activated.iter().filter_map(|name| self.get(name)).filter(|tool| tool.deferred);
        given.chain(own).chain(found)
    }
}

/// What is out of sight is looked at in full when it is found.
fn check_schema(tool: &Tool) -> Result<(), AssembleError> {
    let (name, schema) = (&tool.spec.name, &tool.spec.input_schema);
    if !schema.is_object() {
        return Err(AssembleError::NoSchema(name.clone()));
    }
    let checked = if tool.deferred { schema::check_lightly(schema) } else { tool.prepare() };
    checked
        .map_err(|error| AssembleError::BadSchema { tool: name.clone(), reason: error.to_string() })
}
