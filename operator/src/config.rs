//! Settings: read once from flags and environment, checked, then passed as values.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::Uri;
use clap::{Parser, ValueEnum, value_parser};
use foundry_crds::meta;
use k8s_openapi::jiff::SignedDuration;
use tracing_subscriber::EnvFilter;

use crate::traces::TraceArguments;

mod network;
mod people;

pub use network::{NetworkArguments, NetworkConfig};
pub use people::{PeopleArguments, PeopleConfig};

/// Most seconds between evaluations or heartbeats that a harness takes.
const MOST_SECONDS: i64 = 86_400;
/// Most seconds that a coding run waits for a result whose harness is gone.
const MOST_GRACE_SECONDS: i64 = 600;

/// What the command line and the environment say.
#[derive(Debug, Clone, Parser)]
#[command(name = "foundry-operator", about = "Makes the cluster match Foundry's resources.")]
pub struct Arguments {
    /// `cluster` runs harnesses in pods, `local` as processes of this machine.
    /// Absent: `cluster` when this process runs in a pod.
    #[arg(long, env = "FOUNDRY_RUNTIME")]
    pub runtime: Option<RuntimeKind>,
    /// Namespaces to watch, separated by commas.
    #[arg(long, env = "FOUNDRY_WATCH_NAMESPACES", value_delimiter = ',', default_value = meta::DEFAULT_NAMESPACE)]
    pub watch_namespaces: Vec<String>,
    /// Image of agent pods whose Harness names none (WORK-02).
    #[arg(long, env = "FOUNDRY_HARNESS_IMAGE", default_value = "foundry-harness:dev")]
    pub harness_image: String,
    /// Image of coding agents' pods, where the Harness names none (WORK-03).
    #[arg(
        long,
        env = "FOUNDRY_HARNESS_CODING_IMAGE",
        default_value = "foundry-harness-coding:dev"
    )]
    pub harness_coding_image: String,
    /// Where harnesses reach the Foundry API.
    #[arg(long, env = "FOUNDRY_API_URL", value_parser = web_address, default_value = "http://foundry-api.default:8080")]
    pub api_url: String,
    /// Seconds between evaluations of every harness; absent leaves it to the harness.
    #[arg(
        long,
        env = "FOUNDRY_EVALUATE_SECONDS",
        value_parser = value_parser!(u32).range(1..=MOST_SECONDS)
    )]
    pub evaluate_seconds: Option<u32>,
    /// Seconds between heartbeats of every harness; absent leaves it to the harness.
    #[arg(
        long,
        env = "FOUNDRY_HEARTBEAT_SECONDS",
        value_parser = value_parser!(u32).range(1..=MOST_SECONDS)
    )]
    pub heartbeat_seconds: Option<u32>,
    /// Seconds that a coding run waits for its result when its harness is gone: the API
    /// stores a result first and writes it to status second.
    #[arg(
        long,
        env = "FOUNDRY_RESULT_GRACE_SECONDS",
        value_parser = value_parser!(u32).range(1..=MOST_GRACE_SECONDS),
        default_value = "20"
    )]
    pub result_grace_seconds: u32,
    /// Address of `/healthz`, `/readyz` and `/metrics`.
    #[arg(
        long,
        env = "FOUNDRY_OPERATOR_LISTEN",
        value_parser = socket_address,
        default_value = "0.0.0.0:8081")]
    pub listen: SocketAddr,
    /// Files that say how to reach the control plane, as kubectl takes them. Absent:
    /// `~/.kube/config`, else the configuration of the pod this runs in.
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<OsString>,
    /// The user's folder, where a kubeconfig may be.
    #[arg(long, env = "HOME", hide = true)]
    pub home: Option<PathBuf>,
    /// `prod`, or anything else for a development installation (LIFE-21).
    #[arg(long, env = "FOUNDRY_ENVIRONMENT", default_value = "dev")]
    pub environment: String,
    /// `key=value` that agent pods ask of their node (WORK-09).
    #[arg(long, env = "FOUNDRY_AGENT_NODE_SELECTOR")]
    pub agent_node_selector: Option<Pair>,
    /// `key=value` of a node taint that agent pods tolerate (WORK-09).
    #[arg(long, env = "FOUNDRY_AGENT_TOLERATION")]
    pub agent_toleration: Option<Pair>,
    /// Network policies.
    #[command(flatten)]
    pub network: NetworkArguments,
    /// Registration of mailboxes.
    #[command(flatten)]
    pub people: PeopleArguments,
    /// Namespace of the leader lease.
    #[arg(long, env = "FOUNDRY_LEASE_NAMESPACE", default_value = "default")]
    pub lease_namespace: String,
    /// Name of the leader lease: one for all operators of the same namespaces.
    #[arg(long, env = "FOUNDRY_LEASE_NAME", default_value = "foundry-operator")]
    pub lease_name: String,
    /// Name of this operator in the leader lease; absent means a random one.
    #[arg(long, env = "HOSTNAME", hide_env = true)]
    pub identity: Option<String>,
    /// Local runtime: folder of process state and logs.
    #[arg(long, env = "FOUNDRY_LOCAL_DIR")]
    pub local_dir: Option<PathBuf>,
    /// Local runtime: folder that holds the harness executables.
    #[arg(long, env = "FOUNDRY_LOCAL_BIN_DIR")]
    pub local_bin_dir: Option<PathBuf>,
    /// Local runtime: file whose lock keeps harness processes alive, passed on to them.
    #[arg(long, env = "FOUNDRY_LIFELINE")]
    pub lifeline: Option<PathBuf>,
    /// Local runtime: executable search path of harness processes.
    #[arg(long, env = "PATH", hide = true, default_value = "/usr/local/bin:/usr/bin:/bin")]
    pub path: String,
    /// End when the parent process ends.
    #[arg(
        long = "die-with-parent",
        env = "FOUNDRY_PDEATHSIG",
        value_parser = clap::builder::BoolishValueParser::new(),
        default_value = "false",
        action = clap::ArgAction::Set
    )]
    pub die_with_parent: bool,
    /// Traces.
    #[command(flatten)]
    pub traces: TraceArguments,
    /// Log filter, as `info,foundry_operator=debug`.
    #[arg(long, env = "FOUNDRY_LOG", value_parser = log_filter, default_value = "info")]
    pub log: String,
}

