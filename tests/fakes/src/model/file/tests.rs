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
