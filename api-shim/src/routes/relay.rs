//! Model calls, forwarded for agents (ROUTE-19).

mod chat_completions;
mod messages;

use axum::{body::Body, response::Response};
use foundry_client::AGENT_HEADER;
use foundry_relay::{CallerContext, Wire};
use http::HeaderMap;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    problem::Problem,
    request_id,
};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(messages::relay_messages))
        .routes(routes!(chat_completions::relay_chat_completions))
}

/// Authorizes the call for the agent it is metered to and passes the provider's answer
/// on as it comes.
async fn forward(
    app: &App,
    caller: &Caller,
    wire: Wire,
    headers: &HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    let id = caller.0.actor.agent().ok_or_else(|| {
        Problem::invalid(AGENT_HEADER, "NoAgent", "the call names no agent to meter it to")
            .remedy("name one in X-Flow-Agent-Id")
    })?;
    let agent = app.authorize_agent(caller, Action::CallModel, id).await?;
    let context = CallerContext {
        namespace: caller.0.workspace.clone(),
        agent: id.to_owned(),
        mailbox: agent.status.and_then(|status| status.mailbox),
        request_id: request_id::current().unwrap_or_default(),
    };
    let answer = app.relay.forward(context, wire, headers, payload.into_bytes()).await;
    Ok(answer.map(Body::from_stream))
}