/// Where harnesses run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuntimeKind {
    /// As processes of this machine.
    Local,
    /// In pods.
    Cluster,
}

/// A `key=value` setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Left of the equals sign.
    pub key: String,
    /// Right of it.
    pub value: String,
}

impl std::str::FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                Ok(Self { key: key.to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("`{text}` is not of the form key=value")),
        }
    }
}

/// Settings that are whole: nothing inside asks again whether one is there.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where harnesses run, with what that needs.
    pub runtime: RuntimeConfig,
    /// Namespaces to watch; never empty.
    pub namespaces: Vec<String>,
    /// What a pod template is rendered from beside the resources.
    pub template: TemplateConfig,
    /// How long a coding run waits for its result when its harness is gone.
    pub result_grace: SignedDuration,
    /// Domain of agents' mailboxes (LIFE-21).
    pub mailbox_domain: &'static str,
    /// Where mailboxes are registered (BIND-03); none where the installation has no such
    /// place.
    pub people: Option<PeopleConfig>,
    /// Address of the probe and metrics server.
    pub listen: SocketAddr,
    /// Kubeconfig files, the first of them the strongest; none means in-cluster.
    pub kubeconfig: Vec<PathBuf>,
    /// Namespace of the leader lease.
    pub lease_namespace: String,
    /// Name of the leader lease.
    pub lease_name: String,
    /// Name of this operator among the candidates of the lease.
    pub identity: String,
}

/// Settings that become part of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateConfig {
    /// Image of pods whose Harness names none (WORK-02).
    pub harness_image: String,
    /// Image of coding pods whose Harness names none (WORK-03).
    pub harness_coding_image: String,
    /// Where harnesses reach the Foundry API.
    pub api_url: String,
    /// Seconds between evaluations, when the installation sets them.
    pub evaluate_seconds: Option<u32>,
    /// Seconds between heartbeats, when the installation sets them.
    pub heartbeat_seconds: Option<u32>,
    /// Node label asked for (WORK-09).
    pub node_selector: Option<Pair>,
    /// Taint tolerated (WORK-09).
    pub toleration: Option<Pair>,
}

/// Settings of one runtime.
#[derive(Debug, Clone)]
pub enum RuntimeConfig {
    /// Harnesses run in pods, behind network policies unless the installation wants none.
    Cluster(Option<NetworkConfig>),
    /// Harnesses run as processes.
    Local(LocalConfig),
}

/// Settings of the local runtime.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// Folder of process state and logs.
    pub dir: PathBuf,
    /// Folder with the harness executables.
    pub bin_dir: PathBuf,
    /// Passed on to harness processes as `FOUNDRY_LIFELINE`.
    pub lifeline: Option<PathBuf>,
    /// `PATH` of harness processes.
    pub path: String,
}

