//! Memories of an agent and the thoughts made of them.

mod delete;
mod list;
mod purge;
mod recall;
mod remember;
mod thoughts;

use foundry_client::{AuthorKind, Memory, Tier};
use foundry_store::Author;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, problem::Problem};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_memories, remember::remember, purge::purge_memories))
        .routes(routes!(recall::recall))
        .routes(routes!(delete::delete_memory))
        .routes(routes!(thoughts::read_thoughts))
}

fn memory(row: foundry_store::Memory) -> Result<Memory, Problem> {
    let foundry_store::Memory { id, text, tier, author, created_at, consolidated_at, superseded } =
        row;
    let (author_kind, author) = match author {
        Author::Person(subject) => (AuthorKind::Person, subject),
        Author::Agent(id) => (AuthorKind::Agent, id),
    };
    Ok(Memory {
        id: id.parse().map_err(|_| Problem::bug("a memory's id is no UUID"))?,
        text,
        tier: match tier {
            foundry_store::Tier::Core => Tier::Core,
            foundry_store::Tier::Archive => Tier::Archive,
        },
        author_kind,
        author,
        created_at,
        reviewed_at: consolidated_at,
        superseded,
    })
}

fn memories(rows: Vec<foundry_store::Memory>) -> Result<Vec<Memory>, Problem> {
    rows.into_iter().map(memory).collect()
}
