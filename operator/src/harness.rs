//! Harnesses: says which image their pods get.

use std::sync::Arc;
use std::time::Duration;

use foundry_crds::condition::reason;
use foundry_crds::harness::HarnessHost;
use foundry_crds::{Harness, HarnessSpec, HarnessStatus};
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions::{self, Readiness};
use crate::config::TemplateConfig;
use crate::context::Context;
use crate::error::Error;
use crate::{invalid, pod};

/// Watches may miss: look again this often.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// Reports on a Harness.
pub async fn reconcile(
    harness: Arc<Guard<Harness>>,
    context: Arc<Context>,
) -> Result<Action, Error> {
    let harness = match &harness.0 {
        Ok(harness) => harness,
        Err(invalid) => return invalid::report::<Harness>(&context, invalid).await,
    };
    let present = harness.status.clone().unwrap_or_default();
    let wanted = plan(
        &harness.spec,
        &present,
        harness.metadata.generation.unwrap_or_default(),
        &context.config.template,
        context.clock.now(),
    );
    if wanted != present {
        let version = Version::of("Harness", harness.meta())?;
        apply::status::<Harness, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "Harness");
    }
    Ok(Action::requeue(LOOK_AGAIN))
}

/// A Harness refers to nothing that could be missing: it is ready once seen.
fn plan(
    spec: &HarnessSpec,
    present: &HarnessStatus,
    generation: i64,
    settings: &TemplateConfig,
    now: Timestamp,
) -> HarnessStatus {
    let (image, message) = match spec.host.unwrap_or_default() {
        HarnessHost::Pod => {
            let image = pod::image(spec, settings).to_owned();
            let message = format!("new starts use image {image}");
            (Some(image), message)
        }
        HarnessHost::Chat => (None, "served by the conversation server".to_owned()),
    };
    let wanted = Readiness::Ready.conditions(reason::RESOLVED, &message);
    HarnessStatus {
        observed_generation: Some(generation),
        image,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn settings() -> TemplateConfig {
        TemplateConfig {
            harness_image: "foundry-harness:dev".to_owned(),
            harness_coding_image: "foundry-harness-coding:dev".to_owned(),
            api_url: String::new(),
            evaluate_seconds: None,
            heartbeat_seconds: None,
            node_selector: None,
            toleration: None,
        }
    }

    /// WORK-02
    #[test]
    fn a_harness_without_an_image_gets_the_operators_and_its_own_wins() {
        let now = Timestamp::UNIX_EPOCH;
        let image =
            |spec: HarnessSpec| plan(&spec, &HarnessStatus::default(), 1, &settings(), now).image;
        assert_eq!(image(HarnessSpec::default()).as_deref(), Some("foundry-harness:dev"));
        let own = HarnessSpec { image: Some("own:1".to_owned()), ..HarnessSpec::default() };
        assert_eq!(image(own).as_deref(), Some("own:1"));
        let chat = HarnessSpec { host: Some(HarnessHost::Chat), ..HarnessSpec::default() };
        assert_eq!(image(chat), None);
    }

    #[test]
    fn a_settled_harness_is_reported_as_it_is() {
        let first = plan(
            &HarnessSpec::default(),
            &HarnessStatus::default(),
            1,
            &settings(),
            Timestamp::UNIX_EPOCH,
        );
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(plan(&HarnessSpec::default(), &first, 1, &settings(), later), first);
    }
}
