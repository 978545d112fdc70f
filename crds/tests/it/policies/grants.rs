//! What a Harness permits, asked when an agent or a swarm is written.

use kube::Error;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use testenv::eventually;

use super::{OPERATOR, Office, PATIENCE};
use crate::it::cases::{Kind, merge};

/// An office with the harnesses `plain`, which permits one tool beside its own, and `full`.
async fn office() -> Office {
    let office = Office::open().await;
    let plain = json!({
        "metadata": { "name": "plain" },
        "spec": { "tools": ["get_agent"], "alwaysGranted": ["recall"] },
    });
    let full = json!({
        "metadata": { "name": "full" },
        "spec": {
            "tools": ["get_agent", "save_note"], "allowsSkills": true, "features": ["repo_scope"],
        },
    });
    for harness in [plain, full] {
        office.existing(Kind::Harness, &harness).await;
    }
    // The policy reads Harnesses from a watch, a moment later.
    for harness in ["plain", "full"] {
        office.until_refused(&on(harness, &json!({ "tools": ["unheard_of"] }))).await;
    }
    office
}

impl Office {
    async fn until_refused(&self, agent: &Value) {
        eventually("the policy knows the Harness", PATIENCE, || async {
            match self.create("ann", Kind::Agent, agent).await {
                Err(Error::Api(status)) if status.code == 422 => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// The Harness permits what it did not, or no more what it did.
    async fn harness_changes(&self, name: &str, spec: &Value, agent: &Value) {
        let harness = Kind::Harness.api(self.admin(), &self.namespace.name);
        let mut object = serde_json::to_value(harness.get(name).await.unwrap()).unwrap();
        merge(&mut object["spec"], spec);
        let object = serde_json::from_value(object).unwrap();
        harness.replace(name, &kube::api::PostParams::default(), &object).await.unwrap();
        self.until_refused(agent).await;
    }
}

fn on(harness: &str, more: &Value) -> Value {
    let mut spec = json!({ "harness": harness });
    merge(&mut spec, more);
    json!({ "spec": spec })
}

fn repository() -> Value {
    json!({ "repository": { "remote": "git@git.example:team/app.git" } })
}

/// A swarm of `search` on `plain` and `write` on `full`, each with this more.
fn swarm(search: &Value, write: &Value) -> Value {
    let member = |name: &str, harness: &str, more: &Value| {
        let mut member = json!({ "name": name, "harness": harness, "instructions": "Work." });
        merge(&mut member, more);
        member
    };
    json!({ "spec": {
        "members": [member("search", "plain", search), member("write", "full", write)],
    } })
}

#[track_caller]
fn wrong(answer: kube::Result<DynamicObject>, says: &str) {
    match answer {
        Err(Error::Api(status))
            if status.code == 422
                && status.reason == "Invalid"
                && status.message.ends_with(says) => {}
        other => panic!("wanted 422 {says}\n   got {other:?}"),
    }
}

const NO_TOOL: &str = "spec.tools: Harness plain does not permit save_note; leave it out, name one \
                       that it has, or add it to spec.tools of the Harness";
const NO_SKILLS: &str = "spec.skills: Harness plain allows no skills, and review is one; leave them \
                         out, or set spec.allowsSkills of the Harness";
const NO_SCOPE: &str = "spec.repository: Harness plain lacks the feature repo_scope; name one that \
                        has it, or leave the repository out";

/// TOOLS-02, TOOLS-05, CODE-09
#[tokio::test]
async fn what_its_harness_does_not_permit_is_refused_to_a_new_agent() {
    let office = office().await;
    let wanted = [
        (json!({ "tools": ["get_agent", "save_note"] }), NO_TOOL),
        (json!({ "skills": [{ "name": "review" }] }), NO_SKILLS),
        (repository(), NO_SCOPE),
    ];
    for (more, says) in wanted {
        wrong(office.create("ann", Kind::Agent, &on("plain", &more)).await, says);
        // Nobody is exempt.
        let mut ephemeral = on("plain", &more);
        merge(&mut ephemeral, &super::ephemeral());
        wrong(office.create(OPERATOR, Kind::Agent, &ephemeral).await, says);
        office.create("ann", Kind::Agent, &on("full", &more)).await.unwrap();
        // The operator waits for a Harness that is not there yet.
        office.create("ann", Kind::Agent, &on("later", &more)).await.unwrap();
    }
    let own = json!({ "tools": ["get_agent", "recall"] });
    office.create("ann", Kind::Agent, &on("plain", &own)).await.unwrap();
}

/// TOOLS-02, TOOLS-05, CODE-09
#[tokio::test]
async fn an_edit_is_asked_for_what_it_adds_and_a_verb_for_nothing() {
    let office = office().await;
    let mut all = on(
        "full",
        &json!({
            "tools": ["get_agent", "save_note"], "skills": [{ "name": "review" }],
        }),
    );
    merge(&mut all["spec"], &repository());
    let agent = office.existing(Kind::Agent, &all).await;
    let edit = |spec: Value| json!({ "spec": spec });
    let on_plain = edit(json!({
        "harness": "plain", "tools": ["get_agent"], "skills": null, "repository": null,
    }));
    office.edit("ann", Kind::Agent, &agent, &on_plain).await.unwrap();
    // Another Harness is asked for everything.
    let mut still = on_plain.clone();
    merge(&mut still["spec"], &json!({ "tools": ["get_agent", "save_note"] }));
    wrong(office.edit("ann", Kind::Agent, &agent, &still).await, NO_TOOL);
    let mut still = on_plain.clone();
    merge(&mut still["spec"], &json!({ "skills": [{ "name": "review" }] }));
    wrong(office.edit("ann", Kind::Agent, &agent, &still).await, NO_SKILLS);
    let mut still = on_plain.clone();
    merge(&mut still["spec"], &repository());
    wrong(office.edit("ann", Kind::Agent, &agent, &still).await, NO_SCOPE);

    let less = json!({ "tools": ["get_agent"], "allowsSkills": null, "features": null });
    office.harness_changes("full", &less, &on("full", &json!({ "tools": ["save_note"] }))).await;
    for kept in [
        json!({ "desiredState": "completed" }),
        json!({ "lifecycle": "archive", "starts": 3 }),
        json!({ "instructions": "Watch.", "tools": ["save_note"] }),
        json!({ "skills": [{ "name": "review", "version": 2 }] }),
        json!({ "tools": null, "skills": null, "repository": null }),
    ] {
        office.edit("ann", Kind::Agent, &agent, &edit(kept)).await.unwrap();
    }
    for (added, field) in [
        (json!({ "tools": ["get_agent", "save_note", "recall"] }), "spec.tools: Harness full"),
        (json!({ "skills": [{ "name": "review" }, { "name": "b" }] }), "spec.skills: Harness full"),
        (json!({ "repository": { "baseRef": "next" } }), "spec.repository: Harness full"),
    ] {
        let refused = office.edit("ann", Kind::Agent, &agent, &edit(added)).await.unwrap_err();
        assert!(refused.to_string().contains(field), "{refused}");
    }
}

/// TOOLS-02, TOOLS-05: as its agent will be asked.
#[tokio::test]
async fn a_member_of_a_swarm_is_asked_as_an_agent_is() {
    const NO_TOOL: &str = "spec.members.tools: Harness plain of member search does not permit \
                           save_note; leave it out, name one that it has, or add it to spec.tools of the Harness";
    const NO_SKILLS: &str = "spec.members.skills: Harness plain of member search allows no skills; \
                             leave them out, or set spec.allowsSkills of the Harness";
    let office = office().await;
    let tools = json!({ "tools": ["get_agent", "save_note"] });
    let skills = json!({ "skills": [{ "name": "review" }] });
    let none = json!({});
    for (more, says) in [(&tools, NO_TOOL), (&skills, NO_SKILLS)] {
        wrong(office.create("ann", Kind::Swarm, &swarm(more, &none)).await, says);
        office.create("ann", Kind::Swarm, &swarm(&none, more)).await.unwrap();
    }
    let mut all = tools.clone();
    merge(&mut all, &skills);
    let existing = office.existing(Kind::Swarm, &swarm(&none, &all)).await;
    for (more, says) in [(&tools, NO_TOOL), (&skills, NO_SKILLS)] {
        wrong(office.edit("ann", Kind::Swarm, &existing, &swarm(more, &all)).await, says);
    }

    let less = json!({ "tools": ["get_agent"], "allowsSkills": null });
    office.harness_changes("full", &less, &on("full", &json!({ "tools": ["save_note"] }))).await;
    let dismissed = json!({ "spec": { "dismissed": true } });
    office.edit("ann", Kind::Swarm, &existing, &dismissed).await.unwrap();
    let mut other_words = all.clone();
    merge(&mut other_words, &json!({ "instructions": "Work on." }));
    office.edit("ann", Kind::Swarm, &existing, &swarm(&none, &other_words)).await.unwrap();
    let mut one_more = all.clone();
    merge(&mut one_more, &json!({ "tools": ["get_agent", "save_note", "recall"] }));
    wrong(
        office.edit("ann", Kind::Swarm, &existing, &swarm(&none, &one_more)).await,
        "spec.members.tools: Harness full of member write does not permit recall; leave it out, \
         name one that it has, or add it to spec.tools of the Harness",
    );
}

/// The server stops a policy that takes too long, and refuses what it was asked about.
#[tokio::test]
async fn the_largest_swarm_is_asked_in_time() {
    let office = Office::open().await;
    let tools = |from: usize, count: usize| {
        (from..from + count).map(|n| format!("{:a<60}{n:04}", "")).collect::<Vec<_>>()
    };
    let harness = json!({
        "metadata": { "name": "wide" },
        "spec": { "tools": tools(0, 100), "alwaysGranted": tools(100, 100), "allowsSkills": true },
    });
    office.existing(Kind::Harness, &harness).await;
    office.until_refused(&on("wide", &json!({ "tools": ["unheard_of"] }))).await;
    let skills: Vec<_> = (0..50).map(|n| json!({ "name": format!("skill-{n}") })).collect();
    let members = |tools: &[String]| {
        let members = (0..20).map(|n| {
            json!({
                "name": format!("m{n}"), "harness": "wide", "instructions": "Work.",
                "tools": tools, "skills": skills,
            })
        });
        json!({ "spec": { "members": members.collect::<Vec<_>>() } })
    };
    let swarm = office.existing(Kind::Swarm, &members(&tools(100, 100))).await;
    let edit = json!({ "spec": { "dismissed": true } });
    office.edit("ann", Kind::Swarm, &swarm, &edit).await.unwrap();
    let none = json!({ "tools": null, "alwaysGranted": null, "allowsSkills": null });
    office.harness_changes("wide", &none, &on("wide", &json!({ "tools": tools(0, 1) }))).await;
    office.edit("ann", Kind::Swarm, &swarm, &edit).await.unwrap();
    let refused = office
        .edit("ann", Kind::Swarm, &swarm, &members(&tools(0, 100)))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("does not permit"), "{refused}");
}
