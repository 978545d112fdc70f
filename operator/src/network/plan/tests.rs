use k8s_openapi::api::networking::v1::{NetworkPolicyEgressRule, NetworkPolicyIngressRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn settings() -> NetworkConfig {
    NetworkConfig { dns_port: 53, dns_addresses: Vec::new(), coding_except: Vec::new() }
}

fn agents(names: &[&str]) -> Vec<OwnerReference> {
    names
        .iter()
        .filter_map(|name| {
            owner(&ObjectMeta {
                name: Some((*name).to_owned()),
                uid: Some(format!("uid-{name}")),
                ..ObjectMeta::default()
            })
        })
        .collect()
}

fn names(owners: &[OwnerReference]) -> Vec<&str> {
    owners.iter().map(|owner| owner.name.as_str()).collect()
}

/// What the API server shows of the two policies that these agents own.
fn laid(owners: &[&str]) -> Vec<NetworkPolicy> {
    let mut policies = policies::render("team", &agents(owners), &settings());
    for policy in &mut policies {
        policy.metadata.uid = policy.metadata.name.as_ref().map(|name| format!("uid-{name}"));
        // An empty list comes back as none.
        policy.spec.as_mut().unwrap().ingress = None;
    }
    policies
}

/// A namespace of these agents, with these policies.
fn of(agents_there: &[&str], present: Vec<NetworkPolicy>) -> Observed {
    Observed {
        namespace: "team".to_owned(),
        owners: agents(agents_there),
        heirs: Vec::new(),
        has_workloads: false,
        present,
    }
}

fn applied(plan: &Plan) -> Vec<&str> {
    plan.apply.iter().filter_map(|policy| policy.metadata.name.as_deref()).collect()
}

fn removed(plan: &Plan) -> Vec<&str> {
    plan.remove.iter().map(|removal| removal.name.as_str()).collect()
}

/// NET-01, NET-03: both before the first pod, and the one that closes first.
#[test]
fn a_namespace_with_an_agent_gets_both_policies_owned_by_it() {
    let observed = Observed { heirs: agents(&["ann"]), ..of(&[], Vec::new()) };
    let plan = plan(&observed, Some(&settings()));
    assert_eq!(applied(&plan), [HARNESS_POLICY, CODING_POLICY]);
    assert_eq!(plan.apply, policies::render("team", &agents(&["ann"]), &settings()));
    assert_eq!(removed(&plan), [""; 0]);
    assert_eq!(plan.look_again, LOOK_AGAIN);
}

#[test]
fn policies_that_stand_are_left_alone() {
    let rest =
        Plan { apply: Vec::new(), remove: Vec::new(), is_fenced: true, look_again: LOOK_AGAIN };
    assert_eq!(plan(&of(&["ann"], laid(&["ann"])), Some(&settings())), rest);

    // Others may label, annotate and own them too.
    let mut more = laid(&["ann", "gone"]);
    for policy in &mut more {
        policy.metadata.labels.get_or_insert_default().insert("team".into(), "red".into());
        policy.metadata.annotations.get_or_insert_default().insert("note".into(), "x".into());
    }
    assert_eq!(plan(&of(&["ann"], more), Some(&settings())), rest);
    let none = Plan { is_fenced: false, ..rest };
    assert_eq!(plan(&of(&["ann"], Vec::new()), None), none, "none is wanted");
    let none = Plan { look_again: EMPTYING_AGAIN, ..none };
    assert_eq!(plan(&of(&[], Vec::new()), Some(&settings())), none, "nobody is there");
}

/// What somebody changes of a policy is put right, and the other one not touched.
#[rstest]
#[case::a_way_in(|it: &mut NetworkPolicySpec| it.ingress = Some(vec![NetworkPolicyIngressRule::default()]))]
#[case::a_way_out(|it: &mut NetworkPolicySpec| it.egress = Some(vec![NetworkPolicyEgressRule::default()]))]
#[case::no_way_out(|it: &mut NetworkPolicySpec| it.egress = None)]
#[case::half_of_it(|it: &mut NetworkPolicySpec| it.policy_types = Some(vec!["Ingress".into()]))]
#[case::other_pods(|it: &mut NetworkPolicySpec| it.pod_selector = None)]
fn a_policy_that_was_changed_is_applied_again(#[case] change: fn(&mut NetworkPolicySpec)) {
    for (changed, name) in [HARNESS_POLICY, CODING_POLICY].into_iter().enumerate() {
        let mut present = laid(&["ann"]);
        change(present[changed].spec.as_mut().unwrap());
        assert_eq!(applied(&plan(&of(&["ann"], present), Some(&settings()))), [name]);
    }
}

#[test]
fn a_policy_without_our_words_on_it_is_applied_again() {
    let changes: [fn(&mut ObjectMeta); 3] = [
        |metadata| metadata.labels = None,
        |metadata| metadata.annotations = None,
        |metadata| metadata.owner_references = None,
    ];
    for change in changes {
        let mut present = laid(&["ann"]);
        change(&mut present[0].metadata);
        let plan = plan(&of(&["ann"], present), Some(&settings()));
        assert_eq!(applied(&plan), [HARNESS_POLICY]);
    }
}

#[test]
fn a_changed_setting_changes_the_policy_that_it_is_about() {
    let dns = NetworkConfig { dns_port: 5353, ..settings() };
    assert_eq!(applied(&plan(&of(&["ann"], laid(&["ann"])), Some(&dns))), [HARNESS_POLICY]);
    let except = vec!["100.64.0.0/10".parse().unwrap()];
    let except = NetworkConfig { coding_except: except, ..settings() };
    assert_eq!(applied(&plan(&of(&["ann"], laid(&["ann"])), Some(&except))), [CODING_POLICY]);
}

/// Somebody's copy of one of ours has its labels too.
#[test]
fn a_policy_under_another_name_is_nobodys_business_whatever_it_is_labelled() {
    let mut present = laid(&["ann"]);
    let mut copy = present[0].clone();
    copy.metadata.name = Some("a-copy".to_owned());
    copy.metadata.uid = Some("uid-a-copy".to_owned());
    present.push(copy);
    let stays = plan(&of(&["ann"], present.clone()), Some(&settings()));
    assert_eq!((applied(&stays), removed(&stays)), (vec![], vec![]));
    let away = plan(&of(&["ann"], present), None);
    assert_eq!(removed(&away), [HARNESS_POLICY, CODING_POLICY]);
}

#[test]
fn policies_are_removed_where_none_are_wanted() {
    let away = plan(&of(&["ann"], laid(&["ann"])), None);
    assert_eq!(applied(&away), [""; 0]);
    assert_eq!(removed(&away), [HARNESS_POLICY, CODING_POLICY]);
    assert_eq!(away.remove[0].uid, "uid-foundry-harness", "that very one");

    let mut going = laid(&["ann"]);
    going[0].metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    let rest = plan(&of(&["ann"], going), None);
    assert_eq!(removed(&rest), [CODING_POLICY], "one is asked for already");
}

/// A pod has a while to end in after its agent is gone, and is fenced until it has.
#[test]
fn policies_outlive_the_last_agent_by_its_pods() {
    let pods_end = Observed { has_workloads: true, ..of(&[], laid(&["gone"])) };
    let waits = plan(&pods_end, Some(&settings()));
    assert_eq!((applied(&waits), removed(&waits)), (vec![], vec![]));
    assert_eq!((waits.is_fenced, waits.look_again), (true, EMPTYING_AGAIN));

    // The garbage collector may have been quicker.
    let taken = Observed { present: Vec::new(), ..pods_end };
    let again = plan(&taken, Some(&settings()));
    assert_eq!(applied(&again), [HARNESS_POLICY, CODING_POLICY]);
    assert_eq!(again.apply[0].metadata.owner_references, None);

    let over = plan(&of(&[], laid(&[])), Some(&settings()));
    assert_eq!(removed(&over), [HARNESS_POLICY, CODING_POLICY]);
}

/// Agents come and go by the thousand; a write for each would be one too many.
#[rstest]
#[case::the_first(&[], &["a"], &["a"])]
#[case::few_take_all_there_are(&["a", "b"], &["a", "b", "c"], &["a", "b", "c"])]
#[case::enough_take_nobody(&["a", "b", "c", "d"], &["e"], &["a", "b", "c", "d"])]
#[case::few_are_filled_up(
    &["x", "y", "z"],
    &["a", "b", "c", "d", "e", "f"],
    &["a", "b", "c", "d", "e", "x", "y", "z"]
)]
fn an_agent_becomes_an_owner_only_where_few_are_left(
    #[case] owners: &[&str],
    #[case] heirs: &[&str],
    #[case] from_now_on: &[&str],
) {
    let found = owners_from_now_on(&agents(owners), &agents(heirs));
    assert_eq!(names(&found), from_now_on);
    // The next look finds them as owners, and changes nothing.
    assert_eq!(owners_from_now_on(&found, &agents(heirs)), found);
    let observed =
        Observed { owners: agents(owners), heirs: agents(heirs), ..of(&[], laid(from_now_on)) };
    assert_eq!(applied(&plan(&observed, Some(&settings()))), [""; 0]);
}
