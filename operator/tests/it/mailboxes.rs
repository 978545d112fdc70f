//! Mailboxes at the people service, which is a stand-in: as strict as a real one, and
//! slow, down or busy when a test says so.

use std::path::PathBuf;
use std::time::Duration;

use fakes::people::{Mood, People, Person};
use foundry_crds::agent::{Activation, Lifetime};
use foundry_crds::{Agent, AgentSpec, AgentState, AgentStatus};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams};
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::world::{DEADLINE, Operator, World, reason};

/// What nothing may show.
const TOKEN: &str = "s3cret-of-the-service";
const KIND: &str = "MailboxRegistered";

/// A namespace whose operator registers mailboxes.
struct Office {
    world: World,
    people: People,
    dir: tempfile::TempDir,
}

impl Office {
    async fn new(prefix: &str) -> Self {
        let world = World::new(prefix).await;
        world.harness("agent-v1").await;
        let people = People::start(TOKEN).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let office = Self { world, people, dir };
        std::fs::write(office.token_file(), format!("{TOKEN}\n")).unwrap();
        office
    }

    fn token_file(&self) -> PathBuf {
        self.dir.path().join("token")
    }

    fn operator(&self) -> Operator {
        let (url, file) = (self.people.url(), self.token_file());
        let people = ["--people-url", &url, "--people-token-file", file.to_str().unwrap()];
        let words: Vec<_> = ["--runtime", "cluster"].into_iter().chain(people).collect();
        self.world.operator(self.world.config(&words))
    }

    /// An agent that settles at once, for it has no workload.
    async fn agent(&self, name: &str, change: impl FnOnce(&mut AgentSpec)) {
        let on_demand = |spec: &mut AgentSpec| {
            spec.activation = Some(Activation::OnDemand);
            change(spec);
        };
        self.world.agent(name, on_demand).await;
    }

    /// Waits until an agent's condition has this reason, and gives its message.
    async fn says(&self, name: &str, wanted: &str) -> String {
        let what = format!("{name} is {wanted}");
        let status = self.world.status(&what, name, |status| says(status).0 == wanted).await;
        assert_eq!(reason(&status, "Ready", true), Some("OnDemand"), "{wanted} is no obstacle");
        assert_eq!(reason(&status, KIND, wanted == "Registered"), Some(wanted));
        says(&status).1.to_owned()
    }

    /// Names of those registered so far, as often as they were.
    fn registered(&self) -> Vec<String> {
        self.people.registered().into_iter().map(|person| person.last_name).collect()
    }

    /// Writes to the status of agents so far; one that came too late for its version is none.
    fn writes(&self) -> usize {
        let writes = self.world.control_plane.writes().into_iter();
        writes
            .filter(|write| write.namespace == self.world.namespace.name && write.status < 300)
            .filter(|write| write.resource == "agents/status")
            .count()
    }

    /// Nothing that anybody can read holds the token.
    async fn keeps_its_token(&self) {
        let agents = self.world.api::<Agent>().list(&ListParams::default()).await.unwrap();
        let events = self.world.api::<Event>().list(&ListParams::default()).await.unwrap();
        let all =
            serde_json::to_string(&agents).unwrap() + &serde_json::to_string(&events).unwrap();
        assert!(!all.contains(TOKEN), "the token is told");
    }
}

/// Reason and message of an agent's condition; nothing where it has none.
fn says(status: &AgentStatus) -> (&str, &str) {
    let found = status.conditions.iter().find(|condition| condition.type_ == KIND);
    found.map_or(("", ""), |condition| (&condition.reason, &condition.message))
}

fn person(name: &str, last_name: &str) -> Person {
    Person {
        email: format!("{name}@dev-ai.flow.life"),
        first_name: "agent".to_owned(),
        last_name: last_name.to_owned(),
    }
}