/// A setting that is missing or wrong.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No runtime was named outside a cluster.
    #[error(
        "failed to choose a runtime: this is not a pod; set FOUNDRY_RUNTIME to `local` or `cluster`"
    )]
    NoRuntime,
    /// The local runtime lacks a folder.
    #[error("failed to set up the local runtime: set {0} to a folder")]
    NoFolder(&'static str),
    /// No namespace is left to watch.
    #[error("failed to read FOUNDRY_WATCH_NAMESPACES: name at least one namespace")]
    NoNamespace,
    /// What should be a namespace's name cannot be one.
    #[error(
        "failed to read FOUNDRY_WATCH_NAMESPACES (--watch-namespaces): `{0}` cannot be the name of \
         a namespace; use lower case letters, digits and `-`"
    )]
    Namespace(String),
    /// The people service lacks its token, or the token its service.
    #[error(
        "failed to set up the people service: FOUNDRY_PEOPLE_URL and FOUNDRY_PEOPLE_TOKEN_FILE go \
         together; set both or none"
    )]
    People,
}

impl Config {
    /// Checks the arguments and makes them whole.
    pub fn new(arguments: Arguments) -> Result<Self, ConfigError> {
        let Arguments {
            runtime,
            watch_namespaces,
            harness_image,
            harness_coding_image,
            api_url,
            evaluate_seconds,
            heartbeat_seconds,
            result_grace_seconds,
            listen,
            kubeconfig,
            home,
            environment,
            agent_node_selector,
            agent_toleration,
            network,
            people,
            lease_namespace,
            lease_name,
            identity,
            local_dir,
            local_bin_dir,
            lifeline,
            path,
            die_with_parent: _,
            traces: _,
            log: _,
        } = arguments;
        let runtime = match runtime.or_else(runtime_of_this_place).ok_or(ConfigError::NoRuntime)? {
            RuntimeKind::Cluster => RuntimeConfig::Cluster(network.into_config()),
            RuntimeKind::Local => RuntimeConfig::Local(LocalConfig {
                dir: folder("FOUNDRY_LOCAL_DIR", local_dir)?,
                bin_dir: folder("FOUNDRY_LOCAL_BIN_DIR", local_bin_dir)?,
                lifeline,
                path,
            }),
        };
        let mut namespaces: Vec<String> = watch_namespaces
            .iter()
            .map(|name| name.trim())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        namespaces.sort();
        namespaces.dedup();
        if namespaces.is_empty() {
            return Err(ConfigError::NoNamespace);
        }
        if let Some(name) = namespaces.iter().find(|name| !is_namespace_name(name)) {
            return Err(ConfigError::Namespace(name.clone()));
        }
        Ok(Self {
            runtime,
            namespaces,
            template: TemplateConfig {
                harness_image,
                harness_coding_image,
                api_url,
                evaluate_seconds,
                heartbeat_seconds,
                node_selector: agent_node_selector,
                toleration: agent_toleration,
            },
            result_grace: SignedDuration::from_secs(result_grace_seconds.into()),
            mailbox_domain: mailbox_domain(&environment),
            people: people.into_config()?,
            listen,
            kubeconfig: kubeconfig_files(kubeconfig, home),
            lease_namespace,
            lease_name,
            // Two operators of one host must not take each other's renewals for their own.
            identity: format!(
                "{}-{}",
                identity.as_deref().unwrap_or("foundry-operator"),
                uuid::Uuid::now_v7().simple()
            ),
        })
    }
}

/// A folder by a name that holds wherever a process stands: harnesses have their own
/// working folders.
fn folder(setting: &'static str, named: Option<PathBuf>) -> Result<PathBuf, ConfigError> {
    // Absent, or empty.
    let missing = ConfigError::NoFolder(setting);
    named.and_then(|named| std::path::absolute(named).ok()).ok_or(missing)
}

/// The files to read: those named, else the user's own when it is there.
fn kubeconfig_files(named: Option<OsString>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let named = named.filter(|named| !named.is_empty());
    match (named, home) {
        (Some(named), _) => {
            std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect()
        }
        (None, Some(home)) => {
            let own = home.join(".kube/config");
            if own.exists() { vec![own] } else { Vec::new() }
        }
        (None, None) => Vec::new(),
    }
}

/// A DNS label, as Kubernetes asks of namespaces.
fn is_namespace_name(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 63 && name.bytes().all(inside) && !name.starts_with('-') && !name.ends_with('-')
}

fn web_address(text: &str) -> Result<String, String> {
    let wrong = || "give an address, as http://foundry-api.default:8080".to_owned();
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    if is_web && uri.host().is_some_and(|host| !host.is_empty()) {
        Ok(text.to_owned())
    } else {
        Err(wrong())
    }
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give an address and a port, as 0.0.0.0:8081".to_owned())
}

fn log_filter(text: &str) -> Result<String, String> {
    match EnvFilter::builder().parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => {
            Err(format!("{error}; set FOUNDRY_LOG to a filter, as info,foundry_operator=debug"))
        }
    }
}

