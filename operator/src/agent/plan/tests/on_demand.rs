//! On-demand agents: the API handles their calls, and no workload is theirs.

use pretty_assertions::assert_eq;

use super::*;

/// ONDEM-03: whatever is asked of a persistent on-demand agent, no harness pod comes of it,
/// and one from before goes.
#[rstest]
#[case::deployment(WorkloadKind::Deployment)]
#[case::pod(WorkloadKind::Pod)]
fn an_on_demand_agent_never_gets_a_workload(
    #[case] carrier: WorkloadKind,
    #[values(None, Some(DesiredState::Running), Some(DesiredState::Stopped))] desired: Option<
        DesiredState,
    >,
    #[values(None, Some(1), Some(7))] starts: Option<i64>,
) {
    let mut observed = fresh();
    observed.carrier = carrier;
    let mut always_on = settled(&observed);
    for it in [&mut observed, &mut always_on] {
        it.spec.activation = Some(Activation::OnDemand);
        it.spec.desired_state = desired;
        it.spec.starts = starts;
    }
    assert_eq!(planned(&observed).make, None);
    let plan = planned(&always_on);
    assert_eq!((plan.make, plan.remove.len()), (None, 1));
    let settled = settled(&always_on);
    assert_eq!(settled.workloads, vec![]);
    assert_eq!(planned(&settled).workload, None);
}

/// ONDEM-04: what the API writes when a wake is handled leaves the agent at rest.
#[rstest]
#[case::just_made(None)]
#[case::called_before(Some(AgentState::OnDemand))]
fn a_handled_wake_of_an_on_demand_ephemeral_agent_leaves_it_expired(
    #[case] state: Option<AgentState>,
) {
    let mut observed = ephemeral();
    observed.spec.activation = Some(Activation::OnDemand);
    observed.status.state = state;
    assert_eq!(planned(&observed).make, None);
    assert_eq!(planned(&observed).outlook.state, AgentState::OnDemand);
    observed.spec.lifecycle = Some(Lifecycle::Expired);
    observed.spec.desired_state = Some(DesiredState::Completed);
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove, plan.expire), (None, vec![], false));
    assert_eq!((plan.outlook.state, plan.workload), (AgentState::Expired, None));
    assert_eq!(plan.outlook.readiness, Readiness::Ready);
    let settled = settled(&observed);
    assert_eq!(after(&settled).status, settled.status, "it costs nothing");
}
