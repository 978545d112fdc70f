//! `edit_file`, `write_file` and `delete_file`

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use foundry_workspace::{Change, Edit};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::scene::Scene;

fn edit(path: &str, old: &str, new: &str) -> serde_json::Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

#[tokio::test]
async fn an_edit_exchanges_one_piece_and_shows_it() {
    let scene = Scene::new(&[("a.go", "package a\n\nfunc A() int {\n\treturn 1\n}\n")]);
    let answer = scene.ok("edit_file", edit("./a.go", "\treturn 1\n", "\treturn 2\n")).await;
    assert_eq!(
        answer,
        "changed a.go in 1 place\n@@ -1,5 +1,5 @@\n package a\n \n func A() int {\n-\treturn 1\n+\treturn 2\n }"
    );
    assert_eq!(scene.text("a.go"), "package a\n\nfunc A() int {\n\treturn 2\n}\n");
    let edits = [Edit { sequence: 1, path: PathBuf::from("a.go"), change: Change::Changed }];
    assert_eq!(scene.log.after(0), edits);
}

#[rstest]
#[case(
    edit("a", "a fourth", "x"),
    "old_text is not in a, so nothing was changed. The word \"fourth\" is in line 5: \"fourth\"."
)]
#[case(
    edit("a", "three", "x"),
    "old_text is not in a, so nothing was changed. Nothing like it is in the file: read it again."
)]
#[case(
    edit("a", "one", "x"),
    "old_text is in a 3 times, at lines 1, 2, 4, so nothing was changed: give more of the text around it, or replace_all"
)]
#[case(
    edit("a", "  two", "x"),
    "old_text is not in a, so nothing was changed. The nearest place is line 3, the same but for white space. Line 3 there is \"two\", and old_text has \"  two\"."
)]
#[case(edit("a", "", "x"), "old_text is empty: use write_file to make a file")]
#[case(edit("a", "two", "two"), "old_text and new_text are the same: nothing was changed")]
#[case(edit("b", "two", "x"), "b does not exist")]
#[case(edit(".", "two", "x"), ". is a folder: name a file in it")]
#[tokio::test]
async fn an_edit_that_does_not_hit_changes_nothing(
    #[case] arguments: serde_json::Value,
    #[case] wanted: &str,
) {
    let text = "one\none\ntwo\none\nfourth\n";
    let scene = Scene::new(&[("a", text)]);
    let refusal = scene.refusal("edit_file", arguments).await;
    assert_eq!(refusal, wanted);
    assert_eq!((scene.text("a").as_str(), scene.log.last()), (text, 0));
}

#[tokio::test]
async fn every_occurrence_is_exchanged_when_asked() {
    let scene = Scene::new(&[("a", "x\ny\nx\n")]);
    let all = json!({"path": "a", "old_text": "x", "new_text": "z", "replace_all": true});
    assert!(scene.ok("edit_file", all).await.starts_with("changed a in 2 places\n"));
    assert_eq!(scene.text("a"), "z\ny\nz\n");
}

#[rstest]
#[case::windows(b"a\r\nb\r\nc", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\nc")]
#[case::marked(b"\xef\xbb\xbfa\nb\n", "a", "ä", b"\xef\xbb\xbf\xc3\xa4\nb\n")]
#[case::latin(
    b"caf\xe9, tr\xe8s bon\n",
    "bon",
    "bien, déjà",
    b"caf\xe9, tr\xe8s bien, d\xe9j\xe0\n"
)]
#[case::wide(b"\xff\xfea\0\r\0\n\0b\0", "b", "c\nd", b"\xff\xfea\0\r\0\n\0c\0\r\0\n\0d\0")]
#[case::damaged(
    b"\xff gr\xc3\xbcn und bl\xc3\xa4u \xfe",
    "und",
    "oder",
    b"\xff gr\xc3\xbcn oder bl\xc3\xa4u \xfe"
)]
#[case::no_end(b"a \n b\t", "b\t", "c", b"a \n c")]
#[case::a_return(b"a\rb\n", "b", "c", b"a\rc\n")]
#[tokio::test]
async fn everything_but_the_piece_stays_byte_for_byte(
    #[case] before: &[u8],
    #[case] old: &str,
    #[case] new: &str,
    #[case] after: &[u8],
) {
    let scene = Scene::new(&[]);
    scene.write("file", before);
    scene.ok("edit_file", edit("file", old, new)).await;
    assert_eq!(scene.read("file"), after);
}

#[tokio::test]
async fn a_character_that_the_file_cannot_hold_is_refused() {
    let scene = Scene::new(&[]);
    let before = b"caf\xe9 au lait, tr\xe8s bon\n";
    scene.write("latin", before);
    let refusal = scene.refusal("edit_file", edit("latin", "bon", "→")).await;
    assert_eq!(refusal, "latin is in windows-1252, which has no '→': use a character that it has");
    let write = json!({"path": "latin", "content": "→"});
    assert!(scene.refusal("write_file", write).await.starts_with("latin is in windows-1252"));
    assert_eq!((scene.read("latin").as_slice(), scene.log.last()), (before.as_slice(), 0));
}