/// OPS-01: a process in a pod manages the cluster it is in.
fn runtime_of_this_place() -> Option<RuntimeKind> {
    kube::Config::incluster().is_ok().then_some(RuntimeKind::Cluster)
}

/// LIFE-21
fn mailbox_domain(environment: &str) -> &'static str {
    if environment == "prod" { "ai.flow.life" } else { "dev-ai.flow.life" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("foundry-operator").chain(words.iter().copied()))
    }

    /// OPS-01
    #[test]
    fn outside_a_pod_a_runtime_must_be_named() {
        let error = Config::new(arguments(&[]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("FOUNDRY_RUNTIME"), "{error}");
    }

    /// OPS-01
    #[test]
    fn the_local_runtime_says_which_folder_it_misses() {
        let error = Config::new(arguments(&["--runtime", "local"]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("FOUNDRY_LOCAL_DIR"), "{error}");
    }

    /// OPS-01: a harness stands in a folder of its own, where a relative name is another's.
    #[test]
    fn folders_of_the_local_runtime_hold_wherever_a_process_stands() {
        let words = ["--runtime", "local", "--local-dir", "state", "--local-bin-dir", "/bin"];
        let config = Config::new(arguments(&words).unwrap()).unwrap();
        let RuntimeConfig::Local(local) = config.runtime else { panic!("it is local") };
        assert!(local.dir.is_absolute() && local.dir.ends_with("state"), "{:?}", local.dir);
        assert_eq!(local.bin_dir, PathBuf::from("/bin"));
        assert_eq!(config.result_grace, SignedDuration::from_secs(20));
    }

    #[test]
    fn namespaces_are_trimmed_and_named_once() {
        let config = Config::new(
            arguments(&["--runtime", "cluster", "--watch-namespaces", "b, a,,b"]).unwrap(),
        )
        .unwrap();
        assert_eq!(config.namespaces, ["a", "b"]);
    }

    #[test]
    fn a_list_of_no_namespaces_is_an_error() {
        let error =
            Config::new(arguments(&["--runtime", "cluster", "--watch-namespaces", " , "]).unwrap())
                .unwrap_err();
        assert!(error.to_string().contains("FOUNDRY_WATCH_NAMESPACES"), "{error}");
    }

    #[test]
    fn a_setting_that_cannot_be_right_is_refused_with_the_way_out() {
        for (words, way_out) in [
            (["--listen", "nowhere"], "address and a port"),
            (["--api-url", "nourl"], "as http://"),
            (["--api-url", "ftp://x"], "as http://"),
            (["--evaluate-seconds", "0"], "--evaluate-seconds"),
            (["--heartbeat-seconds", "86401"], "--heartbeat-seconds"),
            (["--result-grace-seconds", "0"], "--result-grace-seconds"),
            (["--log", "a=b=c"], "FOUNDRY_LOG"),
            (["--runtime", "moon"], "cluster"),
        ] {
            let said = arguments(&words).unwrap_err().to_string();
            let known = said.contains(way_out) || said.contains(&way_out.to_lowercase());
            assert!(known && said.contains(words[1]), "{words:?}: {said}");
        }
    }

    #[test]
    fn what_cannot_be_a_namespace_is_named() {
        let words = ["--runtime", "cluster", "--watch-namespaces", "good,Not_A_Name"];
        let error = Config::new(arguments(&words).unwrap()).unwrap_err().to_string();
        assert!(error.contains("`Not_A_Name`") && error.contains("--watch-namespaces"), "{error}");
    }

    #[test]
    fn the_users_own_kubeconfig_is_read_only_when_none_is_named() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join(".kube/config");
        let files = |named: Option<&str>| {
            kubeconfig_files(named.map(OsString::from), Some(home.path().to_owned()))
        };
        assert!(files(None).is_empty(), "there is none yet");
        std::fs::create_dir(home.path().join(".kube")).unwrap();
        std::fs::write(&own, "").unwrap();
        assert_eq!(files(None), std::slice::from_ref(&own));
        assert_eq!(files(Some("")), [own]);
        assert_eq!(files(Some("/a:/b")), [PathBuf::from("/a"), PathBuf::from("/b")]);
    }

    /// WORK-09
    #[test]
    fn a_node_selector_without_a_value_is_refused() {
        let error = arguments(&["--agent-node-selector", "agentpool"]).unwrap_err();
        assert!(error.to_string().contains("key=value"), "{error}");
    }

    /// LIFE-21
    #[test]
    fn only_production_has_mailboxes_under_ai_flow_life() {
        assert_eq!(mailbox_domain("prod"), "ai.flow.life");
        assert_eq!(mailbox_domain("staging"), "dev-ai.flow.life");
    }
}
