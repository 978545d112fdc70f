use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case(b"plain.rs", "plain.rs")]
#[case("grün.md".as_bytes(), "grün.md")]
#[case(b"caf\xe9.txt", "caf\\xe9.txt")]
#[case(b"two\nlines", "two\\x0alines")]
#[case(b"", ".")]
fn a_path_is_shown_on_one_line(#[case] bytes: &[u8], #[case] wanted: &str) {
    assert_eq!(path(Path::new(OsStr::from_bytes(bytes))), wanted);
}

#[test]
fn a_change_is_shown_with_its_line_numbers_and_little_around_it() {
    let before = (1..=30).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let after = before.replace("line 20\n", "line twenty\nand a half\n");
    assert_eq!(
        diff(&before, &after),
        "@@ -17,7 +17,8 @@\n line 17\n line 18\n line 19\n-line 20\n+line twenty\n+and a half\n \
         line 21\n line 22\n line 23"
    );
}

#[test]
fn a_changed_end_of_file_is_shown() {
    assert_eq!(
        diff("a\nb", "a\nb\n"),
        "@@ -1,2 +1,2 @@\n a\n-b\n\\ no newline at the end of the file\n+b"
    );
    assert_eq!(diff("", "a\n"), "@@ -0,0 +1,1 @@\n+a");
    assert_eq!(diff("a\n", ""), "@@ -1,1 +0,0 @@\n-a");
}

#[test]
fn a_change_of_a_whole_long_file_is_cut() {
    let before = (0..1_000).map(|n| format!("old {n}\n")).collect::<Vec<_>>().concat();
    let shown = diff(&before, "");
    assert!(
        shown.lines().count() == 81 && shown.ends_with("more lines of this change)"),
        "{shown}"
    );
    let long = "x\n".repeat(10_000);
    assert_eq!(diff(&long, ""), "(from line 1: 10000 lines became 0)");
}

#[test]
fn sizes_are_shown_in_the_unit_that_fits() {
    let sizes = [0, 1_023, 1_024, 1_536, 5 << 20, 3 << 30].map(size);
    assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB"]);
}

#[test]
fn a_long_line_is_cut_between_characters() {
    assert_eq!(line("grün", 4), "grün");
    assert_eq!(line("grüne", 3), "grü [… cut: 5 characters in all]");
}

proptest! {
    #[test]
    fn every_name_can_be_asked_for_in_the_form_in_which_it_is_shown(
        bytes in proptest::collection::vec(1_u8..=255, 1..20)
    ) {
        let shown = name(OsStr::from_bytes(&bytes));
        prop_assert!(!shown.contains('\n'));
        // A name that holds the escape itself is asked for as it is.
        if !bytes.contains(&b'\\') {
            let asked = unescaped(&shown).unwrap_or_else(|| OsString::from(&shown));
            prop_assert_eq!(asked.as_bytes(), &bytes[..]);
        }
    }

    #[test]
    fn a_change_of_any_text_is_shown_within_bounds(before in "[ab\n]{0,60}", after in "[ab\n]{0,60}") {
        let shown = diff(&before, &after);
        prop_assert!(!shown.is_empty() && shown.lines().count() <= MOST_LINES);
        prop_assert_eq!(before == after, shown == "(no line changed)");
    }
}

const MOST_LINES: usize = 81;
