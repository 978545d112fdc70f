//! The embedded Cedar policies: read, validated strictly and asked.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use cedar_policy::{
    Authorizer, Context, Decision as CedarDecision, Entities, Entity, EntityId, EntityTypeName,
    EntityUid, PolicySet, Request, RestrictedExpression, Schema, ValidationMode, Validator,
};

use super::{Action, Decision};
use crate::identity::{Actor, Principal};

const SCHEMA: &str = include_str!("../../policies/schema.cedarschema");
const POLICIES: [(&str, &str); 4] = [
    ("limits.cedar", include_str!("../../policies/limits.cedar")),
    ("person.cedar", include_str!("../../policies/person.cedar")),
    ("pod.cedar", include_str!("../../policies/pod.cedar")),
    ("service.cedar", include_str!("../../policies/service.cedar")),
];

/// Why the policies cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The schema does not parse.
    #[error("policies/schema.cedarschema is not a schema: {0}")]
    Schema(String),
    /// A policy file does not parse.
    #[error("policies/{file} is not a policy file: {cause}")]
    Policy {
        /// The file.
        file: &'static str,
        /// Cedar's words.
        cause: String,
    },
    /// The policies do not fit the schema.
    #[error("the policies do not fit the schema: {0}")]
    Invalid(String),
    /// An entity of a request could not be built.
    #[error("failed to build entity: {0}")]
    Entity(String),
}

/// The policies in force.
pub struct Policies {
    schema: Schema,
    set: PolicySet,
    authorizer: Authorizer,
    types: Types,
}

/// The schema's entity types, parsed once.
struct Types {
    workspace: EntityTypeName,
    agent: EntityTypeName,
    coding_run: EntityTypeName,
    person: EntityTypeName,
    pod: EntityTypeName,
    service: EntityTypeName,
    action: EntityTypeName,
}

impl Types {
    fn new() -> Result<Self, PolicyError> {
        let named = |name: &str| {
            format!("Foundry::{name}")
                .parse::<EntityTypeName>()
                .map_err(|error| PolicyError::Entity(error.to_string()))
        };
        Ok(Self {
            workspace: named("Workspace")?,
            agent: named("Agent")?,
            coding_run: named("CodingRun")?,
            person: named("Person")?,
            pod: named("Pod")?,
            service: named("Service")?,
            action: named("Action")?,
        })
    }

    fn workspace(&self, name: &str) -> EntityUid {
        uid(&self.workspace, name)
    }

    fn agent(&self, workspace: &str, id: &str) -> EntityUid {
        uid(&self.agent, &format!("{workspace}/{id}"))
    }

    /// The caller with the attributes that its kind has in the schema.
    fn principal(&self, caller: &Principal) -> Result<Entity, PolicyError> {
        let workspace = reference(&self.workspace(&caller.workspace));
        let mut attributes = HashMap::from([("workspace".to_owned(), workspace)]);
        let kind = match &caller.actor {
            Actor::Person { .. } => {
                let roles = caller.roles.iter().cloned().map(RestrictedExpression::new_string);
                attributes.insert("roles".to_owned(), RestrictedExpression::new_set(roles));
                &self.person
            }
            Actor::Agent { id, .. } => {
                let agent = reference(&self.agent(&caller.workspace, id));
                attributes.insert("agent".to_owned(), agent);
                &self.pod
            }
            Actor::Service { agent } => {
                if let Some(id) = agent {
                    let agent = reference(&self.agent(&caller.workspace, id));
                    attributes.insert("agent".to_owned(), agent);
                }
                &self.service
            }
        };
        Entity::new(uid(kind, &caller.subject), attributes, HashSet::new())
            .map_err(|error| PolicyError::Entity(error.to_string()))
    }

    fn coding_run(&self, workspace: &str, id: &str) -> EntityUid {
        uid(&self.coding_run, &format!("{workspace}/{id}"))
    }

    /// The resource, each of its ancestors and the workspace, every one under the next.
    fn with_ancestors(
        &self,
        workspace: &str,
        resource: &EntityUid,
        ancestors: &[String],
    ) -> Vec<Entity> {
        let top = self.workspace(workspace);
        let mut entities = vec![Entity::new_no_attrs(top.clone(), HashSet::new())];
        let mut above = None;
        let line = ancestors.iter().rev().map(|name| self.agent(workspace, name));
        for this in line.chain([resource.clone()]) {
            let parents = [Some(top.clone()), above].into_iter().flatten().collect();
            entities.push(Entity::new_no_attrs(this.clone(), parents));
            above = Some(this);
        }
        entities
    }
}

impl Policies {
    /// The policies this binary carries.
    pub fn embedded() -> Result<Self, PolicyError> {
        Self::read(SCHEMA, &POLICIES)
    }

