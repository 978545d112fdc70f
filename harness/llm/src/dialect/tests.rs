use pretty_assertions::assert_eq;

use super::*;

const FIRST: Dialect = Dialect {
    echo_reasoning: Echo::No,
    output_cap: OutputCap::MaxTokens,
    temperature: Field::Sent,
    reasoning_effort: Field::Sent,
    stream_options: Field::Sent,
    unsigned_calls: Unsigned::Bare,
};

/// KERN-03
#[test]
fn a_compatible_server_gets_the_cap_that_all_of_them_know() {
    assert_eq!(Dialect::of(Provider::OpenAiCompatible), FIRST);
    assert_eq!(Dialect::of(Provider::OpenAi), Dialect::default());
    assert_eq!(Dialect::default().output_cap, OutputCap::MaxCompletionTokens);
}

#[test]
fn what_is_demanded_is_learned_for_that_model() {
    let learned = Learned::default();
    assert!(learned.learn("a", FIRST, Demand::NoTemperature));
    assert!(learned.learn("a", learned.dialect("a", FIRST), Demand::NoStreamOptions));
    let expected = Dialect { temperature: Field::LeftOut, stream_options: Field::LeftOut, ..FIRST };
    assert_eq!(learned.dialect("a", FIRST), expected);
    assert_eq!(learned.dialect("b", FIRST), FIRST);
}

#[test]
fn the_same_demand_twice_is_not_met_again() {
    let learned = Learned::default();
    let (newer, older) = (
        Demand::OutputCap(OutputCap::MaxCompletionTokens),
        Demand::OutputCap(OutputCap::MaxTokens),
    );
    assert!(learned.learn("a", FIRST, newer));
    assert!(learned.learn("a", learned.dialect("a", FIRST), older));
    assert!(!learned.learn("a", learned.dialect("a", FIRST), newer), "round and round");
    assert!(learned.learn("b", FIRST, Demand::NoTemperature));
    assert!(!learned.learn("b", learned.dialect("b", FIRST), Demand::NoTemperature));
}

#[test]
fn a_call_under_way_while_another_learned_is_worth_another_try() {
    let learned = Learned::default();
    assert!(learned.learn("a", FIRST, Demand::NoTemperature));
    assert!(learned.learn("a", FIRST, Demand::NoTemperature), "sent before that was learned");
}

#[test]
fn names_without_end_are_not_remembered() {
    let learned = Learned::default();
    for model in 0..MAX_MODELS {
        assert!(learned.learn(&model.to_string(), FIRST, Demand::NoTemperature));
    }
    assert!(!learned.learn("one more", FIRST, Demand::NoTemperature));
    assert_eq!(learned.dialect("one more", FIRST), FIRST);
    assert!(learned.learn("7", learned.dialect("7", FIRST), Demand::NoStreamOptions));
}
