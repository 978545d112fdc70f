//! `read_file` and `list_dir`

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use crate::scene::Scene;

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat()
}

async fn read(scene: &Scene, path: &str) -> String {
    scene.ok("read_file", json!({"path": path})).await
}

/// CODE-11
#[tokio::test]
async fn a_file_is_read_2000_lines_at_a_time() {
    let scene = Scene::new(&[("long.txt", &numbered(1..=4_500))]);
    let first = read(&scene, "long.txt").await;
    let lines: Vec<&str> = first.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2_001, "     1\tline 1"));
    assert_eq!(
        lines[1_999..],
        ["  2000\tline 2000", "[lines 1-2000 of 4500; go on with offset 2001]"]
    );
    let more = json!({"path": "long.txt", "offset": 2_001});
    let second = scene.ok("read_file", more).await;
    assert!(
        second.ends_with("  4000\tline 4000\n[lines 2001-4000 of 4500; go on with offset 4001]")
    );
    let last = scene.ok("read_file", json!({"path": "long.txt", "offset": 4_001})).await;
    assert!(last.ends_with("  4500\tline 4500\n[lines 4001-4500 of 4500]"), "{last}");
    assert_eq!(last.lines().count(), 501);
}

/// CODE-11
#[rstest]
#[case(json!({"path": "a", "offset": 2, "limit": 2}), Ok("     2\tline 2\n     3\tline 3\n[lines 2-3 of 5; go on with offset 4]"))]
#[case(json!({"path": "a", "offset": 5}), Ok("     5\tline 5\n[lines 5-5 of 5]"))]
#[case(json!({"path": "a", "offset": 0, "limit": 1}), Ok("     1\tline 1\n[lines 1-1 of 5; go on with offset 2]"))]
#[case(json!({"path": "a", "limit": 99_999}), Ok("     1\tline 1\n     2\tline 2\n     3\tline 3\n     4\tline 4\n     5\tline 5"))]
#[case(json!({"path": "a", "offset": 6}), Err("a has 5 lines: there is no line 6"))]
#[case(json!({"path": "b"}), Err("b does not exist"))]
#[case(json!({"path": "folder/fil"}), Err("folder/fil does not exist; in the same folder is file"))]
#[case(json!({"path": "folder"}), Err("folder is a folder: use list_dir"))]
#[case(json!({"path": "."}), Err(". is a folder: use list_dir"))]
#[case(json!({"path": "a/b"}), Err("a is not a folder"))]
#[case(json!({"path": "a\u{0}b"}), Err("\"a\\\\x00b\" is not a path: it holds a NUL character"))]
#[case(json!({"path": "a", "lines": 3}), Err("the arguments do not fit: unknown field `lines`, expected one of `path`, `offset`, `limit`"))]
#[tokio::test]
async fn what_was_asked_for_is_read(#[case] arguments: Value, #[case] wanted: Result<&str, &str>) {
    let scene = Scene::new(&[("a", &numbered(1..=5)), ("folder/file", "")]);
    let answer = scene.call("read_file", arguments).await;
    assert_eq!(answer.as_deref().map_err(String::as_str), wanted);
}

#[tokio::test]
async fn what_is_unusual_in_a_text_is_told() {
    let scene = Scene::new(&[
        ("empty", ""),
        ("windows", "a\r\nb\r\n"),
        ("mixed", "a\r\nb\n"),
        ("cut", "a\nb"),
    ]);
    assert_eq!(read(&scene, "empty").await, "[empty is empty]");
    assert_eq!(read(&scene, "windows").await, "     1\ta\n     2\tb\n[CRLF line endings]");
    assert_eq!(read(&scene, "mixed").await, "     1\ta\n     2\tb\n[mixed line endings]");
    assert_eq!(read(&scene, "cut").await, "     1\ta\n     2\tb\n[no line feed at the end]");
}

#[tokio::test]
async fn other_encodings_are_read() {
    let scene = Scene::new(&[]);
    scene
        .write("latin", "für die Übung\n".chars().map(|c| c as u8).collect::<Vec<u8>>().as_slice());
    let wide: Vec<u8> = "\u{feff}für\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    scene.write("wide", &wide);
    scene.write("marked", b"\xef\xbb\xbfa\n");
    scene.write("damaged", b"gr\xc3\xbcn \xff\n");
    assert_eq!(read(&scene, "latin").await, "     1\tfür die Übung\n[windows-1252]");
    assert_eq!(read(&scene, "wide").await, "     1\tfür\n[UTF-16LE]");
    assert_eq!(read(&scene, "marked").await, "     1\ta\n[UTF-8 with byte order mark]");
    let damaged = read(&scene, "damaged").await;
    assert_eq!(damaged, "     1\tgrün \u{fffd}\n[UTF-8 with invalid bytes, shown as \u{fffd}]");
}

/// CODE-11
#[tokio::test]
async fn a_binary_file_is_refused() {
    let scene = Scene::new(&[]);
    scene.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    scene.write("late", &[[b'a'; 5_000].as_slice(), &[0]].concat());
    // A file of a terabyte that takes no room.
    File::create(scene.root().join("sparse")).unwrap().set_len(1 << 40).unwrap();
    for path in ["a.png", "late", "sparse"] {
        let refusal = scene.refusal("read_file", json!({"path": path})).await;
        assert_eq!(refusal, format!("{path} is a binary file: only text can be read and edited"));
        if path != "sparse" {
            let edit = json!({"path": path, "old_text": "a", "new_text": "b"});
            assert!(scene.refusal("edit_file", edit).await.contains("is a binary file"));
        }
    }
    let hits = scene.ok("grep", json!({"pattern": "IHDR|a+"})).await;
    assert_eq!(hits, "no line matches \"IHDR|a+\"");
}

