use std::io::Cursor;

use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

/// What was shown.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shown {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn desk(typed: &'static str) -> (TerminalDesk, Shown) {
    let shown = Shown::default();
    let terminal = Terminal::new(Box::new(io::sink()), Box::new(shown.clone()));
    (TerminalDesk::new(terminal, Box::new(Cursor::new(typed.as_bytes()))), shown)
}

fn plan() -> Question {
    Question {
        kind: QuestionKind::Plan,
        text: "The plan waits.".to_owned(),
        options: vec!["build".to_owned()],
        recommended: None,
        plan_sha256: Some("a".to_owned()),
    }
}

fn question() -> Question {
    Question {
        kind: QuestionKind::Question,
        text: "Which language?".to_owned(),
        options: vec!["English".to_owned(), "Korean".to_owned()],
        recommended: Some("English".to_owned()),
        plan_sha256: None,
    }
}

/// CODE-45, CODE-31
#[tokio::test]
async fn a_plan_is_shown_and_approved_or_changed_by_a_line() {
    let (desk, shown) = desk("\n build \nrather in Korean\n");
    let saved = desk.save_plan("# Plan\n\n1. Fix it.\n").await.unwrap();
    assert_eq!(saved.sha256, sha256("# Plan\n\n1. Fix it.\n"));
    let approved = desk.ask(&plan()).await.unwrap();
    assert_eq!(approved, Reply { text: "build".to_owned(), plan_sha256: Some("a".to_owned()) });
    assert_eq!(desk.ask(&plan()).await.unwrap().text, "rather in Korean");
    let shown = shown.text();
    assert!(shown.starts_with("\n# Plan\n\n1. Fix it.\n\nType `build` to begin"), "{shown}");
}

/// CODE-45, CODE-17
#[rstest]
#[case("2\n", "Korean")]
#[case("\n", "English")]
#[case("German\n", "German")]
#[case("3\n", "3")]
#[case("0\n", "0")]
#[case("no line end", "no line end")]
#[tokio::test]
async fn a_question_is_answered_by_number_by_words_or_as_recommended(
    #[case] typed: &'static str,
    #[case] expected: &str,
) {
    let (desk, shown) = desk(typed);
    assert_eq!(desk.ask(&question()).await.unwrap().text, expected);
    let text = "\n? Which language?\n  1. English\n  2. Korean\n  An empty line means: English\n> ";
    assert_eq!(shown.text(), text);
}

/// CODE-45
#[tokio::test]
async fn an_input_that_ends_is_nobody_who_answers() {
    for typed in ["", "\n\n"] {
        let (desk, _) = desk(typed);
        let asked = desk.ask(&plan()).await;
        assert!(matches!(asked, Err(DeskError::Closed(_))), "{asked:?}");
    }
}

#[tokio::test]
async fn an_endless_line_is_read_in_part() {
    let typed: &'static str = Box::leak("x".repeat(3 * ANSWER_BYTES).into_boxed_str());
    let (desk, _) = desk(typed);
    assert_eq!(desk.ask(&plan()).await.unwrap().text.len(), ANSWER_BYTES);
}

#[test]
fn progress_is_marked_by_how_grave_it_is() {
    let shown = Shown::default();
    let terminal = Terminal::new(Box::new(shown.clone()), Box::new(io::sink()));
    terminal.write(kind::PHASE, LogLevel::Info, "planning begins", None);
    terminal.write(platform_kind::TOOL, LogLevel::Info, "step 1: list_dir", None);
    terminal.write(platform_kind::TOOL, LogLevel::Warn, "step 1: list_dir failed", None);
    terminal.write(platform_kind::ERROR, LogLevel::Error, "broker relay failed", None);
    terminal.write(kind::COMMAND, LogLevel::Info, "`go test` ended", None);
    let lines =
        "planning begins\n  step 1: list_dir\n! step 1: list_dir failed\n!! broker relay failed\n";
    assert_eq!(shown.text(), lines);
}

/// CODE-31, CODE-45
#[tokio::test]
async fn a_plan_cannot_hide_a_part_of_itself_from_who_approves_it() {
    let (desk, shown) = desk("");
    let markdown = "# Plan\n\tsteal\x1b[2K\x1b[1A\rgreet\r\n\u{202e}esrever\u{9b}2J";
    let plan = desk.save_plan(markdown).await.unwrap();
    let mark = '\u{fffd}';
    let text = format!("\n# Plan\n\tsteal{mark}[2K{mark}[1A{mark}greet\n{mark}esrever{mark}2J\n\n");
    assert_eq!(shown.text(), text);
    assert_eq!(plan.sha256, sha256(markdown));
}
