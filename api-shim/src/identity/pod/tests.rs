use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn user(name: &str, extra: &[(&str, &str)]) -> UserInfo {
    UserInfo {
        username: Some(name.to_owned()),
        extra: Some(
            extra
                .iter()
                .map(|(k, v)| ((*k).to_owned(), vec![(*v).to_owned()]))
                .collect::<BTreeMap<_, _>>(),
        ),
        ..UserInfo::default()
    }
}

#[rstest]
#[case::a_bound_harness_token(
    "system:serviceaccount:foundry-agents:foundry-harness",
    &[(EXTRA_POD_NAME, "p"), (EXTRA_POD_UID, "u")],
    Ok(("foundry-agents", "p", "u"))
)]
#[case::a_harness_token_without_a_pod(
    "system:serviceaccount:foundry-agents:foundry-harness",
    &[],
    Err(Refusal::NotAPod)
)]
#[case::another_service_account(
    "system:serviceaccount:foundry-agents:default",
    &[(EXTRA_POD_NAME, "p"), (EXTRA_POD_UID, "u")],
    Err(Refusal::NotAHarness)
)]
#[case::a_person("ann", &[(EXTRA_POD_NAME, "p"), (EXTRA_POD_UID, "u")], Err(Refusal::NotAHarness))]
fn only_a_pod_bound_harness_token_names_a_pod(
    #[case] name: &str,
    #[case] extra: &[(&str, &str)],
    #[case] expected: Result<(&str, &str, &str), Refusal>,
) {
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(bound_pod(&user(name, extra)), expected);
}