    /// Reads a schema and policy files and validates one against the other.
    pub fn read(schema: &str, files: &[(&'static str, &str)]) -> Result<Self, PolicyError> {
        let (schema, _) = Schema::from_cedarschema_str(schema)
            .map_err(|error| PolicyError::Schema(error.to_string()))?;
        let policies = policy_set(files)?;
        let checked = Validator::new(schema.clone()).validate(&policies, ValidationMode::Strict);
        if !checked.validation_passed_without_warnings() {
            let mut words = String::new();
            for error in checked.validation_errors() {
                write!(words, "{error}; ").map_err(|e| PolicyError::Invalid(e.to_string()))?;
            }
            for warning in checked.validation_warnings() {
                write!(words, "{warning}; ").map_err(|e| PolicyError::Invalid(e.to_string()))?;
            }
            return Err(PolicyError::Invalid(words));
        }
        Ok(Self { schema, set: policies, authorizer: Authorizer::new(), types: Types::new()? })
    }

    /// Decides an action on the caller's workspace.
    pub fn decide_workspace(&self, caller: &Principal, action: Action) -> Decision {
        let workspace = self.types.workspace(&caller.workspace);
        self.ask(caller, action, workspace, Vec::new()).unwrap_or_else(|error| refusal(&error))
    }

    /// Decides an action on an agent with these ancestors, parent first.
    pub fn decide_agent(
        &self,
        caller: &Principal,
        action: Action,
        id: &str,
        ancestors: &[String],
    ) -> Decision {
        let agent = self.types.agent(&caller.workspace, id);
        self.decide_under(caller, action, agent, ancestors)
    }

    /// Decides an action on a coding run that the first of these agents spawned, if any.
    pub fn decide_run(
        &self,
        caller: &Principal,
        action: Action,
        id: &str,
        ancestors: &[String],
    ) -> Decision {
        let run = self.types.coding_run(&caller.workspace, id);
        self.decide_under(caller, action, run, ancestors)
    }

    fn decide_under(
        &self,
        caller: &Principal,
        action: Action,
        resource: EntityUid,
        ancestors: &[String],
    ) -> Decision {
        let entities = self.types.with_ancestors(&caller.workspace, &resource, ancestors);
        self.ask(caller, action, resource, entities).unwrap_or_else(|error| refusal(&error))
    }

    fn ask(
        &self,
        caller: &Principal,
        action: Action,
        resource: EntityUid,
        mut entities: Vec<Entity>,
    ) -> Result<Decision, PolicyError> {
        let principal = self.types.principal(caller)?;
        let request = Request::new(
            principal.uid(),
            uid(&self.types.action, &action.to_string()),
            resource,
            Context::empty(),
            Some(&self.schema),
        )
        .map_err(|error| PolicyError::Entity(error.to_string()))?;
        entities.push(principal);
        if let Actor::Agent { id, .. } = &caller.actor {
            let own = self.types.agent(&caller.workspace, id);
            // A pod may ask about another agent; its own must be known then too.
            if !entities.iter().any(|entity| entity.uid() == own) {
                entities.push(Entity::new_no_attrs(own, HashSet::new()));
            }
        }
        let entities = Entities::from_entities(entities, Some(&self.schema))
            .map_err(|error| PolicyError::Entity(error.to_string()))?;
        let response = self.authorizer.is_authorized(&request, &self.set, &entities);
        let diagnostics = response.diagnostics();
        if let Some(error) = diagnostics.errors().next() {
            return Ok(refusal(&PolicyError::Invalid(error.to_string())));
        }
        let mut ids = diagnostics.reason().map(|id| self.named(id)).collect::<Vec<_>>();
        ids.sort();
        Ok(match response.decision() {
            CedarDecision::Allow => {
                Decision { allowed: true, because: format!("policy {}", ids.join(", ")) }
            }
            CedarDecision::Deny if ids.is_empty() => {
                Decision { allowed: false, because: "no policy permits it".to_owned() }
            }
            CedarDecision::Deny => {
                Decision { allowed: false, because: format!("policy {}", ids.join(", ")) }
            }
        })
    }

    /// The `@id` of a policy, which unlike Cedar's own number survives an edit.
    fn named(&self, id: &cedar_policy::PolicyId) -> String {
        self.set.annotation(id, "id").map_or_else(|| id.to_string(), str::to_owned)
    }
}

fn refusal(error: &PolicyError) -> Decision {
    tracing::error!(cause = %error, "failed to evaluate the policies; the request is refused");
    Decision { allowed: false, because: "the policies could not be evaluated".to_owned() }
}

/// All files as one set: each is parsed alone, so that an error names its file.
fn policy_set(files: &[(&'static str, &str)]) -> Result<PolicySet, PolicyError> {
    let mut all = PolicySet::new();
    for (file, text) in files {
        let failed = |cause: String| PolicyError::Policy { file, cause };
        let parsed = text.parse::<PolicySet>().map_err(|error| failed(error.to_string()))?;
        for policy in parsed.policies() {
            let id = policy
                .annotation("id")
                .filter(|id| !id.is_empty())
                .ok_or_else(|| failed(format!("policy {} has no @id", policy.id())))?;
            let id = id.parse().map_err(|_| failed(format!("{id} is no policy id")))?;
            all.add(policy.new_id(id)).map_err(|error| failed(error.to_string()))?;
        }
    }
    Ok(all)
}

fn reference(uid: &EntityUid) -> RestrictedExpression {
    RestrictedExpression::new_entity_uid(uid.clone())
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}
