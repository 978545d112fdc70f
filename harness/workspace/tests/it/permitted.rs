//! What may be touched, and what not.

use std::fs;
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::scene::{SECRET, Scene};

#[tokio::test]
async fn no_path_leads_out_of_the_clone() {
    let scene = Scene::new(&[("a.txt", "a\n"), ("dir/b.txt", "b\n")]);
    scene.link(scene.outside(), "out");
    scene.link("../outside", "out_relative");
    scene.link(scene.outside().join("secret"), "secret_file");
    scene.link("out", "out_by_link");
    scene.link("..", "up");
    scene.link("../../outside", "dir/deep");
    let paths = [
        "../outside/secret",
        "..",
        "dir/../../outside",
        "out",
        "out/secret",
        "out_relative",
        "out_relative/secret",
        "secret_file",
        "out_by_link/secret",
        "up",
        "up/outside/secret",
        "dir/deep/secret",
        "/etc/passwd",
        "/",
        "./../outside",
        "out/../a.txt",
        "out/../../clone/a.txt",
    ];
    for path in paths {
        for (tool, answer) in scene.every(path).await {
            if let Ok(text) = answer {
                let is_empty = ["no file matches", "no line matches"];
                assert!(
                    is_empty.iter().any(|words| text.starts_with(words)) || text == path,
                    "{tool} {path}: {text}"
                );
                assert!(!text.contains(SECRET));
            }
        }
    }
    for path in ["../outside/secret", "out/secret", "up/outside/secret", "/etc/passwd", ".."] {
        scene.refusal("delete_file", json!({"path": path})).await;
    }
    scene.ok("delete_file", json!({"path": "secret_file"})).await; // the link alone
    scene.check_untouched();
}

#[tokio::test]
async fn git_is_never_touched_by_a_tool() {
    let scene = Scene::new(&[("a.txt", "a\n"), ("sub/.git", "gitdir: x\n")]);
    scene.link(".git", "link");
    scene.link("link/config", "config_link");
    let paths = [
        ".git",
        ".git/config",
        "link",
        "link/config",
        "config_link",
        "./.git/config",
        ".GIT/config",
        "sub/.git",
        "sub/../.git/config",
        "link/../.git/config",
    ];
    for path in paths {
        for (tool, answer) in scene.every(path).await {
            let text = answer.unwrap_or_default();
            assert!(
                text.is_empty() || text.starts_with("no ") || text == path,
                "{tool} {path}: {text}"
            );
        }
    }
    for path in [".git/config", "link/config", ".git", "link/../.git/config"] {
        scene.refusal("delete_file", json!({"path": path})).await;
    }
    scene.check_untouched();
    let listed = scene.ok("list_dir", json!({"path": "."})).await;
    assert!(!listed.contains("\n.git"), "{listed}");
    for (tool, arguments) in [
        ("glob", json!({"pattern": "**"})),
        ("grep", json!({"pattern": "secret|gitdir"})),
        ("explore", json!({})),
    ] {
        let text = scene.ok(tool, arguments).await;
        assert!(!text.contains(".git") && !text.contains("gitdir:"), "{tool}: {text}");
    }
    assert!(scene.workspace.folder(".git").is_err() && scene.workspace.folder("link").is_err());
}

#[tokio::test]
async fn links_within_the_clone_are_followed_for_reading_and_named_for_writing() {
    let scene = Scene::new(&[("AGENTS.md", "rules\n"), ("src/lib.rs", "fn a() {}\n")]);
    scene.link("AGENTS.md", "CLAUDE.md");
    scene.link("src", "source");
    scene.link(scene.root().join("src"), "absolute");
    scene.link("loop_b", "loop_a");
    scene.link("loop_a", "loop_b");
    let read = |path: &'static str| scene.ok("read_file", json!({"path": path}));
    assert_eq!(read("CLAUDE.md").await, "     1\trules");
    assert_eq!(read("source/lib.rs").await, "     1\tfn a() {}");
    assert_eq!(read("absolute/lib.rs").await, "     1\tfn a() {}");
    assert_eq!(read("source/../AGENTS.md").await, "     1\trules");
    let refusal = scene.refusal("read_file", json!({"path": "loop_a"})).await;
    assert_eq!(refusal, "loop_a leads through too many symbolic links");
    let edit = json!({"path": "CLAUDE.md", "old_text": "rules", "new_text": "x"});
    let refusal = scene.refusal("edit_file", edit).await;
    assert_eq!(refusal, "CLAUDE.md is a symbolic link to AGENTS.md: name the file itself");
    let edit = json!({"path": "source/lib.rs", "old_text": "a()", "new_text": "b()"});
    assert!(scene.ok("edit_file", edit).await.starts_with("changed src/lib.rs in 1 place\n"));
    assert_eq!(scene.ok("delete_file", json!({"path": "CLAUDE.md"})).await, "deleted CLAUDE.md");
    assert_eq!(scene.text("AGENTS.md"), "rules\n");
    assert_eq!(scene.log.paths(), ["src/lib.rs", "CLAUDE.md"].map(std::path::PathBuf::from));
}

#[tokio::test]
async fn a_path_beneath_the_root_may_be_absolute() {
    let scene = Scene::new(&[("src/a.txt", "a\n")]);
    let absolute = scene.root().join("src/a.txt");
    assert_eq!(scene.ok("read_file", json!({"path": absolute})).await, "     1\ta");
    let pattern = scene.root().join("**/*.txt");
    assert_eq!(scene.ok("glob", json!({"pattern": pattern})).await, "src/a.txt");
    assert_eq!(scene.workspace.folder("src").unwrap(), scene.workspace.root().join("src"));
    assert!(scene.workspace.folder("src/a.txt").is_err());
}

