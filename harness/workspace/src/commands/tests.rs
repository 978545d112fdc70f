use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::options::{Argument, Spec, read};
use super::*;

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[rstest]
#[case(&["go", "test", "./..."], "go test ./...")]
#[case(&["git", "commit", "-m", "it's done"], r"git commit -m 'it'\''s done'")]
#[case(&["echo", "", "a\nb"], "echo '' 'a b'")]
fn a_command_is_shown_on_one_line(#[case] words: &[&str], #[case] wanted: &str) {
    assert_eq!(shown(&argv(words)), wanted);
}

#[test]
fn options_are_read_as_most_programs_read_them() {
    let words = argv(&["-am", "text", "--name=x", "--long", "y", "word", "-xz", "-o3", "--", "-q"]);
    let spec = Spec { valued: &["--long"], letters: "mo" };
    let all = read(&words, spec);
    let letter = |letter, value| Argument::Letter { letter, value };
    let wanted = [
        letter('a', None),
        letter('m', Some("text")),
        Argument::Option { name: "--name", value: Some("x") },
        Argument::Option { name: "--long", value: Some("y") },
        Argument::Word("word"),
        letter('x', None),
        letter('z', None),
        letter('o', Some("3")),
    ];
    assert_eq!((all.before.as_slice(), all.after), (wanted.as_slice(), &argv(&["-q"])[..]));
}

/// Words of the programs that are looked into, in any order.
fn command() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        Just("env"),
        Just("-i"),
        Just("-u"),
        Just("A=b"),
        Just("--"),
        Just("-C"),
        Just("."),
        Just("time"),
        Just("-f"),
        Just("npx"),
        Just("-p"),
        Just("--package=x"),
        Just("-y"),
        Just("npm"),
        Just("exec"),
        Just("pnpm"),
        Just("dlx"),
        Just("-c"),
        Just("corepack"),
        Just("pnpm@9"),
        Just("go"),
        Just("tool"),
        Just("test"),
        Just("./..."),
        Just("-run"),
        Just("make"),
        Just("git"),
        Just("-n"),
        Just("config"),
        Just("--get"),
        Just("alias.x"),
        Just("commit"),
        Just("-mx"),
        Just("gradlew"),
        Just("-x"),
        Just(":a:test"),
        Just(""),
        Just("python"),
        Just("-m"),
        Just("pytest"),
        Just("node"),
        Just("--test"),
        Just("é"),
    ];
    proptest::collection::vec(word.prop_map(str::to_owned), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_command_is_judged(argv in command()) {
        let policy = Policy::new(&argv);
        if policy.check(&argv).is_err() {
            prop_assert!(!policy.check(&argv).unwrap_err().to_string().is_empty());
        }
        if let Some(check) = counted(&argv) {
            prop_assert!(!check.kind.is_empty());
        }
        prop_assert!(!shown(&argv).contains('\n'));
    }

    /// CODE-05
    #[test]
    fn git_push_is_refused_behind_any_wrappers(
        wrappers in proptest::collection::vec(
            prop_oneof![
                Just("env"), Just("env A=b"), Just("env -i"), Just("env -u A --"), Just("time"),
                Just("time -f %e"), Just("npx"), Just("npx -y"), Just("npx --package=git --"),
                Just("npm exec --"), Just("pnpm exec"), Just("pnpm -r exec"), Just("pnpm dlx"),
                Just("corepack pnpm exec"), Just("corepack pnpm@9.1.0 dlx"), Just("go tool"),
                Just("corepack yarn dlx"), Just("pnpm -w exec"), Just("npm --foo bar exec"),
            ],
            0..4
        ),
        options in prop_oneof![
            Just(""), Just("-C sub"), Just("-c color.ui=always"), Just("--no-pager"),
            Just("-C . -P"),
        ],
        arguments in prop_oneof![Just(""), Just("origin main"), Just("--force")],
    ) {
        let text = format!("{} git {options} push {arguments}", wrappers.join(" "));
        let argv: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        prop_assert!(Policy::default().check(&argv).is_err(), "{}", text);
    }
}
