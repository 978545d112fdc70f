//! Folders that cannot be written, and files that cannot be read.

use rstest::rstest;

use super::attempt::{Attempt, Place, assert_says};

/// Where nobody can write, not even root.
const READ_ONLY: &str = "/sys";

#[rstest]
#[case::a_file("given/a file", "set FOUNDRY_DATA_DIR")]
#[case::below_a_file("given/a file/data", "set FOUNDRY_DATA_DIR")]
#[case::read_only(READ_ONLY, "let this user read and write the database and its folder")]
#[tokio::test]
async fn a_data_folder_that_cannot_be_written_is_named_by_the_api(
    #[case] folder: &str,
    #[case] remedy: &str,
) {
    let place = Place::new();
    place.give("a file", "");
    let folder = place.path(folder);
    let line = Attempt::api(&place).set("FOUNDRY_DATA_DIR", &folder).refusal().await;
    assert_says(&line, &[&folder.display().to_string(), remedy]);
}

#[rstest]
#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named_by_the_operator(
    #[values("given/a file", "given/a file/local", READ_ONLY)] folder: &str,
) {
    let place = Place::new();
    place.give("a file", "");
    let folder = place.path(folder);
    let operator = Attempt::operator(&place)
        .set("FOUNDRY_RUNTIME", "local")
        .set("FOUNDRY_LOCAL_DIR", &folder)
        .set("FOUNDRY_LOCAL_BIN_DIR", testenv::bin_folder().unwrap());
    assert_says(&operator.refusal().await, &[&folder.display().to_string(), "FOUNDRY_LOCAL_DIR"]);
}

#[rstest]
#[tokio::test]
async fn a_folder_without_a_harness_is_named_by_the_operator(
    #[values("given", "given/none")] folder: &str,
) {
    let place = Place::new();
    let folder = place.path(folder);
    let operator = Attempt::operator(&place)
        .set("FOUNDRY_RUNTIME", "local")
        .set("FOUNDRY_LOCAL_DIR", place.path("local"))
        .set("FOUNDRY_LOCAL_BIN_DIR", &folder);
    let line = operator.refusal().await;
    assert_says(&line, &[&folder.display().to_string(), "FOUNDRY_LOCAL_BIN_DIR", "harness"]);
}

#[rstest]
#[case::a_file("given/a file", "choose another with --data-dir")]
#[case::below_a_file("given/a file/demo", "choose another with --data-dir")]
#[case::read_only(READ_ONLY, "choose another with --data-dir")]
#[case::of_somebody_else("given", "holds files that no demo made")]
#[tokio::test]
async fn a_folder_that_is_not_for_demos_is_named(#[case] folder: &str, #[case] words: &str) {
    let place = Place::new();
    place.give("a file", "");
    let folder = place.path(folder);
    let demo = Attempt::xtask(&place, "demo").argument("--exit").argument("--fresh");
    let line = demo.argument("--data-dir").argument(&folder).refusal().await;
    assert_says(&line, &[&folder.display().to_string(), words]);
}

#[rstest]
#[case::missing(None)]
#[case::empty(Some(&b"\n"[..]))]
#[case::like_a_persons(Some(&b"eyJh.eyJz.c2ln"[..]))]
#[case::not_text(Some(&b"\xff\xfe"[..]))]
#[tokio::test]
async fn a_service_token_of_no_use_is_named_before_anything_is_stored(
    #[case] token: Option<&[u8]>,
) {
    let place = Place::new();
    let file = place.path("given/service token");
    if let Some(token) = token {
        place.give("service token", token);
    }
    let line = Attempt::api(&place).set("FOUNDRY_SERVICE_TOKEN_FILE", &file).refusal().await;
    assert_says(&line, &[&file.display().to_string(), "FOUNDRY_SERVICE_TOKEN_FILE"]);
}
