//! Who is asking: three kinds of caller, one [`Principal`].

pub mod jwt;
pub mod pod;
pub mod service;

use std::fmt;

use foundry_client::{AGENT_HEADER, WORKSPACE_HEADER};
use foundry_crds::Agent;
use http::{HeaderMap, header};

use self::{jwt::Persons, pod::Pods, service::Services};
use crate::problem::Problem;

/// Whoever asks, in the terms that policies and roles speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Subject acted as: a person's own, or the owner's of an agent (AUTHZ-01).
    pub subject: String,
    /// Workspace, which is a namespace, that ids are looked up in.
    pub workspace: String,
    /// Roles in that workspace.
    pub roles: Vec<String>,
    /// What kind of caller this is.
    pub actor: Actor,
}

/// What kind of caller this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person with a token of the configured issuer.
    Person {
        /// Agent named by header, for relay calls metered to it.
        agent: Option<String>,
    },
    /// A harness pod, which is exactly its own agent.
    Agent {
        /// Name of the agent.
        id: String,
        /// UID of the agent.
        uid: String,
    },
    /// Another service, for the named agent where there is one (AUTHZ-04).
    Service {
        /// Name of the agent.
        agent: Option<String>,
    },
}

impl Actor {
    /// The word for logs and `GET /v1/me`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::Agent { .. } => "agent",
            Self::Service { .. } => "service",
        }
    }

    /// The agent this caller is or speaks for.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Person { agent } | Self::Service { agent } => agent.as_deref(),
            Self::Agent { id, .. } => Some(id),
        }
    }
}

impl Principal {
    /// Whether this is the process of another agent of this one's name, such as one that
    /// was deleted.
    pub fn is_another_than(&self, agent: &Agent) -> bool {
        match &self.actor {
            Actor::Agent { id, uid } => {
                agent.metadata.name.as_ref() == Some(id) && agent.metadata.uid.as_ref() != Some(uid)
            }
            Actor::Person { .. } | Actor::Service { .. } => false,
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.actor.kind(), self.subject)
    }
}

/// Tells callers by their credential.
pub struct Identity {
    /// Persons, when an issuer is configured.
    pub persons: Option<Persons>,
    /// Harness pods.
    pub pods: Pods,
    /// Services, when a service token is configured.
    pub services: Option<Services>,
}

impl Identity {
    /// Who sent these headers. Without a credential that is known: 401.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        let token = bearer(headers)?;
        let claims = Claimed {
            agent: named(headers, AGENT_HEADER)?,
            workspace: named(headers, WORKSPACE_HEADER)?,
        };
        // The form of a token decides who checks it, so that a check which fails for a
        // reason of its own, say an unreadable file, fails only its own callers.
        if !is_jwt(token) {
            return match &self.services {
                Some(services) => services.principal(token, claims).await,
                None => Err(Problem::unauthenticated("the token is not known")),
            };
        }
        if let Some(persons) = &self.persons
            && persons.issued(token)
        {
            return persons.principal(token, claims).await;
        }
        self.pods.principal(token).await
    }
}

/// What a caller says by header; whether it may is decided by its kind.
#[derive(Clone, Debug, Default)]
pub struct Claimed {
    /// `X-Flow-Agent-Id`.
    pub agent: Option<String>,
    /// `X-Flow-Workspace`.
    pub workspace: Option<String>,
}

/// Whether a token has the form of a JWT, as persons' and pods' tokens do and the
/// service token does not.
pub fn is_jwt(token: &str) -> bool {
    token.split('.').count() == 3
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let value = headers
        .get(header::AUTHORIZATION)
        .ok_or_else(|| Problem::unauthenticated("the request carries no credential"))?;
    value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Problem::unauthenticated("the Authorization header is no bearer token"))
}

fn named(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str() {
        Ok(value) if !value.is_empty() => Ok(Some(value.to_owned())),
        _ => Err(Problem::malformed(format!("the header {name} is not readable"))),
    }
}
