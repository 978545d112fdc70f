//! Names of what agents spawn.

use foundry_crds::Agent;
use kube::ResourceExt;
use sha2::{Digest, Sha256};

/// Letters that set one thing an agent spawns apart from the next.
pub const SUFFIX: usize = 10;
/// What the letters are chosen from: five bits each.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A name of at most `room` characters, which is [`SUFFIX`] at least: the spawner's and a
/// few letters, deterministic so that a replay meets what the first try made (WORK-01).
/// `replay` tells this request from the spawner's others.
pub fn name(spawner: &Agent, replay: &str, room: usize) -> String {
    let uid = spawner.uid().unwrap_or_default();
    let digest = Sha256::digest(format!("{uid}\n{replay}"));
    let suffix = digest
        .iter()
        .take(SUFFIX)
        .filter_map(|byte| LETTERS.get(usize::from(byte & 31)))
        .map(|letter| char::from(*letter))
        .collect::<String>();
    let prefix =
        spawner.name_any().chars().take(room.saturating_sub(SUFFIX + 1)).collect::<String>();
    match prefix.trim_end_matches('-') {
        "" => suffix,
        prefix => format!("{prefix}-{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use foundry_crds::{AgentSpec, names::MAX_AGENT_NAME};

    use super::*;

    fn spawner(name: &str, uid: &str) -> Agent {
        let mut agent = Agent::new(name, AgentSpec::default());
        agent.metadata.uid = Some(uid.to_owned());
        agent
    }

    /// ROUTE-14
    #[test]
    fn the_same_request_of_the_same_agent_gives_the_same_name_and_every_other_another() {
        let scout = spawner("scout", "uid-1");
        let first = name(&scout, "key", MAX_AGENT_NAME);
        assert_eq!(first, name(&scout, "key", MAX_AGENT_NAME));
        assert_ne!(first, name(&scout, "other key", MAX_AGENT_NAME));
        let later = spawner("scout", "uid-2");
        assert_ne!(first, name(&later, "key", MAX_AGENT_NAME), "another agent of that name");
        assert!(first.starts_with("scout-"), "{first}");
    }

    #[test]
    fn a_name_fits_whatever_the_spawner_is_called_and_however_little_room_there_is() {
        for called in ["a".repeat(40), format!("{}-{}", "a".repeat(28), "b".repeat(11))] {
            for room in SUFFIX..=MAX_AGENT_NAME {
                let name = name(&spawner(&called, "uid"), "key", room);
                assert!(name.len() <= room, "{name} in {room}");
                assert!(!name.contains("--") && !name.starts_with('-'), "{name}");
                assert!(name.ends_with(char::is_alphanumeric), "{name}");
            }
        }
    }
}