/// BIND-03, LIFE-21: once when it is created, once when it is renamed, and never because
/// another operator begins.
#[tokio::test]
async fn an_agent_is_registered_when_it_is_created_and_renamed_and_not_again_after_a_restart() {
    let office = Office::new("op-mail").await;
    let operator = office.operator();
    office.agent("ann", |_| {}).await;
    let message = office.says("ann", "Registered").await;
    assert_eq!(message, "ann@dev-ai.flow.life as agent \"ann\" is registered");
    assert_eq!(office.people.registered(), [person("ann", "ann")]);

    office.world.edit("ann", json!({ "displayName": "Anna Livia" })).await;
    let message = office.says("ann", "Registered").await;
    assert_eq!(message, "ann@dev-ai.flow.life as agent \"Anna Livia\" is registered");
    assert_eq!(office.people.registered(), [person("ann", "ann"), person("ann", "Anna Livia")]);
    let slug =
        format!("anna-{}", &office.world.namespace.name[office.world.namespace.name.len() - 6..]);
    office.world.edit("ann", json!({ "slug": slug })).await;
    office.says("ann", "Registered").await;
    assert_eq!(office.people.registered().last(), Some(&person(&slug, "Anna Livia")));
    assert_eq!(office.people.calls().len(), 3);
    operator.stop().await;

    let before = office.world.api::<Agent>().get("ann").await.unwrap();
    let operator = office.operator();
    // Once another one is through, the new operator has long looked at this one.
    office.agent("ben", |_| {}).await;
    office.says("ben", "Registered").await;
    operator.stop().await;
    let after = office.world.api::<Agent>().get("ann").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version, "no write");
    assert_eq!(office.people.calls().len(), 4, "{:?}", office.people.calls());
    office.keeps_its_token().await;
}

/// BIND-03: an installation without a people service is told nothing about it.
#[tokio::test]
async fn without_a_people_service_nothing_is_said_and_with_one_all_are_registered() {
    let office = Office::new("op-mail-none").await;
    let operator = office.world.cluster_operator();
    office.agent("ann", |_| {}).await;
    let is_settled = |status: &AgentStatus| status.state == Some(AgentState::OnDemand);
    let status = office.world.status("ann settles", "ann", is_settled).await;
    assert_eq!(says(&status), ("", ""));
    operator.stop().await;
    assert_eq!(office.people.calls(), []);

    let operator = office.operator();
    office.says("ann", "Registered").await;
    operator.stop().await;
}

/// SWARM-03
#[tokio::test]
async fn a_member_of_a_swarm_is_registered_too() {
    let office = Office::new("op-mail-swarm").await;
    let operator = office.operator();
    office.agent("lead", |_| {}).await;
    let soon = Timestamp::from_second(4_000_000_000).unwrap();
    office
        .agent("crew-scout", |spec| {
            spec.lifetime = Some(Lifetime::Ephemeral);
            spec.parent = Some("lead".to_owned());
            spec.swarm = Some("crew".to_owned());
            spec.ttl_at = Some(Time(soon));
        })
        .await;
    let message = office.says("crew-scout", "Registered").await;
    assert_eq!(message, "crew-scout@dev-ai.flow.life as agent \"crew-scout\" is registered");
    operator.stop().await;
}

/// LIFE-20, LIFE-21, BIND-03: who has no mailbox is no person, until it has one.
#[tokio::test]
async fn an_agent_whose_slug_is_taken_is_registered_once_the_slug_is_free() {
    let office = Office::new("op-mail-slug").await;
    let operator = office.operator();
    let name = &office.world.namespace.name;
    let slug = format!("desk-{}", &name[name.len() - 6..]);
    office.agent("first", |spec| spec.slug = Some(slug.clone())).await;
    office.says("first", "Registered").await;
    office
        .agent("second", |spec| {
            spec.slug = Some(slug.clone());
            spec.activation = None;
        })
        .await;
    let status = office
        .world
        .status("the second is stalled", "second", |status| {
            reason(status, "Stalled", true) == Some("SlugTaken")
        })
        .await;
    assert_eq!(says(&status), ("", ""));
    assert_eq!(office.registered(), [slug.as_str()]);

    office.world.api::<Agent>().delete("first", &DeleteParams::default()).await.unwrap();
    office
        .world
        .status("the second is registered", "second", |status| says(status).0 == "Registered")
        .await;
    operator.stop().await;
}

/// BIND-03: registration is outside reconcile; a service that says nothing holds up nobody.
#[tokio::test]
async fn a_service_that_hangs_delays_no_agent_and_no_stop() {
    let office = Office::new("op-mail-hangs").await;
    office.people.set(Mood::Hangs(String::new()));
    let operator = office.operator();
    for number in 0..12 {
        office.agent(&format!("agent-{number}"), |_| {}).await;
    }
    eventually("calls hang", DEADLINE, || async {
        let calls = office.people.calls().len();
        anyhow::ensure!(calls > 0, "{calls} calls");
        anyhow::Ok(())
    })
    .await;
    for number in 0..12 {
        let name = format!("agent-{number}");
        let is_settled = |status: &AgentStatus| status.state == Some(AgentState::OnDemand);
        office.world.status("it is Ready all the same", &name, is_settled).await;
    }
    let told = std::time::Instant::now();
    operator.stop().await;
    let took = told.elapsed();
    assert!(took < Duration::from_secs(5), "a call that hangs held the operator for {took:?}");

    // Nobody answered in time, whoever comes is told why, and all heals untouched.
    let operator = office.operator();
    eventually("somebody is told", DEADLINE, || async {
        let agents = office.world.api::<Agent>().list(&ListParams::default()).await?;
        let said: Vec<_> = agents.items.into_iter().filter_map(|agent| agent.status).collect();
        let told = said.iter().find(|status| says(status).0 == "PeopleUnavailable");
        let message = told.map(|status| says(status).1.to_owned());
        let message = message.ok_or_else(|| anyhow::anyhow!("nobody is"))?;
        anyhow::ensure!(message.contains("does not answer within 10 s; tried again"), "{message}");
        Ok(())
    })
    .await;
    office.people.set(Mood::Well);
    for number in 0..12 {
        office.says(&format!("agent-{number}"), "Registered").await;
    }
    operator.stop().await;
}

