//! Conditions: written on difference, with a transition time that moves with the
//! status only.

use foundry_crds::condition::kind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// Longest message a condition may carry.
const MAX_MESSAGE: usize = 4_096;

/// One condition as a reconcile wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its type.
    pub kind: &'static str,
    /// `True` or `False`.
    pub status: bool,
    /// One documented word.
    pub reason: &'static str,
    /// What happened and what to do, for a person.
    pub message: String,
}

/// How far the cluster is from the spec, in the words of kstatus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It matches.
    Ready,
    /// It will, by itself.
    Reconciling,
    /// Somebody must change something.
    Stalled,
}

impl Readiness {
    /// `Ready`, and beside it `Reconciling` or `Stalled` while that is so.
    pub fn conditions(self, reason: &'static str, message: &str) -> Vec<Wanted> {
        let wanted = |kind, status| Wanted { kind, status, reason, message: message.to_owned() };
        match self {
            Self::Ready => vec![wanted(kind::READY, true)],
            Self::Reconciling => vec![wanted(kind::READY, false), wanted(kind::RECONCILING, true)],
            Self::Stalled => vec![wanted(kind::READY, false), wanted(kind::STALLED, true)],
        }
    }
}

/// The conditions to report: a status that did not change keeps its transition time.
pub fn merge(
    present: &[Condition],
    wanted: Vec<Wanted>,
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    wanted
        .into_iter()
        .map(|Wanted { kind, status, reason, message }| {
            let status = if status { "True" } else { "False" };
            let since = present
                .iter()
                .find(|condition| condition.type_ == kind && condition.status == status)
                .map_or_else(
                    || Time(whole_second(now)),
                    |condition| condition.last_transition_time.clone(),
                );
            Condition {
                type_: kind.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message: clip(&message, MAX_MESSAGE).to_owned(),
                observed_generation: Some(generation),
                last_transition_time: since,
            }
        })
        .collect()
}

/// The reason of `Ready`, when there is one.
pub fn ready_reason(conditions: &[Condition]) -> Option<&str> {
    conditions
        .iter()
        .find(|condition| condition.type_ == kind::READY)
        .map(|condition| condition.reason.as_str())
}

/// The instant as Kubernetes stores it, so that what is read equals what was written.
pub fn whole_second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// The longest start of `text` within `bytes`.
pub fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use foundry_crds::condition::reason;
    use pretty_assertions::assert_eq;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_transition_time_moves_with_the_status_only() {
        let first = merge(&[], Readiness::Reconciling.conditions(reason::PENDING, "a"), 1, at(10));
        let second =
            merge(&first, Readiness::Reconciling.conditions(reason::DRAINING, "b"), 2, at(20));
        assert_eq!(second[0].last_transition_time, Time(at(10)));
        assert_eq!(second[0].message, "b");
        let third = merge(&second, Readiness::Ready.conditions(reason::RUNNING, "c"), 2, at(30));
        assert_eq!(third[0].last_transition_time, Time(at(30)));
        assert_eq!(third.len(), 1, "neither Reconciling nor Stalled stays");
    }

    /// What kstatus reads, and with it Flux: one of the three, and never two.
    #[test]
    fn an_object_is_ready_or_reconciling_or_stalled() {
        for readiness in [Readiness::Ready, Readiness::Reconciling, Readiness::Stalled] {
            let conditions = readiness.conditions(reason::PENDING, "a");
            let ready = conditions.iter().find(|it| it.kind == kind::READY).unwrap();
            assert_eq!(ready.status, readiness == Readiness::Ready, "Ready is always said");
            assert_eq!(conditions.iter().filter(|it| it.status).count(), 1, "{readiness:?}");
        }
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        assert_eq!(clip("añb", 2), "a");
        assert_eq!(clip("añb", 9), "añb");
    }
}
