//! `glob`, `grep` and `explore`

use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::scene::Scene;

fn tree() -> Scene {
    Scene::new(&[
        ("main.rs", "fn main() {}\n"),
        ("src/lib.rs", "pub fn lib() {}\n"),
        ("src/deep/er/mod.rs", "fn deep() {}\n"),
        ("src/deep/er/mod.test.ts", ""),
        ("node_modules/a/index.js", "fn\n"),
        ("src/node_modules/b/index.js", "fn\n"),
        (".github/workflows/ci.yml", "fn: x\n"),
        ("README.md", "# Readme\n"),
    ])
}

/// CODE-11
#[rstest]
#[case("*.rs", "main.rs")]
#[case("**/*.rs", "main.rs\nsrc/deep/er/mod.rs\nsrc/lib.rs")]
#[case("src/**", "src/deep/er/mod.rs\nsrc/deep/er/mod.test.ts\nsrc/lib.rs")]
#[case("src/*/*/mod.rs", "src/deep/er/mod.rs")]
#[case("src/*/mod.rs", "no file matches src/*/mod.rs")]
#[case("src/**/mod.rs", "src/deep/er/mod.rs")]
#[case("**/*.{ts,yml}", ".github/workflows/ci.yml\nsrc/deep/er/mod.test.ts")]
#[case("./src/lib.rs", "src/lib.rs")]
#[case("**/index.js", "no file matches **/index.js")]
#[case("**/config", "no file matches **/config")]
#[case(
    "node_modules/**",
    "no file matches node_modules/**\n[node_modules is left out: use list_dir and read_file there]"
)]
#[case("nothing/**", "no file matches nothing/**")]
#[case(
    "mod.*",
    "[no file in the root matches mod.*; these match **/mod.*]\nsrc/deep/er/mod.rs\nsrc/deep/er/mod.test.ts"
)]
#[tokio::test]
async fn files_are_found_by_pattern(#[case] pattern: &str, #[case] wanted: &str) {
    assert_eq!(tree().ok("glob", json!({"pattern": pattern})).await, wanted);
}

#[tokio::test]
async fn a_pattern_that_is_none_is_refused() {
    let refusal = tree().refusal("glob", json!({"pattern": "a{b"})).await;
    assert!(refusal.starts_with("a{b is not a pattern: "), "{refusal}");
}

/// CODE-11
#[tokio::test]
async fn what_gitignore_names_is_left_out_unless_it_is_named() {
    let scene = Scene::new(&[
        (".gitignore", "target/\n*.log\n!keep.log\n/top\n# comment\n"),
        ("target/debug/a.txt", "word\n"),
        ("src/a.txt", "word\n"),
        ("src/b.log", "word\n"),
        ("src/keep.log", "word\n"),
        ("src/top/c.txt", "word\n"),
        ("top/c.txt", "word\n"),
        ("src/.gitignore", "a.txt\n"),
        ("other/.gitignore", "!*.log\n"),
        ("other/d.log", "word\n"),
        (".git/info/exclude", "excluded.txt\n"),
        ("src/excluded.txt", "word\n"),
    ]);
    let hits = scene.ok("grep", json!({"pattern": "word"})).await;
    assert_eq!(hits, "other/d.log\n  1: word\nsrc/keep.log\n  1: word\nsrc/top/c.txt\n  1: word");
    let note = |paths: &str| {
        format!(
            "\n[left out: {paths} by .gitignore; a pattern that begins with their folder finds them]"
        )
    };
    let found = scene.ok("glob", json!({"pattern": "**/*.{txt,log}"})).await;
    let wanted = "other/d.log\nsrc/keep.log\nsrc/top/c.txt";
    assert_eq!(found, format!("{wanted}{}", note("5 paths")));
    let found = scene.ok("glob", json!({"pattern": "target/**"})).await;
    assert_eq!(found, "target/debug/a.txt");
    // From a folder further down the same holds.
    let hits = scene.ok("grep", json!({"pattern": "word", "path": "src"})).await;
    assert_eq!(hits, "src/keep.log\n  1: word\nsrc/top/c.txt\n  1: word");
    let hits = scene.ok("grep", json!({"pattern": "word", "path": "src/b.log"})).await;
    assert_eq!(hits, "src/b.log\n  1: word");
    let explored = scene.ok("explore", json!({})).await;
    assert!(!explored.contains("target") && explored.contains("keep.log"), "{explored}");
}

