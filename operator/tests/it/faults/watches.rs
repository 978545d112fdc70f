//! Watches that are late, and watches that are cut.

use std::time::{Duration, Instant};

use anyhow::ensure;
use foundry_crds::CodingRun;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use testenv::eventually;

use super::{creations, jobs_by_owner};
use crate::it::world::{DEADLINE, World};

/// kubernetes.md, section 4, asks for 500: `cargo xtask bench operator` has more. Of so
/// many each is looked at many times before its cache shows what it has.
const MANY: usize = 100;
const LATE: Duration = Duration::from_secs(5);

/// Stale caches: fixed names and versions make them harmless.
#[tokio::test(flavor = "multi_thread")]
async fn with_watches_that_are_late_and_cut_each_run_has_exactly_one_job() {
    let world = World::new("op-late").await;
    let proxy = world.proxy().await;
    proxy.delay_watches(LATE);
    world.can_code().await;
    let operator = world.operator_through(&proxy).await;
    let started = Instant::now();
    for number in 0..MANY {
        world.run(&format!("run-{number:03}"), |_| {}).await;
        if number % (MANY / 4) == MANY / 8 {
            proxy.cut_watches();
        }
    }
    let runs = world.api::<CodingRun>();
    eventually("every run has its start", DEADLINE * 2, || async {
        let runs = runs.list(&ListParams::default()).await?.items;
        let begun = |run: &&CodingRun| {
            run.status.as_ref().is_some_and(|status| status.start_number == Some(1))
        };
        let begun = runs.iter().filter(begun).count();
        ensure!(begun == MANY, "{begun} of {} are begun", runs.len());
        anyhow::Ok(())
    })
    .await;
    proxy.cut_watches();
    println!("{MANY} runs are begun after {:?}", started.elapsed());

    let by_owner = jobs_by_owner(&world).await;
    assert_eq!(by_owner.len(), MANY);
    assert!(by_owner.values().all(|jobs| jobs.len() == 1), "{by_owner:?}");
    let mut created = creations(&[&proxy]);
    assert_eq!(created.remove("agents "), Some(MANY));
    let doubled: Vec<_> = created.iter().filter(|(_, times)| **times != 1).collect();
    assert_eq!(doubled, [], "made more than once");
    operator.stop().await;
}