/// BIND-03: a service that asks for time gets it, from all agents.
#[tokio::test]
async fn a_service_that_is_busy_is_left_alone_for_as_long_as_it_asks() {
    let office = Office::new("op-mail-busy").await;
    office.people.set(Mood::Answers(429, Some(4)));
    let operator = office.operator();
    office.agent("ann", |_| {}).await;
    let message = office.says("ann", "PeopleUnavailable").await;
    assert!(message.contains("answers 429; tried again within 5 min"), "{message}");
    let first = office.people.calls();
    assert_eq!(first.len(), 1, "{first:?}");
    office.people.set(Mood::Well);
    office.agent("ben", |_| {}).await;
    for name in ["ann", "ben"] {
        office.says(name, "Registered").await;
    }
    let calls = office.people.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    let pause = calls[1].at - first[0].at;
    assert!(pause >= Duration::from_millis(3_900), "it asked for 4 s and got {pause:?}");
    operator.stop().await;
}

/// BIND-03: what the service minds is told in its words, without the token it repeats, and
/// keeps nobody else waiting.
#[tokio::test]
async fn a_person_who_is_refused_is_told_why_and_holds_nobody_up() {
    let office = Office::new("op-mail-refused").await;
    office.people.set(Mood::Refuses("Bad Name".to_owned()));
    let operator = office.operator();
    office.agent("ann", |spec| spec.display_name = Some("Bad Name".to_owned())).await;
    let message = office.says("ann", "PeopleRefused").await;
    let expected = "is not registered: the people service answers 422";
    assert!(message.contains(expected) && message.contains("token [redacted]"), "{message}");
    office.agent("ben", |_| {}).await;
    office.says("ben", "Registered").await;
    office.world.edit("ann", json!({ "displayName": "Ann" })).await;
    office.says("ann", "Registered").await;
    assert_eq!(office.registered(), ["ben", "Ann"]);
    operator.stop().await;
    office.keeps_its_token().await;
}

/// BIND-03: the token is read at each call, so that it can be rotated.
#[tokio::test]
async fn a_token_that_is_not_known_is_named_and_another_one_heals_it() {
    let office = Office::new("op-mail-token").await;
    std::fs::write(office.token_file(), "stale").unwrap();
    let operator = office.operator();
    office.agent("ann", |_| {}).await;
    let message = office.says("ann", "PeopleTokenInvalid").await;
    assert!(message.contains("FOUNDRY_PEOPLE_TOKEN_FILE"), "{message}");
    std::fs::write(office.token_file(), TOKEN).unwrap();
    office.says("ann", "Registered").await;
    operator.stop().await;
    office.keeps_its_token().await;
}

/// A service that is down costs a write when that begins and one when it ends, however
/// often it is tried.
#[tokio::test]
async fn a_service_that_fails_again_and_again_costs_no_writes() {
    let office = Office::new("op-mail-rest").await;
    office.people.set(Mood::Answers(500, None));
    let operator = office.operator();
    office.agent("ann", |_| {}).await;
    office.says("ann", "PeopleUnavailable").await;
    let (writes, calls) = (office.writes(), office.people.calls().len());
    // The number of its start, how it stands, and what came of the call.
    assert_eq!(writes, 3);
    office.people.set(Mood::Answers(503, None));
    eventually("it is tried again", DEADLINE, || async {
        let now = office.people.calls().len();
        anyhow::ensure!(now >= calls + 2, "{now} calls");
        anyhow::Ok(())
    })
    .await;
    assert_eq!(office.writes(), writes, "the same is not told twice");
    office.people.set(Mood::Well);
    office.says("ann", "Registered").await;
    assert_eq!(office.writes(), writes + 1);
    operator.stop().await;
}
