//! What the coding run does, looked at as a person would, every claim checked.

mod example;
mod outcome;
mod repository;
mod rows;
mod scenes;

pub(super) use example::{RUN, forget, lay};

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use testenv::stack::Stack;

use super::cluster::Cluster;
use super::folder::DataFolder;
use outcome::Outcome;
use scenes::Scenes;

/// Tells it all, from the manifest to the pull request.
pub(super) async fn tell(cluster: &Cluster, stack: &Stack, folder: &DataFolder) -> Result<()> {
    let scenes = Scenes::begin(cluster, stack, folder).await?;
    scenes.its_tests_fail().await?;

    let applied = now();
    let example = lay(stack.remote(repository::NAME), &stack.git_access(), folder).await?;
    cluster.person.show(&["apply", "-k", &example.display().to_string()]).await?;
    let mut rows = scenes.watch()?;
    let plan = scenes.it_plans(&mut rows).await?;
    let approved = scenes.a_person_approves_the_plan(&plan).await?;
    scenes.it_builds(&mut rows).await?;
    drop(rows);

    scenes.its_log_says_how().await?;
    let diff = scenes.its_change_is_small().await?;
    let text = scenes.its_pull_request_says_why().await?;
    scenes.its_tests_pass().await?;
    scenes.its_agent_has_ended().await?;
    scenes.what_it_took(applied, approved).await?;
    cluster.person.show(&["get", "codingrun", RUN, "-o", "wide"]).await?;
    scenes.flowcode_does_the_same(&diff).await?;
    Outcome::new(&plan, &diff, &text).compare_with_the_last(folder)
}

/// Microseconds since 1970, as the stand-ins count them.
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros()
}
