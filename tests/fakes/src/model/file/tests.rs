use super::*;

#[test]
fn every_script_that_ships_is_usable() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap()).collect();
    assert!(!files.is_empty());
    for file in files {
        ScriptFile::read(&file.path()).unwrap();
    }
}

#[test]
fn a_wrong_field_is_refused_with_its_name() {
    let error = ScriptFile::parse("rules: [{reply: {txt: hello}}]").unwrap_err();
    assert!(format!("{error:#}").contains("unknown field `txt`"), "{error:#}");
}

#[test]
fn a_reply_of_two_kinds_is_refused() {
    let text = "rules: [{reply: {text: hello, fail: {status: 500}}}]";
    let error = ScriptFile::parse(text).unwrap_err();
    assert!(format!("{error:#}").contains("exactly one of"), "{error:#}");
}

#[test]
fn what_is_unknown_is_refused_with_its_name_wherever_it_stands() {
    for (text, name) in [
        ("strict: {refuse: [temperature]}", "unknown field `refuse`"),
        ("strict: [{model: m, demands: 1}]", "unknown field `demands`"),
        ("window: {tokens: 8, overflow: shout}", "unknown variant `shout`"),
        ("window: {token: 8}", "unknown field `token`"),
        ("rules: [{reply: {text: a, quirks: [odd]}}]", "unknown variant `odd`"),
        ("rules: [{reply: {text: a, broken: {at: {line: 3}, how: reset}}}]", "no place in a reply"),
        ("rules: [{reply: {turns: {count: 2, text: a}}}]", "a rule has no turns"),
        ("scripts: [{steps: [{turns: {count: 2, texts: a}}]}]", "unknown field `texts`"),
        ("prefix: loose", "unknown variant `loose`"),
    ] {
        let error = ScriptFile::parse(text).unwrap_err();
        assert!(format!("{error:#}").contains(name), "{text}: {error:#}");
    }
}
