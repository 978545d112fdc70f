//! Starting, serving and ending.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use foundry_relay::{BrokerError, BuildError, Limits, Relay, RelayOptions};
use foundry_store::Store;
use secrecy::ExposeSecret;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    agents::{slugs::Slugs, verbs::Verbs},
    app::{self, App, AppState, Clock},
    authz::{Authorizer, PolicyError},
    bell::Bells,
    cluster::Cluster,
    coding_runs::{closer::Closer, reported::RunStatuses},
    config::{Config, DRAIN},
    documents::{self, DeletedDocuments, Documents},
    identity::{
        Identity,
        jwt::Persons,
        pod::Pods,
        service::{Services, TokenFileError},
    },
    intelligence::Intelligence,
    listen,
    metrics::Metrics,
    models::ClusterModels,
    outbox::Courier,
    reported::AgentStatuses,
    sweep::{MAX_WAITING, Sweeper},
    tool_servers::Discovery,
};

/// Longest time to get a connection to an issuer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the API does not start, in one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not ours.
    #[error("failed to listen on {address}: {source}; free it or set FOUNDRY_API_LISTEN")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A setting that means nothing without another.
    #[error("{given} is set without {missing}; set both, or neither")]
    Incomplete {
        /// The setting that is there.
        given: &'static str,
        /// The one that is not.
        missing: &'static str,
    },
    /// The data folder cannot be made.
    #[error("failed to create data folder {}: {source}; set FOUNDRY_DATA_DIR", path.display())]
    DataFolder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store does not open; its words say what to do.
    #[error("{0}")]
    Store(#[source] foundry_store::Error),
    /// The service token cannot be read.
    #[error("failed to read service token file {}: {source}; check FOUNDRY_SERVICE_TOKEN_FILE", path.display())]
    ServiceToken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: TokenFileError,
    },
    /// The broker's token cannot be read.
    #[error("{0}; check FOUNDRY_BROKER_TOKEN_FILE")]
    Broker(#[source] BrokerError),
    /// Documents cannot be kept.
    #[error("{0}")]
    Documents(#[source] documents::OpenError),
    /// The embedded policies are broken.
    #[error("{0}")]
    Policies(#[source] PolicyError),
    /// The relay cannot be set up.
    #[error("{0}")]
    Relay(#[source] BuildError),
    /// An HTTP client cannot be built.
    #[error("failed to build http client: {0}")]
    HttpClient(#[source] reqwest::Error),
    /// Neither a kubeconfig nor a pod.
    #[error("failed to find a cluster; set KUBECONFIG to a kubeconfig, or run in a pod")]
    NoCluster,
    /// A kubeconfig that leads nowhere.
    #[error("failed to use kubeconfig {files}: {cause}; correct it, or set KUBECONFIG to another")]
    Kubeconfig {
        /// The files that were named.
        files: String,
        /// What is wrong with them.
        cause: String,
    },
    /// The cluster's configuration is unusable.
    #[error("failed to build kubernetes client: {0}; check KUBECONFIG")]
    KubeClient(#[source] Box<kube::Error>),
}

/// A client that never retries by itself: it would keep callers waiting for minutes.
pub fn kube_client(mut config: kube::Config) -> Result<kube::Client, StartError> {
    config.default_retry = false;
    kube::Client::try_from(config).map_err(|error| StartError::KubeClient(Box::new(error)))
}

/// Serves until `shutdown`, then lets requests under way end, for at most [`DRAIN`].
pub async fn run(
    config: Config,
    client: kube::Client,
    clock: Clock,
    shutdown: CancellationToken,
) -> Result<(), StartError> {
    // First the address: an API that cannot be reached shall not touch anything.
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|source| StartError::Listen { address: config.listen, source })?;
    let app = assemble(&config, client, clock, shutdown.clone()).await?;
    let address = listener.local_addr().unwrap_or(config.listen);
    tracing::info!(%address, workspaces = ?config.watch_namespaces, "listening");

    let router = app::router(app.clone());
    let drained = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        () = listen::serve(listener, router, listen::HEADERS, shutdown.clone()) => {}
        () = drained => tracing::warn!("some requests did not end in time and are cut off"),
    }
    app.tasks.close();
    if tokio::time::timeout(DRAIN, app.tasks.wait()).await.is_err() {
        tracing::warn!("some work did not end in time and is cut off");
    }
    if tokio::time::timeout(DRAIN, app.relay.close()).await.is_err() {
        tracing::warn!("some usage was not recorded in time");
    }
    app.store.close().await;
    tracing::info!("ended");
    Ok(())
}

/// Opens and starts everything that handlers stand on.
pub async fn assemble(
    config: &Config,
    client: kube::Client,
    clock: Clock,
    shutdown: CancellationToken,
) -> Result<App, StartError> {
    let metrics = Metrics::default();
    let authorizer = Authorizer::new(metrics.clone()).map_err(StartError::Policies)?;
    if let Some((given, missing)) = config.incomplete() {
        return Err(StartError::Incomplete { given, missing });
    }
    // Before the store: an API that does not start leaves no database behind.
    if let Some(path) = &config.service_token_file {
        Services::check(path)
            .await
            .map_err(|source| StartError::ServiceToken { path: path.clone(), source })?;
    }
    let broker = config.broker();
    if let Some(broker) = &broker {
        broker.check().await.map_err(StartError::Broker)?;
    }
    let account = match config.storage_account() {
        Some(account) => {
            Some(Documents::in_account(&account).await.map_err(StartError::Documents)?)
        }
        None => None,
    };
    let store = open_store(config).await?;
    let tasks = TaskTracker::new();
    let (deleted, deletions) = mpsc::channel(MAX_WAITING);
    let namespaces = config.watch_namespaces.clone();
    let cluster = Cluster::start(client, namespaces, &tasks, &shutdown, &deleted);

    let http = http_client().map_err(StartError::HttpClient)?;
    let identity = Identity {
        persons: config
            .issuer()
            .map(|issuer| Persons::new(issuer, http.clone(), cluster.clone(), clock.clone())),
        pods: Pods::new(cluster.clone()),
        services: config
            .service_token_file
            .clone()
            .map(|path| Services::new(path, cluster.clone())),
    };
    let to_agents = AgentStatuses { store: store.clone(), cluster: cluster.clone() };
    let reporter = Courier::new(store.clone(), clock.clone(), to_agents);
    tasks.spawn(reporter.clone().run(shutdown.clone()));
    let to_runs = RunStatuses { store: store.clone(), cluster: cluster.clone() };
    let run_reporter = Courier::new(store.clone(), clock.clone(), to_runs);
    tasks.spawn(run_reporter.clone().run(shutdown.clone()));
    let closer = Closer::new(cluster.clone(), run_reporter.clone());
    tasks.spawn(closer.run(shutdown.clone()));
    let documents = match account {
        Some(documents) => documents,
        None => Documents::in_folder(&config.data_dir, &store, clock.now())
            .await
            .map_err(StartError::Documents)?,
    };
    let documents = Arc::new(documents);
    let of_the_gone = DeletedDocuments(documents.clone());
    let cleaner = Courier::new(store.clone(), clock.clone(), of_the_gone);
    tasks.spawn(cleaner.run(shutdown.clone()));
    let sweeper = Sweeper::new(store.clone(), cluster.clone(), clock.clone());
    tasks.spawn(sweeper.run(deletions, shutdown.clone()));
    let discovery = Discovery::new(cluster.clone(), clock.clone());
    tasks.spawn(discovery.run(shutdown.clone()));
    let models = Arc::new(ClusterModels::new(cluster.clone()));
    let relay_clock = clock.clone();
    let relay = Relay::new(RelayOptions {
        models,
        store: store.clone(),
        clock: Arc::new(move || relay_clock.now()),
        limits: Limits::default(),
        broker,
    })
    .map_err(StartError::Relay)?;
    Ok(Arc::new(AppState {
        relay,
        verbs: Verbs::new(cluster.clone(), clock.clone(), tasks.clone(), shutdown.clone()),
        slugs: Slugs::new(cluster.clone()),
        bells: Bells::default(),
        answer_bells: Bells::default(),
        documents,
        intelligence: intelligence(config, http),
        public_url: config.public_url.clone(),
        store,
        cluster,
        identity,
        authorizer,
        reporter,
        run_reporter,
        metrics,
        clock,
        tasks,
        shutdown,
    }))
}

async fn open_store(config: &Config) -> Result<Store, StartError> {
    if let Some(url) = &config.database_url {
        return Store::open(url.expose_secret()).await.map_err(StartError::Store);
    }
    tokio::fs::create_dir_all(&config.data_dir)
        .await
        .map_err(|source| StartError::DataFolder { path: config.data_dir.clone(), source })?;
    Store::open_file(config.database_file()).await.map_err(StartError::Store)
}

fn intelligence(config: &Config, http: reqwest::Client) -> Option<Intelligence> {
    let url = config.intelligence_url.clone()?;
    Some(Intelligence::new(http, url, config.service_token_file.clone()?))
}

/// The one HTTP client of this crate, for issuers' documents and for neighbours.
fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
}
