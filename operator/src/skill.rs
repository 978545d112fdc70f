//! Skills: says which version is the latest.

use std::sync::Arc;
use std::time::Duration;

use foundry_crds::condition::reason;
use foundry_crds::{Skill, SkillSpec, SkillStatus};
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::apply::{self, Version};
use crate::caches::Guard;
use crate::conditions::{self, Readiness};
use crate::context::Context;
use crate::error::Error;
use crate::invalid;

/// Watches may miss: look again this often.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// Reports on a skill.
pub async fn reconcile(skill: Arc<Guard<Skill>>, context: Arc<Context>) -> Result<Action, Error> {
    let skill = match &skill.0 {
        Ok(skill) => skill,
        Err(invalid) => return invalid::report::<Skill>(&context, invalid).await,
    };
    let present = skill.status.clone().unwrap_or_default();
    let generation = skill.metadata.generation.unwrap_or_default();
    let wanted = plan(&skill.spec, &present, generation, context.clock.now());
    if wanted != present {
        let version = Version::of("Skill", skill.meta())?;
        apply::status::<Skill, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "Skill");
    }
    Ok(Action::requeue(LOOK_AGAIN))
}

/// The version that an agent without a pin gets (SKILL-02). A skill with instructions is
/// edited in place: its generation counts its versions, and there is only the present one.
pub fn latest_version(spec: &SkillSpec, generation: i64) -> Option<i64> {
    match &spec.instructions {
        Some(_) => Some(generation),
        None => spec.latest().map(|latest| latest.version),
    }
}

/// What agents read of a skill.
pub fn versions(skill: &Skill) -> Vec<i64> {
    match &skill.spec.instructions {
        Some(_) => skill.metadata.generation.into_iter().collect(),
        None => skill.spec.versions.iter().map(|version| version.version).collect(),
    }
}

/// Keeps of a skill in memory which versions there are and whether it is edited in place.
pub fn prune(skill: &mut Skill) {
    skill.spec.description = String::new();
    skill.spec.files = Vec::new();
    if let Some(instructions) = &mut skill.spec.instructions {
        *instructions = String::new();
    }
    for version in &mut skill.spec.versions {
        version.document_id = String::new();
        version.path = None;
    }
}

/// A skill refers to nothing that could be missing here: what its documents hold, the
/// documents service knows.
fn plan(spec: &SkillSpec, present: &SkillStatus, generation: i64, now: Timestamp) -> SkillStatus {
    let latest_version = latest_version(spec, generation);
    let wanted = match latest_version {
        Some(version) => {
            let message = format!("version {version} is the latest");
            Readiness::Ready.conditions(reason::RESOLVED, &message)
        }
        None => Readiness::Stalled.conditions(
            reason::INVALID,
            "the skill holds neither instructions nor versions; give one of them",
        ),
    };
    SkillStatus {
        observed_generation: Some(generation),
        latest_version,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

#[cfg(test)]
mod tests {
    use foundry_crds::skill::SkillVersion;
    use pretty_assertions::assert_eq;

    use super::*;

    fn published(numbers: &[i64]) -> SkillSpec {
        let version = |number: &i64| SkillVersion { version: *number, ..SkillVersion::default() };
        SkillSpec { versions: numbers.iter().map(version).collect(), ..SkillSpec::default() }
    }

    fn planned(spec: &SkillSpec) -> SkillStatus {
        plan(spec, &SkillStatus::default(), 7, Timestamp::UNIX_EPOCH)
    }

    /// SKILL-02
    #[test]
    fn the_latest_version_is_the_highest_one_or_the_generation_of_what_is_edited_in_place() {
        assert_eq!(planned(&published(&[2, 10, 3])).latest_version, Some(10));
        let in_place =
            SkillSpec { instructions: Some("Be brief.".to_owned()), ..SkillSpec::default() };
        assert_eq!(planned(&in_place).latest_version, Some(7));
        assert_eq!(planned(&in_place).conditions[0].status, "True");
        let empty = planned(&SkillSpec::default());
        assert_eq!((empty.latest_version, empty.conditions[1].type_.as_str()), (None, "Stalled"));
    }

    /// SKILL-02: what is left in memory says all that a look needs.
    #[test]
    fn a_pruned_skill_has_its_versions_and_no_content() {
        let mut in_place = Skill::new(
            "style",
            SkillSpec { instructions: Some("Be brief.".to_owned()), ..SkillSpec::default() },
        );
        in_place.metadata.generation = Some(7);
        for (mut skill, numbers) in
            [(Skill::new("x", published(&[2, 3])), vec![2, 3]), (in_place, vec![7])]
        {
            let before = planned(&skill.spec);
            prune(&mut skill);
            assert_eq!((versions(&skill), planned(&skill.spec)), (numbers, before));
            assert_ne!(skill.spec.instructions.as_deref(), Some("Be brief."));
        }
    }

    #[test]
    fn a_settled_skill_is_reported_as_it_is() {
        let first = planned(&published(&[1]));
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(plan(&published(&[1]), &first, 7, later), first);
    }
}