#[tokio::test]
async fn a_long_line_is_cut_and_a_page_stays_within_its_bounds() {
    let scene = Scene::new(&[]);
    scene.write("one.js", format!("{}\n", "x".repeat(1 << 20)).as_bytes());
    let text = read(&scene, "one.js").await;
    assert!(text.ends_with("xxx [… cut: 1048576 characters in all]") && text.len() < 2_100);
    let wide = (0..500)
        .map(|number| format!("{number} {}\n", "y".repeat(1_000)))
        .collect::<Vec<_>>()
        .concat();
    scene.write("wide.txt", wide.as_bytes());
    let text = read(&scene, "wide.txt").await;
    assert!(
        text.ends_with("[lines 1-63 of 500; go on with offset 64]"),
        "{}",
        &text[text.len() - 80..]
    );
}

#[tokio::test]
async fn a_file_that_is_too_large_to_hold_is_read_in_parts() {
    let scene = Scene::new(&[]);
    let mut file = File::create(scene.root().join("huge.log")).unwrap();
    let block =
        (0..1_000).map(|number| format!("entry {number:030}\n")).collect::<Vec<_>>().concat();
    for _ in 0..500 {
        file.write_all(block.as_bytes()).unwrap(); // 18 MB
    }
    let endless = "z".repeat(3 << 20);
    file.write_all(format!("{endless}\nlast").as_bytes()).unwrap();
    let page =
        |offset: u64, limit: u64| json!({"path": "huge.log", "offset": offset, "limit": limit});
    let text = scene.ok("read_file", page(400_002, 1)).await;
    let wanted =
        format!("400002\tentry {:030}\n[lines 400002-400002; go on with offset 400003]", 1);
    assert_eq!(text, wanted);
    let text = scene.ok("read_file", page(500_001, 5)).await;
    let cut = format!("500001\t{} [… cut: ", "z".repeat(2_000));
    assert!(text.starts_with(&cut), "{}", &text[..100]);
    assert!(text.ends_with("\n500002\tlast\n[lines 500001-500002 of 500002]"), "{}", text.len());
    let refusal = scene.refusal("read_file", page(500_003, 1)).await;
    assert_eq!(refusal, "huge.log has 500002 lines: there is no line 500003");
    let edit = json!({"path": "huge.log", "old_text": "last", "new_text": "x"});
    let refusal = scene.refusal("edit_file", edit).await;
    assert!(refusal.starts_with("huge.log is larger than 16.0 MiB"), "{refusal}");
}

#[tokio::test]
async fn a_name_that_is_not_utf8_is_shown_and_can_be_asked_for() {
    let scene = Scene::new(&[]);
    scene.write(OsStr::from_bytes(b"caf\xe9/a\nb.txt"), b"word\n");
    assert_eq!(scene.ok("list_dir", json!({})).await, ".: 1 entry\ncaf\\xe9/");
    let path = "caf\\xe9/a\\x0ab.txt";
    assert_eq!(scene.ok("glob", json!({"pattern": "**/*.txt"})).await, path);
    assert_eq!(scene.ok("grep", json!({"pattern": "word"})).await, format!("{path}\n  1: word"));
    assert_eq!(read(&scene, path).await, "     1\tword");
    let edit = json!({"path": path, "old_text": "word", "new_text": "words"});
    assert!(scene.ok("edit_file", edit).await.starts_with(&format!("changed {path} in 1 place")));
    let bytes = fs::read(scene.root().join(OsStr::from_bytes(b"caf\xe9/a\nb.txt"))).unwrap();
    assert_eq!(bytes, b"words\n");
    scene.ok("delete_file", json!({"path": path})).await;
    assert_eq!(scene.log.last(), 2);
}

#[tokio::test]
async fn a_folder_is_listed_with_what_is_in_it() {
    let scene = Scene::new(&[("b.txt", "12345"), ("src/lib.rs", ""), (".github/ci.yml", "x")]);
    scene.link("b.txt", "a_link");
    scene.link("nowhere", "broken");
    let listed = scene.ok("list_dir", json!({"path": "./"})).await;
    assert_eq!(
        listed,
        ".: 5 entries\n.github/\na_link -> b.txt\nb.txt  5 B\nbroken -> nowhere\nsrc/"
    );
    assert_eq!(scene.ok("list_dir", json!({"path": "src/"})).await, "src: 1 entry\nlib.rs  0 B");
    let refusal = scene.refusal("list_dir", json!({"path": "b.txt"})).await;
    assert_eq!(refusal, "b.txt is not a folder");
    for number in 0..1_200 {
        scene.write(format!("many/{number:04}"), b"");
    }
    let listed = scene.ok("list_dir", json!({"path": "many"})).await;
    assert!(listed.starts_with("many: 1200 entries\n0000  0 B\n"), "{listed}");
    assert!(listed.ends_with("\n0999  0 B\n[200 more are not shown; glob finds files by pattern]"));
}
