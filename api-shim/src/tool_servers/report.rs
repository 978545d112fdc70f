//! What a status says of a server, and whether it must be written: pure.

use foundry_crds::tool_server::ToolServerReport;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pace::Answer;

/// A server that comes and goes is written no oftener than this.
const APART: SignedDuration = SignedDuration::from_mins(1);
/// Most tools that the status names, their longest name, and the longest message, as
/// admission lets them in.
const TOOLS: usize = 256;
const NAME: usize = 256;
const MESSAGE: usize = 1024;

/// What there is to say.
pub fn report(generation: i64, answer: &Answer, now: Timestamp) -> ToolServerReport {
    let (message, offered) = match answer {
        Answer::Tools(tools) => (None, Some(tools)),
        Answer::Silent(why) => (Some(cut(why, MESSAGE)), None),
    };
    let mut tools = offered.cloned().unwrap_or_default();
    // A server may tell them in another order each time.
    tools.sort();
    ToolServerReport {
        generation: Some(generation),
        reachable: offered.is_some(),
        message,
        tool_count: offered.and_then(|tools| i64::try_from(tools.len()).ok()),
        tools: tools.into_iter().take(TOOLS).map(|name| cut(&name, NAME)).collect(),
        since: Some(Time(whole_second(now))),
    }
}

/// Whether the status must be written: it says something else, and was not just written. An
/// edit is answered at once.
pub fn must_write(
    shown: Option<&ToolServerReport>,
    told: &ToolServerReport,
    written_at: Option<Timestamp>,
    now: Timestamp,
) -> bool {
    let Some(shown) = shown else { return true };
    if about(shown) == about(told) {
        return false;
    }
    let is_another_spec = shown.generation != told.generation;
    is_another_spec || written_at.is_none_or(|written| now.duration_since(written) >= APART)
}

/// A report without the time of its last change.
fn about(report: &ToolServerReport) -> ToolServerReport {
    ToolServerReport { since: None, ..report.clone() }
}

fn cut(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

/// A Kubernetes time has whole seconds.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn tools(names: &[&str]) -> Answer {
        Answer::Tools(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn silent(why: &str) -> Answer {
        Answer::Silent(why.to_owned())
    }

    #[test]
    fn a_report_says_what_agents_get_or_why_nothing() {
        let expected = ToolServerReport {
            generation: Some(3),
            reachable: true,
            message: None,
            tools: vec!["add".to_owned(), "echo".to_owned()],
            tool_count: Some(2),
            since: Some(Time(at(7))),
        };
        assert_eq!(report(3, &tools(&["echo", "add"]), at(7)), expected);
        let expected = ToolServerReport {
            generation: Some(3),
            reachable: false,
            message: Some("refused".to_owned()),
            tools: Vec::new(),
            tool_count: None,
            since: Some(Time(at(7))),
        };
        assert_eq!(report(3, &silent("refused"), at(7)), expected);
    }

    #[test]
    fn a_report_fits_the_status_whatever_a_server_says() {
        let names = (0..300).map(|n| format!("{n}-{}", "x".repeat(400))).collect();
        let long = report(1, &Answer::Tools(names), at(0));
        assert_eq!((long.tools.len(), long.tool_count), (256, Some(300)));
        assert!(long.tools.iter().all(|name| name.chars().count() <= 256));
        let long = report(1, &silent(&"ä".repeat(2_000)), at(0)).message.unwrap();
        assert_eq!(long.chars().count(), 1_024);
    }

    #[rstest]
    #[case::nothing_shown(None, None, true)]
    #[case::the_same(Some(tools(&["echo"])), None, false)]
    #[case::another_list(Some(tools(&["add"])), None, true)]
    #[case::another_list_a_minute_later(Some(tools(&["add"])), Some(40), true)]
    #[case::another_list_just_written(Some(tools(&["add"])), Some(41), false)]
    #[case::back_again_just_written(Some(silent("refused")), Some(90), false)]
    fn a_status_is_written_only_when_it_would_change_and_once_a_minute_at_most(
        #[case] shown: Option<Answer>,
        #[case] written: Option<i64>,
        #[case] expected: bool,
    ) {
        let now = at(100);
        let shown = shown.map(|answer| report(1, &answer, at(1)));
        let told = report(1, &tools(&["echo"]), now);
        assert_eq!(must_write(shown.as_ref(), &told, written.map(at), now), expected);
    }

    #[test]
    fn what_is_said_of_an_earlier_spec_is_replaced_at_once() {
        let shown = report(1, &tools(&["echo"]), at(0));
        let told = report(2, &tools(&["echo"]), at(1));
        assert!(must_write(Some(&shown), &told, Some(at(1)), at(1)));
    }
}
