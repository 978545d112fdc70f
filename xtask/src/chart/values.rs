//! The values of the chart, as types: their schema refuses what no template reads.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// What Kubernetes checks better than we could say it.
type Free = Map<String, Value>;

/// The schema of the values, as Helm reads it.
pub fn schema() -> Result<String> {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Values>().to_value();
    tidy(&mut schema);
    schema.sort_all_objects();
    let text =
        serde_json::to_string_pretty(&schema).context("failed to write the values' schema")?;
    Ok(text + "\n")
}

/// Formats say how Rust holds a number; doc comments are wrapped for the source.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("format");
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

macro_rules! values {
    ($($(#[$about:meta])* struct $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(JsonSchema)]
        #[schemars(rename_all = "camelCase", deny_unknown_fields)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct $name { $($(#[$of])* $field: $type,)* }
    )*};
}

values! {
    /// Values of the chart `foundry`.
    struct Values {
        /// Where agents run; null: the release is one ordinary Deployment.
        agent_runtime: Option<AgentRuntime>,
        /// Image of agent pods whose Harness names none.
        harness_image: String,
        /// The same for coding agents.
        harness_coding_image: String,
        /// What every image has in common.
        image: Images,
        /// Whether types, agents' namespaces and the API's volume outlive the release.
        keep_data: bool,
        /// The types.
        crds: Crds,
        /// Rights beside those of operator and API.
        rbac: Rbac,
        /// The API.
        api: Api,
        /// The operator.
        operator: Operator,
        /// Policies about operator and API.
        network_policy: NetworkPolicy,
        /// How many pods of a part may be away at once.
        pod_disruption_budget: Switch,
        /// Monitors for the Prometheus operator.
        service_monitor: ServiceMonitor,
        /// What a parent chart says to all its children; nothing here reads it.
        global: Option<Free>,
    }

    struct AgentRuntime {
        /// Namespaces that agents live in.
        #[schemars(length(min = 1), extend("uniqueItems" = true))]
        namespaces: Vec<Namespace>,
        /// Make these namespaces.
        create_namespaces: bool,
        /// The one label that agent pods ask of their node.
        #[schemars(extend("maxProperties" = 1))]
        node_selector: BTreeMap<String, LabelValue>,
        /// The one taint that agent pods tolerate.
        #[schemars(extend("maxProperties" = 1))]
        toleration: BTreeMap<String, LabelValue>,
        /// `prod`, or any other word.
        #[schemars(length(min = 1))]
        environment: String,
        /// Seconds between evaluations of every harness.
        #[schemars(range(min = 1, max = 86_400))]
        evaluate_seconds: Option<u32>,
        /// Seconds between heartbeats of every harness.
        #[schemars(range(min = 1, max = 86_400))]
        heartbeat_seconds: Option<u32>,
        /// Seconds that a coding run waits for its result when its harness is gone.
        #[schemars(range(min = 1, max = 600))]
        result_grace_seconds: u32,
    }

    struct Images {
        /// Prefix of every image, without a slash at its end.
        registry: String,
        /// When images are pulled.
        pull_policy: PullPolicy,
        /// Names of Secrets.
        #[schemars(extend("uniqueItems" = true))]
        pull_secrets: Vec<String>,
    }

    struct Image {
        /// Name of the image, behind the registry.
        #[schemars(length(min = 1))]
        repository: String,
        /// Empty: the chart's version.
        tag: String,
        /// Wins over the tag.
        #[schemars(regex(pattern = r"^(sha256:[0-9a-f]{64})?$"))]
        digest: String,
    }

    struct Crds {
        /// Install and upgrade the types with the release.
        install: bool,
    }

    struct Rbac {
        /// Let view, edit and admin speak of our kinds.
        aggregate: bool,
    }

    struct Switch {
        /// Whether it is made.
        enabled: bool,
    }

    struct Api {
        #[schemars(range(min = 0))]
        replicas: u32,
        image: Image,
        /// Where people reach the API.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        public_url: String,
        /// What is logged.
        #[schemars(length(min = 1))]
        log: String,
        oidc: Oidc,
        database: Database,
        persistence: Persistence,
        service_token: SecretKey,
        documents: Documents,
        broker: Broker,
        /// The intelligence service.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        intelligence_url: String,
        service: Service,
        resources: Free,
        pod_annotations: BTreeMap<String, String>,
        pod_labels: BTreeMap<String, String>,
        node_selector: BTreeMap<String, String>,
        tolerations: Vec<Free>,
        affinity: Free,
        topology_spread_constraints: Vec<Free>,
        priority_class_name: String,
        extra_env: Vec<Free>,
        extra_volumes: Vec<Free>,
        extra_volume_mounts: Vec<Free>,
    }

    struct Oidc {
        /// Exactly the `iss` of persons' tokens.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        issuer: String,
        /// What their `aud` must hold.
        #[schemars(length(min = 1))]
        audience: String,
        /// Empty: what the issuer's discovery document says.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        jwks_url: String,
        /// Claim that lists a person's workspaces.
        #[schemars(length(min = 1))]
        workspaces_claim: String,
        /// Claim that lists a person's roles.
        #[schemars(length(min = 1))]
        roles_claim: String,
    }

    struct Database {
        /// Secret with the URL; empty: SQLite.
        existing_secret: String,
        /// Key of the URL in it.
        #[schemars(length(min = 1))]
        key: String,
        /// Port that the network policy opens.
        #[schemars(range(min = 1, max = 65_535))]
        port: u16,
    }

    struct Persistence {
        enabled: bool,
        /// Size of the volume.
        #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?(k|Ki|[MGTPE]i?)?$"))]
        size: String,
        /// Empty: the cluster's default.
        storage_class: String,
        #[schemars(length(min = 1))]
        access_modes: Vec<AccessMode>,
        /// A claim to use instead.
        existing_claim: String,
    }

    struct SecretKey {
        /// Name of the Secret; empty: none.
        existing_secret: String,
        /// Key in it.
        #[schemars(length(min = 1))]
        key: String,
    }

    struct Documents {
        /// Azure storage account; empty: the volume.
        account: String,
        /// Its address, where it is somewhere else.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        endpoint: String,
        /// Secret with its key.
        existing_secret: String,
        /// Key in that Secret.
        #[schemars(length(min = 1))]
        key: String,
    }

    struct Broker {
        /// Empty: none.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        url: String,
        /// Secret with the service token for it.
        existing_secret: String,
        /// Key in that Secret.
        #[schemars(length(min = 1))]
        key: String,
    }

    struct Service {
        #[schemars(rename = "type")]
        kind: ServiceType,
        annotations: BTreeMap<String, String>,
    }

    struct Operator {
        #[schemars(range(min = 0))]
        replicas: u32,
        people: People,
        image: Image,
        /// What is logged.
        #[schemars(length(min = 1))]
        log: String,
        resources: Free,
        pod_annotations: BTreeMap<String, String>,
        pod_labels: BTreeMap<String, String>,
        node_selector: BTreeMap<String, String>,
        tolerations: Vec<Free>,
        affinity: Free,
        topology_spread_constraints: Vec<Free>,
        priority_class_name: String,
        extra_env: Vec<Free>,
        extra_volumes: Vec<Free>,
        extra_volume_mounts: Vec<Free>,
    }

    struct People {
        /// Empty: none.
        #[schemars(regex(pattern = r"^(https?://[^\s/?#@]+([/?#]\S*)?)?$"))]
        url: String,
        /// Secret with the service token for it.
        existing_secret: String,
        /// Key in that Secret.
        #[schemars(length(min = 1))]
        key: String,
    }

    struct NetworkPolicy {
        enabled: bool,
        /// Port that the pods of kube-dns listen on.
        #[schemars(range(min = 1, max = 65_535))]
        dns_port: u16,
        /// Addresses of DNS servers beside kube-dns.
        #[schemars(length(max = 64))]
        dns_addresses: Vec<Address>,
        /// IPv4 ranges closed to coding pods beside the private ones.
        #[schemars(length(max = 64))]
        coding_except: Vec<Range>,
        /// Peers that may call the API.
        api_from: Vec<Free>,
        /// Egress rules of the API.
        api_egress: Vec<Free>,
        /// Peers that may read the operator's metrics.
        operator_from: Vec<Free>,
        /// Egress rules of the operator.
        operator_egress: Vec<Free>,
        /// TCP ports that both may reach anywhere; a rule without any opens all.
        #[schemars(length(min = 1))]
        out_ports: Vec<Port>,
    }

    struct ServiceMonitor {
        enabled: bool,
        /// How often metrics are read.
        #[schemars(regex(pattern = r"^[0-9]+(ms|s|m|h)$"))]
        interval: String,
        labels: BTreeMap<String, String>,
    }
}

/// Name of a namespace.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Namespace(#[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"))] String);

/// An IP address.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Address(
    #[schemars(regex(
        pattern = r"^(((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)|[0-9a-fA-F]*:[0-9a-fA-F:]*)$"
    ))]
    String,
);

/// A range of IPv4 addresses.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Range(
    #[schemars(regex(
        pattern = r"^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)/([1-9]|[12]\d|3[0-2])$"
    ))]
    String,
);

/// Value of a label or a taint, as the operator takes it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct LabelValue(
    #[schemars(regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"))] String,
);

/// A TCP port.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Port(#[schemars(range(min = 1, max = 65_535))] u16);

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
#[expect(clippy::enum_variant_names, reason = "these are Kubernetes' words")]
enum AccessMode {
    ReadWriteOnce,
    ReadWriteOncePod,
    ReadWriteMany,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum ServiceType {
    ClusterIP,
    NodePort,
    LoadBalancer,
}
