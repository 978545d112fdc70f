use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::entry::Settled;

const REPEAT: Repeat = Repeat { hint_after: 3, halt_after: 5 };

fn batch<const N: usize>(done: [(&str, &str, Settled); N]) -> (Vec<ToolCall>, Vec<CallResult>) {
    let one = |(name, arguments, settled): (&str, &str, Settled)| {
        let (id, name) = ("id".to_owned(), name.to_owned());
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments: arguments.to_owned() };
        (call, CallResult { call_id: id, name, settled })
    };
    done.map(one).into_iter().unzip()
}

fn ok(
    name: &'static str,
    arguments: &'static str,
    output: &str,
) -> (Vec<ToolCall>, Vec<CallResult>) {
    batch([(name, arguments, Settled::output(output))])
}

/// What was found, batch after batch: `.` progress, `?` a hint, `!` a halt.
fn found(batches: impl IntoIterator<Item = (Vec<ToolCall>, Vec<CallResult>)>) -> String {
    found_with(REPEAT, batches)
}

fn found_with(
    repeat: Repeat,
    batches: impl IntoIterator<Item = (Vec<ToolCall>, Vec<CallResult>)>,
) -> String {
    let mut repeats = Repeats::default();
    let look = |(calls, results): (Vec<ToolCall>, Vec<CallResult>)| match repeats.settled(
        calls.iter(),
        &results,
        repeat,
    ) {
        Found::Progress => '.',
        Found::Hint(_) => '?',
        Found::Halt(_) => '!',
    };
    batches.into_iter().map(look).collect()
}

/// The model is told first, once, and only then is the run ended.
#[test]
fn the_same_call_with_the_same_result_is_hinted_at_and_then_ends_the_run() {
    let same = || ok("read", r#"{"path":"a"}"#, "the text");
    assert_eq!(found((0..6).map(|_| same())), "..?.!!");
}

/// A poll, or a test run after each edit: the result, or what lies between, is another.
#[test]
fn honest_repetition_is_never_stopped() {
    let poll = (0..40).map(|n| ok("status", "{}", &format!("{n} % done")));
    assert_eq!(found(poll), ".".repeat(40));

    let edit_and_test = (0..40).map(|n| {
        if n % 2 == 0 {
            ok("test", "{}", "all 12 passed")
        } else {
            batch([("edit", "{}", Settled::output(format!("line {n} changed")))])
        }
    });
    assert_eq!(found(edit_and_test), ".".repeat(40));
}

#[test]
fn a_round_of_several_batches_is_a_circle_too() {
    let steps = ["a", "b", "c"];
    let round = (0..15).map(|n| ok("read", "{}", steps[n % 3]));
    // Three rounds are through with the ninth batch, five with the fifteenth.
    assert_eq!(found(round), "........?.....!");
}

#[test]
fn the_spacing_of_arguments_makes_no_call_another_one() {
    let spaced = ok("read", r#"{ "path" : "a" }"#, "x");
    let tight = ok("read", r#"{"path":"a"}"#, "x");
    assert_eq!(found([spaced.clone(), tight.clone(), spaced, tight]), "..?.");
}

/// One error under changing arguments.
#[test]
fn a_tool_that_fails_alike_whatever_it_is_given_is_a_circle() {
    let lines = ["1", "2", "3", "4", "5"];
    let failing =
        lines.map(|line| batch([("edit", line, Settled::failed("the text was not found"))]));
    assert_eq!(found(failing), "..?.!");
}

#[test]
fn what_succeeds_between_does_not_hide_an_error_that_comes_again() {
    let batches = (0..9).map(|n| {
        let lines = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];
        if n % 2 == 0 {
            batch([("edit", lines[n], Settled::failed("the text was not found"))])
        } else {
            batch([("read", lines[n], Settled::output(lines[n]))])
        }
    });
    assert_eq!(found(batches), "....?...!");
}

#[rstest]
#[case(Settled::output("done"))]
#[case(Settled::failed("another error"))]
fn a_success_or_another_error_of_the_tool_begins_anew(#[case] between: Settled) {
    let fails = |arguments| batch([("edit", arguments, Settled::failed("not found"))]);
    let batches = [fails("1"), fails("2"), batch([("edit", "3", between)]), fails("4"), fails("5")];
    assert_eq!(found(batches), ".....");
}

#[test]
fn many_failures_in_one_batch_count_once() {
    let fails = || ("read", "{}", Settled::failed("no such file"));
    let first = batch([fails(), fails(), fails(), fails(), fails(), fails()]);
    assert_eq!(found([first]), ".");
}

#[test]
fn calls_that_are_refused_again_and_again_are_a_circle() {
    let cut = || Settled::not_run("your reply was cut off by the output limit");
    let batches = ["1", "2", "3", "4", "5"].map(|n| batch([("write", n, cut())]));
    assert_eq!(found(batches), "..?.!");
}

#[test]
fn zero_switches_each_off() {
    let same = || (0..50).map(|_| ok("read", "{}", "x"));
    assert_eq!(found_with(Repeat { hint_after: 0, halt_after: 0 }, same()), ".".repeat(50));
    let halts = found_with(Repeat { hint_after: 0, halt_after: 3 }, same());
    assert!(halts.starts_with("..!") && !halts.contains('?'), "{halts}");
    let hints = found_with(Repeat { hint_after: 3, halt_after: 0 }, same());
    assert_eq!(hints, format!("..?{}", ".".repeat(47)));
}

#[test]
fn what_is_said_names_the_call_or_the_error_in_short() {
    let mut repeats = Repeats::default();
    let repeat = Repeat { hint_after: 1, halt_after: 2 };
    let (calls, results) = ok("read", r#"{"path":"a"}"#, "x");
    let Found::Hint(words) = repeats.settled(calls.iter(), &results, repeat) else {
        panic!("a hint")
    };
    assert_eq!(
        words,
        r#"the same calls brought the same results 1 times, the last of them read({"path":"a"})"#
    );
    let long = Settled::failed("é".repeat(10_000));
    let (calls, results) = batch([("edit", "1", long.clone())]);
    repeats.settled(calls.iter(), &results, repeat);
    let (calls, results) = batch([("edit", "2", long)]);
    let Found::Halt(words) = repeats.settled(calls.iter(), &results, repeat) else {
        panic!("a halt")
    };
    assert!(words.starts_with("edit failed 2 times with: é") && words.len() < 300, "{words}");
}

#[test]
fn what_is_remembered_stays_small() {
    let mut repeats = Repeats::default();
    let endless = Repeat { hint_after: u32::MAX, halt_after: u32::MAX };
    for n in 0..2000 {
        let name = format!("made_up_{n}");
        let (calls, results) = batch([(&name, "{}", Settled::not_run(format!("no tool {n}")))]);
        assert_eq!(repeats.settled(calls.iter(), &results, endless), Found::Progress);
    }
    assert_eq!((repeats.batches.len(), repeats.errors.len()), (REMEMBERED, ERRING_TOOLS));
}
