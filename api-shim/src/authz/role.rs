//! The caller's role on one agent, from the agent at the top of its parents
//! (AUTHZ-02).

use std::fmt;

use foundry_crds::{AgentSpec, agent::MemberRole};

use super::{Action, Scope};
use crate::identity::{Actor, Principal};

/// Role name in a token that lets a person read every agent of the workspace.
const ADMIN: &str = "admin";

/// A role on an agent, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whom the agent acts as. Its own pod, and a service that names it, act so too.
    Owner,
    /// May read and change.
    Editor,
    /// May read.
    Viewer,
    /// Not a member; may read because of the role in the workspace.
    Administrator,
}

impl Role {
    /// The strongest role the caller has, if any.
    pub fn of(caller: &Principal, top: &AgentSpec) -> Option<Self> {
        if caller.subject == top.owner {
            return Some(Self::Owner);
        }
        let member = top.members.iter().find(|member| member.subject == caller.subject);
        match member.map(|member| member.role) {
            Some(MemberRole::Editor) => Some(Self::Editor),
            Some(MemberRole::Viewer) => Some(Self::Viewer),
            None => {
                let administrates = match &caller.actor {
                    Actor::Person { .. } => caller.roles.iter().any(|role| role == ADMIN),
                    Actor::Agent { .. } | Actor::Service { .. } => false,
                };
                administrates.then_some(Self::Administrator)
            }
        }
    }

    /// Whether this role suffices.
    pub fn may(self, action: Action) -> bool {
        match (self, action.scope()) {
            (Self::Owner, _)
            | (
                Self::Editor | Self::Viewer | Self::Administrator,
                Scope::Workspace | Scope::AgentRead | Scope::RunRead,
            )
            | (Self::Editor, Scope::AgentChange) => true,
            (Self::Editor, Scope::AgentReport)
            | (Self::Viewer | Self::Administrator, Scope::AgentChange | Scope::AgentReport) => {
                false
            }
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "owner",
            Self::Editor => "editor",
            Self::Viewer => "viewer",
            Self::Administrator => "administrator",
        })
    }
}
