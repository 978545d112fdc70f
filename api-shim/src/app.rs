//! The application: what handlers stand on, and the router that leads to them.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
};
use foundry_crds::Agent;
pub use foundry_platform::clock::Clock;
use foundry_relay::Relay;
use foundry_store::{AgentKey, Store};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    agents::{slugs::Slugs, verbs::Verbs},
    authz::{Action, Authorizer},
    bell::Bells,
    cluster::Cluster,
    coding_runs::reported::RunStatuses,
    documents::Documents,
    extract::Caller,
    identity::Identity,
    intelligence::Intelligence,
    metrics::Metrics,
    middleware::{self, Templates},
    outbox::Courier,
    problem::Problem,
    reported::AgentStatuses,
    request_id, routes,
};

/// Longest body of most routes.
const MAX_BODY: usize = 1024 * 1024;
/// Longest body of a post of log events, and of a plan.
const MAX_LONG_BODY: usize = 8 * 1024 * 1024;
/// Longest model request.
const MAX_RELAY_BODY: usize = 32 * 1024 * 1024;
/// Longest time for most routes; verbs and inbox reads stay well below.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Longest time until a model answers: the relay waits ten minutes for its provider
/// (LOOP-20), and a little is added for its own work.
const RELAY_TIME: Duration = Duration::from_mins(11);

/// What handlers stand on. Clones are the same application.
pub type App = Arc<AppState>;

/// The parts of the application.
pub struct AppState {
    /// What is remembered.
    pub store: Store,
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// Who is asking.
    pub identity: Identity,
    /// Whether they may.
    pub authorizer: Authorizer,
    /// Moves agents through their life.
    pub verbs: Verbs,
    /// Keeps slugs unique.
    pub slugs: Slugs,
    /// Carries reports to the status of agents.
    pub reporter: Courier<AgentStatuses>,
    /// Carries reports to the status of coding runs.
    pub run_reporter: Courier<RunStatuses>,
    /// Rings when a wake is recorded.
    pub bells: Bells,
    /// Rings when a question is answered.
    pub answer_bells: Bells,
    /// Keeps the bytes of documents.
    pub documents: Arc<Documents>,
    /// The intelligence service, where one is configured.
    pub intelligence: Option<Intelligence>,
    /// Where people reach this API, where it is said.
    pub public_url: Option<String>,
    /// Forwards model calls.
    pub relay: Relay,
    /// Counts.
    pub metrics: Metrics,
    /// Tells the time.
    pub clock: Clock,
    /// Work beside requests.
    pub tasks: TaskTracker,
    /// Ends every wait.
    pub shutdown: CancellationToken,
}

impl AppState {
    /// Decides an action on the caller's workspace.
    pub fn authorize(&self, caller: &Caller, action: Action) -> Result<(), Problem> {
        self.authorizer.authorize_workspace(&caller.0, action)
    }

    /// Decides an action on an agent and gives it, as the cache has it: good enough to
    /// decide and to key rows by. 404 when the caller's workspace has none such.
    pub async fn authorize_agent(
        &self,
        caller: &Caller,
        action: Action,
        id: &str,
    ) -> Result<Agent, Problem> {
        let mut agent = self.cluster.find_agent(&caller.0.workspace, id).await?;
        if caller.0.is_another_than(&agent) {
            // What the cache has may be older than the process that speaks.
            agent = self.cluster.read_agent(&caller.0.workspace, id).await?;
        }
        if caller.0.is_another_than(&agent) {
            let detail = "the token's pod belongs to an earlier agent of this name";
            return Err(Problem::unauthenticated(detail));
        }
        self.authorizer.authorize_agent(&self.cluster, &caller.0, action, id, &agent).await?;
        Ok(agent)
    }

    /// Names of a workspace's tool servers.
    pub fn tool_servers(&self, workspace: &str) -> Vec<String> {
        self.cluster.tool_servers.select(workspace, |server| server.metadata.name.clone())
    }

    /// Decides an action on an agent whose rows are meant.
    pub async fn authorize_rows(
        &self,
        caller: &Caller,
        action: Action,
        id: &str,
    ) -> Result<AgentKey, Problem> {
        self.authorize_agent(caller, action, id).await?;
        Ok(AgentKey::new(&caller.0.workspace, id))
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Foundry API",
        description = "Agents on Kubernetes over REST: intent becomes custom resources, \
            content becomes rows. Every failed request is answered with a problem document \
            (application/problem+json).",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    security(("bearer" = [])),
    modifiers(&Credentials)
)]
struct Document;

struct Credentials;

impl utoipa::Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{
            ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme,
        };
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let link = SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::new("signature")));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", bearer);
        components.add_security_scheme("link", link);
    }
}

/// Every route, with its limits, and the document that describes them.
fn routes() -> (Router<App>, utoipa::openapi::OpenApi) {
    let ordinary = OpenApiRouter::with_openapi(Document::openapi())
        .merge(routes::agents::router())
        .merge(routes::inbox::router())
        .merge(routes::runs::router())
        .merge(routes::memories::router())
        .merge(routes::coding_runs::router())
        .merge(routes::swarms::router())
        .merge(routes::questions::router())
        .merge(routes::queue_errors::router())
        .merge(routes::catalog::router())
        .merge(routes::system::router())
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(REQUEST_TIME, middleware::limit_time));
    let long = routes::logs::router()
        .merge(routes::plans::router())
        .layer(DefaultBodyLimit::max(MAX_LONG_BODY))
        .layer(from_fn_with_state(REQUEST_TIME, middleware::limit_time));
    let relay = routes::relay::router()
        .layer(DefaultBodyLimit::max(MAX_RELAY_BODY))
        .layer(from_fn_with_state(RELAY_TIME, middleware::limit_time));
    ordinary.merge(long).merge(relay).split_for_parts()
}

/// The whole application as a service.
pub fn router(app: App) -> Router {
    let (routes, document) = routes();
    let templates = Templates::new(document.paths.paths.keys());
    routes
        .fallback(middleware::no_route)
        .method_not_allowed_fallback(middleware::no_method)
        .layer(CatchPanicLayer::custom(middleware::caught_panic))
        .layer(from_fn_with_state((app.clone(), templates), middleware::observe))
        .layer(from_fn(request_id::carry))
        .with_state(app)
}

/// The OpenAPI document of the routes, as it is checked in.
pub fn openapi() -> String {
    let (_, document) = routes();
    // Maps of strings and enums always serialize.
    document.to_pretty_json().map(|json| json + "\n").unwrap_or_default()
}