#[tokio::test]
async fn lines_are_found_by_regular_expression() {
    let scene = Scene::new(&[
        ("a.rs", "fn one() {}\nfn two() {}\r\n\tlet x = one();\n"),
        ("b/c.rs", "// ONE\nüber eins\n"),
    ]);
    let grep = |pattern: &'static str| scene.ok("grep", json!({"pattern": pattern}));
    assert_eq!(grep(r"fn \w+").await, "a.rs\n  1: fn one() {}\n  2: fn two() {}");
    assert_eq!(
        grep("(?i)one").await,
        "a.rs\n  1: fn one() {}\n  3: \tlet x = one();\nb/c.rs\n  1: // ONE"
    );
    assert_eq!(grep(r"\{\}$").await, "a.rs\n  1: fn one() {}\n  2: fn two() {}");
    assert_eq!(grep("^über").await, "b/c.rs\n  2: über eins");
    assert_eq!(grep("three").await, "no line matches \"three\"");
    for pattern in ["(", r"a\nb"] {
        let refusal = scene.refusal("grep", json!({"pattern": pattern})).await;
        assert!(refusal.contains("is not a regular expression for one line: "), "{refusal}");
    }
    let refusal = scene.refusal("grep", json!({"pattern": "x", "path": "b/d"})).await;
    assert_eq!(refusal, "b/d does not exist");
}

#[tokio::test]
async fn a_text_in_utf16_is_searched_too() {
    let scene = Scene::new(&[]);
    let wide: Vec<u8> = "\u{feff}one\ntwo\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    scene.write("wide.txt", &wide);
    assert_eq!(scene.ok("grep", json!({"pattern": "two"})).await, "wide.txt\n  2: two");
}

#[tokio::test]
async fn many_hits_are_cut_and_told() {
    let scene = Scene::new(&[]);
    let many = "word\n".repeat(120);
    for name in ["a", "b", "c", "d", "e"] {
        scene.write(name, many.as_bytes());
    }
    let hits = scene.ok("grep", json!({"pattern": "word"})).await;
    assert_eq!(hits.matches("\n  [70 more in this file]").count(), 4);
    let end =
        "\n[stopped after 200 lines in 4 files: there may be more; narrow the pattern or the path]";
    assert!(hits.ends_with(end), "{hits}");
    let one = scene.ok("grep", json!({"pattern": "word", "path": "e"})).await;
    assert!(one.ends_with("\n  50: word\n  [70 more in this file]"), "{one}");
}

#[tokio::test]
async fn of_a_long_line_the_part_with_the_match_is_shown() {
    let line = format!("{}needle{}", "a".repeat(5_000), "b".repeat(5_000));
    let scene = Scene::new(&[("min.js", &line)]);
    let hit = scene.ok("grep", json!({"pattern": "needle"})).await;
    assert!(hit.contains("aaaneedlebbb") && hit.len() < 400, "{hit}");
    assert!(hit.ends_with("… [column 5001, 10006 bytes in all]"), "{hit}");
}

#[tokio::test]
async fn a_line_beyond_all_measure_does_not_fill_the_memory() {
    let scene = Scene::new(&[("small", "needle\n")]);
    scene.write("large", "x".repeat(20 << 20).as_bytes());
    let hits = scene.ok("grep", json!({"pattern": "needle"})).await;
    let note = "\n[not searched to the end: 1 file with lines that are too long, or unreadable]";
    assert_eq!(hits, format!("small\n  1: needle{note}"));
}

#[tokio::test]
async fn many_files_are_cut_and_told() {
    let scene = Scene::new(&[]);
    for number in 0..1_100 {
        scene.write(format!("f/{number:04}.txt"), b"");
    }
    let found = scene.ok("glob", json!({"pattern": "**/*.txt"})).await;
    assert_eq!(found.lines().count(), 1_001);
    assert!(found.ends_with("\n[the first 1000 files; more match: narrow the pattern]"), "{found}");
}

#[tokio::test]
async fn an_overview_tells_folders_files_and_what_they_define() {
    let scene = tree();
    let explored = scene.ok("explore", json!({})).await;
    assert_eq!(
        explored,
        ".: 6 files, 5 folders (3 rs, 1 md, 1 ts, 1 yml)
./
  README.md: # Readme
  main.rs: fn main
src/
  lib.rs: fn lib
.github/workflows/
  ci.yml
src/deep/er/
  mod.rs: fn deep
  mod.test.ts"
    );
    let explored = scene.ok("explore", json!({"path": "src/deep"})).await;
    assert_eq!(
        explored,
        "src/deep: 2 files, 1 folder (1 rs, 1 ts)\nsrc/deep/er/\n  mod.rs: fn deep\n  mod.test.ts"
    );
    let explored = scene.ok("explore", json!({"path": "src/lib.rs"})).await;
    assert_eq!(explored, "src/lib.rs defines fn lib");
}

#[tokio::test]
async fn an_overview_of_much_stays_short() {
    let scene = Scene::new(&[]);
    for folder in 0..300 {
        for file in 0..5 {
            let text = (0..50)
                .map(|n| format!("pub fn function_{n}() {{}}\n"))
                .collect::<Vec<_>>()
                .concat();
            scene.write(format!("crate{folder:03}/src/file{file}.rs"), text.as_bytes());
        }
    }
    let explored = scene.ok("explore", json!({})).await;
    assert!(explored.len() < 20_000, "{}", explored.len());
    assert!(explored.starts_with(".: 1500 files, 600 folders (1500 rs)\n"), "{explored}");
    assert!(
        explored.contains("/ (5 files)") && explored.ends_with("more: explore one of the folders]")
    );
}
