//! What `/healthz`, `/readyz` and `/metrics` say of operators at work.

use std::net::SocketAddr;
use std::time::Duration;

use foundry_crds::AgentState;
use foundry_crds::agent::Activation;
use foundry_operator::config::Config;
use pretty_assertions::assert_eq;
use testenv::eventually;

use super::world::{DEADLINE, Operator, World};

/// An operator whose probes can be asked.
struct Probed {
    operator: Operator,
    address: SocketAddr,
}

impl Probed {
    fn start(world: &World) -> Self {
        let port = testenv::free_port().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let config = Config { listen: address, ..world.config(&["--runtime", "cluster"]) };
        Self { operator: world.operator(config), address }
    }

    async fn ask(&self, path: &str) -> anyhow::Result<(u16, String)> {
        ask(self.address, path).await
    }

    /// Waits until all the checks of a probe are well, and gives what it says.
    async fn well(&self, path: &str) -> String {
        eventually(&format!("{path} is well"), DEADLINE, || async {
            let (status, text) = self.ask(path).await?;
            anyhow::ensure!(status == 200, "{status}: {text}");
            Ok(text)
        })
        .await
    }
}

async fn ask(address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
    testenv::install_tls_provider();
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
    let answer = http.get(format!("http://{address}{path}")).send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

/// A leader is ready with whole caches; a follower is ready because it stands by.
#[tokio::test]
async fn probes_say_who_leads_and_what_each_check_found() {
    let world = World::new("op-probes").await;
    let leader = Probed::start(&world);
    let text = leader.well("/readyz?verbose").await;
    let expected = "[+]control-plane ok\n[+]lease ok: this operator leads\n\
                    [+]caches ok: all are whole\n[+]shutdown ok\nreadyz check passed\n";
    assert_eq!(text, expected);
    assert_eq!(leader.ask("/readyz").await.unwrap(), (200, "ok\n".to_owned()));
    assert_eq!(leader.ask("/livez").await.unwrap(), (200, "ok\n".to_owned()));
    let text = leader.well("/healthz?verbose").await;
    let expected = "[+]heartbeat ok\n[+]lease ok\n[+]shutdown ok\nhealthz check passed\n";
    assert_eq!(text, expected);

    let follower = Probed::start(&world);
    let text = follower.well("/readyz?verbose").await;
    assert!(text.contains("[+]lease ok: another operator leads, this one stands by\n"), "{text}");
    assert!(text.contains("[+]caches ok: only a leader has any\n"), "{text}");
    let (_, text) = follower.ask("/metrics").await.unwrap();
    assert!(text.contains("foundry_operator_leader 0\n"), "{text}");
    assert!(!text.contains("foundry_operator_agents{"), "only a leader counts objects: {text}");

    leader.operator.stop().await;
    eventually("the other leads", DEADLINE, || async {
        let (status, text) = follower.ask("/readyz?verbose").await?;
        anyhow::ensure!(status == 200 && text.contains("this operator leads"), "{status}: {text}");
        Ok(())
    })
    .await;
    follower.operator.stop().await;
}

/// An operator whose control plane is away is alive, and says why it is not ready.
#[tokio::test]
async fn without_a_control_plane_it_is_alive_and_not_ready_and_says_why() {
    let world = World::new("op-probes-away").await;
    let port = testenv::free_port().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let config = Config { listen: address, ..world.config(&["--runtime", "cluster"]) };
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let shutdown = tokio_util::sync::CancellationToken::new();
    let client = kube::Client::try_from(nowhere).unwrap();
    let mut task = tokio::task::JoinSet::new();
    task.spawn(foundry_operator::run(client, config, shutdown.clone()));
    let text = eventually("it is not ready", DEADLINE, || async {
        let (status, text) = ask(address, "/readyz").await?;
        anyhow::ensure!(status == 503, "{status}: {text}");
        Ok(text)
    })
    .await;
    let expected = "[-]control-plane failed: the control plane does not answer when asked for \
                    the lease\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("readyz check failed\n"), "{text}");
    assert_eq!(ask(address, "/healthz").await.unwrap().0, 200);
    shutdown.cancel();
    task.join_next().await.unwrap().unwrap().unwrap();
}

/// Objects are counted by where they stand, and waits in the queue are measured.
#[tokio::test]
async fn metrics_count_agents_by_state_and_tell_of_the_queue() {
    let world = World::new("op-metrics").await;
    world.harness("agent-v1").await;
    let probed = Probed::start(&world);
    for name in ["ann", "ben"] {
        world.agent(name, |spec| spec.activation = Some(Activation::OnDemand)).await;
        world.status("it settles", name, |status| status.state == Some(AgentState::OnDemand)).await;
    }
    let line = |text: &str, start: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(start));
        found.and_then(|value| value.trim().parse::<f64>().ok())
    };
    let text = eventually("both are counted", DEADLINE, || async {
        let (_, text) = probed.ask("/metrics").await?;
        let count = line(&text, "foundry_operator_agents{state=\"OnDemand\"} ");
        anyhow::ensure!(count == Some(2.0), "{text}");
        anyhow::Ok(text)
    })
    .await;
    assert_eq!(line(&text, "foundry_operator_agents{state=\"Running\"} "), Some(0.0));
    assert_eq!(line(&text, "foundry_operator_leader "), Some(1.0));
    assert_eq!(line(&text, "foundry_operator_terms_total "), Some(1.0));
    let waits = line(&text, "foundry_operator_queue_seconds_count{kind=\"agent\"} ");
    assert!(waits >= Some(2.0), "{text}");
    probed.operator.stop().await;
}