#[tokio::test]
async fn the_mode_of_a_file_is_kept() {
    let scene = Scene::new(&[("run.sh", "#!/bin/sh\necho a\n"), ("locked", "a\n")]);
    let mode =
        |path: &str| fs::metadata(scene.root().join(path)).unwrap().permissions().mode() & 0o7777;
    for (path, wanted) in [("run.sh", 0o755), ("locked", 0o440)] {
        let permissions = fs::Permissions::from_mode(wanted);
        fs::set_permissions(scene.root().join(path), permissions).unwrap();
        scene.ok("edit_file", edit(path, "a\n", "b\n")).await;
        assert_eq!(mode(path), wanted);
        scene.ok("write_file", json!({"path": path, "content": "c\n"})).await;
        assert_eq!((mode(path), scene.text(path).as_str()), (wanted, "c\n"));
    }
    scene.ok("write_file", json!({"path": "new", "content": "c\n"})).await;
    assert_eq!(mode("new") & 0o111, 0);
    assert_ne!(mode("new") & 0o600, 0);
}

#[tokio::test]
async fn a_file_is_written_whole_and_its_folders_are_made() {
    let scene = Scene::new(&[("a.txt", "one\ntwo\n")]);
    let write = |path: &'static str, content: &'static str| {
        scene.ok("write_file", json!({"path": path, "content": content}))
    };
    assert_eq!(write("x/y/z.txt", "1\n2\n").await, "made x/y/z.txt with 2 lines");
    assert_eq!(
        write("a.txt", "one\nzwei\n").await,
        "wrote a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei"
    );
    assert_eq!(write("a.txt", "one\nzwei\n").await, "a.txt already says this: nothing was changed");
    assert_eq!(write("empty", "").await, "made empty with 0 lines");
    assert_eq!(
        (scene.text("x/y/z.txt").as_str(), scene.text("a.txt").as_str()),
        ("1\n2\n", "one\nzwei\n")
    );
    let changes: Vec<Change> = scene.log.after(0).into_iter().map(|edit| edit.change).collect();
    assert_eq!(changes, [Change::Created, Change::Changed, Change::Created]);
    let left: Vec<_> =
        fs::read_dir(scene.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[tokio::test]
async fn a_file_that_is_written_anew_keeps_its_form() {
    let scene = Scene::new(&[("windows", "a\r\nb\r\n")]);
    scene.write("wide", b"\xff\xfea\0\n\0");
    scene.ok("write_file", json!({"path": "windows", "content": "x\ny\n"})).await;
    scene.ok("write_file", json!({"path": "wide", "content": "b\n"})).await;
    assert_eq!(scene.read("windows"), b"x\r\ny\r\n");
    assert_eq!(scene.read("wide"), b"\xff\xfeb\0\n\0");
}

#[tokio::test]
async fn nothing_is_written_where_no_file_can_be() {
    let scene = Scene::new(&[("a.txt", "a\n"), ("dir/b", "b\n")]);
    scene.link("nowhere", "broken");
    for (path, wanted) in [
        ("dir", "dir is a folder: name a file in it"),
        ("dir/", "\"dir/\" is not a path: a file's name does not end with /"),
        (".", ". is a folder: name a file in it"),
        ("a.txt/b", "a.txt is not a folder"),
        ("broken", "broken is a symbolic link to nowhere: name the file itself"),
        ("new/../../x", "new does not exist"),
        ("new/.git/x", "new/.git belongs to git: use git by run_command"),
    ] {
        let refusal = scene.refusal("write_file", json!({"path": path, "content": "x"})).await;
        assert_eq!(refusal, wanted, "{path}");
    }
    assert_eq!(fs::read_dir(scene.root()).unwrap().count(), 4); // no folder was made
    assert_eq!(scene.log.last(), 0);
}

#[tokio::test]
async fn a_file_is_deleted_and_a_folder_is_not() {
    let scene = Scene::new(&[("a.txt", "a\n"), ("dir/b", "b\n")]);
    scene.link("dir", "link");
    assert_eq!(scene.ok("delete_file", json!({"path": "a.txt"})).await, "deleted a.txt");
    assert_eq!(scene.ok("delete_file", json!({"path": "link"})).await, "deleted link");
    let refusal = scene.refusal("delete_file", json!({"path": "dir"})).await;
    assert_eq!(refusal, "dir is a folder: delete the files in it");
    let refusal = scene.refusal("delete_file", json!({"path": "a.txt"})).await;
    assert_eq!(refusal, "a.txt does not exist");
    assert_eq!(scene.text("dir/b"), "b\n");
    let edits: Vec<(u64, Change)> =
        scene.log.after(0).into_iter().map(|edit| (edit.sequence, edit.change)).collect();
    assert_eq!(edits, [(1, Change::Deleted), (2, Change::Deleted)]);
}