fn services() -> Scene {
    Scene::within(
        &["services/api", "README.md"],
        &[
            ("README.md", "word readme\n"),
            ("LICENSE", "word license\n"),
            ("services/api/main.go", "package main // word\n"),
            ("services/web/index.ts", "export const word = 1;\n"),
            ("services/api2/x.go", "// word\n"),
            ("top.go", "// word\n"),
        ],
    )
}

/// CODE-10
#[tokio::test]
async fn with_a_prefix_the_root_shows_only_permitted_paths() {
    let scene = services();
    let note = "\n[only permitted paths are shown: services/api, README.md]";
    let listed = scene.ok("list_dir", json!({})).await;
    assert_eq!(listed, format!(".: 2 entries\nREADME.md  12 B\nservices/{note}"));
    let listed = scene.ok("list_dir", json!({"path": "services"})).await;
    assert_eq!(listed, format!("services: 1 entry\napi/{note}"));
    let hits = scene.ok("grep", json!({"pattern": "word"})).await;
    let wanted = "README.md\n  1: word readme\nservices/api/main.go\n  1: package main // word";
    assert_eq!(hits, format!("{wanted}{note}"));
    let explored = scene.ok("explore", json!({})).await;
    assert_eq!(
        explored,
        format!(
            ".: 2 files, 2 folders (1 go, 1 md){note}\n./\n  README.md\nservices/api/\n  main.go"
        )
    );
    let found = scene.ok("glob", json!({"pattern": "**/*"})).await;
    assert_eq!(found, format!("README.md\nservices/api/main.go{note}"));
}

/// CODE-10
#[tokio::test]
async fn with_a_prefix_a_path_outside_is_refused() {
    let scene = services();
    symlink("../web", scene.root().join("services/api/link")).unwrap();
    let paths = [
        "services/web",
        "LICENSE",
        "services/web/index.ts",
        "services/api2",
        "top.go",
        "services/api/../web/index.ts",
        "services/api/link/index.ts",
        "new",
        "services/new",
    ];
    for path in paths {
        for (tool, answer) in scene.every(path).await {
            if tool == "glob" && path == "new" {
                continue;
            }
            if tool == "glob" && answer.as_ref().is_ok_and(|text| text.starts_with("no file")) {
                continue;
            }
            let refusal = answer.expect_err(path);
            assert!(
                refusal.contains("outside the permitted paths, which are: services/api, README.md"),
                "{tool} {path}: {refusal}"
            );
        }
        let refusal = scene.refusal("delete_file", json!({"path": path})).await;
        assert!(refusal.contains("outside the permitted paths"), "{path}: {refusal}");
    }
    assert_eq!(fs::read_dir(scene.root().join("services")).unwrap().count(), 3);
    assert!(scene.workspace.folder("services/web").is_err());
    assert_eq!(scene.workspace.folder(".").unwrap(), scene.workspace.root());
}

/// CODE-10
#[tokio::test]
async fn with_a_prefix_what_is_permitted_can_be_edited() {
    let scene = services();
    scene
        .ok("write_file", json!({"path": "services/api/pkg/new.go", "content": "package pkg\n"}))
        .await;
    let edit = json!({"path": "README.md", "old_text": "readme", "new_text": "done"});
    scene.ok("edit_file", edit).await;
    scene.ok("delete_file", json!({"path": "services/api/main.go"})).await;
    assert_eq!(scene.text("README.md"), "word done\n");
    let permits = |path: &str| scene.workspace.permits(std::path::Path::new(path));
    assert!(permits("services/api/x") && permits("README.md"));
    assert!(!permits("services") && !permits("LICENSE") && !permits("services/api/.git/x"));
}

/// CODE-14
#[tokio::test]
async fn gradlew_is_the_wrapper_of_the_clone() {
    use foundry_workspace::commands::{Wrapper, gradlew};
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::within(&["src"], &[("src/a", ""), ("deepsky/app/x", "")]);
    let root = scene.workspace.root().to_owned();
    let lay = |path: &str, mode: u32| {
        scene.write(path, b"#!/bin/sh\n");
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let refusal = gradlew(&scene.workspace, ".").unwrap_err().to_string();
    assert_eq!(refusal, "the clone has no wrapper: there is neither gradlew nor deepsky/gradlew");
    lay("deepsky/gradlew", 0o644);
    let refusal = gradlew(&scene.workspace, ".").unwrap_err().to_string();
    assert!(refusal.starts_with("deepsky/gradlew is not executable"), "{refusal}");
    lay("deepsky/gradlew", 0o755);
    let deep = Wrapper { program: root.join("deepsky/gradlew"), folder: root.join("deepsky") };
    assert_eq!(gradlew(&scene.workspace, ".").unwrap(), deep);
    lay("gradlew", 0o755);
    let top = Wrapper { program: root.join("gradlew"), folder: root.join("") };
    assert_eq!(gradlew(&scene.workspace, "src").unwrap(), top);
    assert!(gradlew(&scene.workspace, "deepsky").is_err()); // not permitted
    let all = foundry_workspace::Workspace::open(&root, &[]).unwrap();
    assert_eq!(gradlew(&all, "deepsky/app").unwrap(), deep);
    // A link that leads out is no wrapper.
    fs::remove_file(root.join("gradlew")).unwrap();
    fs::remove_file(root.join("deepsky/gradlew")).unwrap();
    symlink("/bin/sh", root.join("gradlew")).unwrap();
    assert!(gradlew(&scene.workspace, ".").is_err());
}
