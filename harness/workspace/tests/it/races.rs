//! What others do to the clone meanwhile, and things that are no files.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::json;

use crate::scene::{SECRET, Scene};

/// Exchanges a folder of the clone for a link that leads out, and back, until told.
fn exchange(scene: &Scene, done: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let (root, done) = (scene.root(), done.clone());
    symlink(scene.outside(), root.join("aside")).unwrap();
    thread::spawn(move || {
        let (dir, aside) = (root.join("dir"), root.join("aside"));
        while !done.load(Ordering::Relaxed) {
            renameat_with(CWD, &dir, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
        }
    })
}

#[tokio::test]
async fn a_folder_exchanged_for_a_link_never_leads_out() {
    let scene = Scene::new(&[("dir/secret", "harmless\n")]);
    let done = Arc::new(AtomicBool::new(false));
    let exchanging = exchange(&scene, &done);
    let mut read = 0;
    for number in 0..250 {
        for (tool, arguments) in [
            ("read_file", json!({"path": "dir/secret"})),
            ("grep", json!({"pattern": "secret|harmless", "path": "dir"})),
            ("grep", json!({"pattern": "secret|harmless"})),
            ("list_dir", json!({"path": "dir"})),
            ("write_file", json!({"path": "dir/new", "content": number.to_string()})),
            ("write_file", json!({"path": "dir/deeper/new", "content": number.to_string()})),
            ("delete_file", json!({"path": "dir/new"})),
        ] {
            match scene.call(tool, arguments).await {
                Ok(text) => {
                    assert!(!text.contains(SECRET), "{tool}: {text}");
                    read += usize::from(text.contains("harmless"));
                }
                Err(refusal) => assert!(!refusal.contains(SECRET), "{tool}: {refusal}"),
            }
        }
    }
    done.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert!(read > 0, "the folder was never met as itself");
    scene.check_untouched();
}

#[tokio::test]
async fn a_file_exchanged_for_a_link_or_a_pipe_is_never_read_through() {
    let scene = Scene::new(&[("file", "harmless\n")]);
    let done = Arc::new(AtomicBool::new(false));
    let (root, outside, told) = (scene.root(), scene.outside(), done.clone());
    let exchanging = thread::spawn(move || {
        let (file, aside) = (root.join("file"), root.join("aside"));
        while !told.load(Ordering::Relaxed) {
            symlink(outside.join("secret"), &aside).unwrap();
            fs::rename(&aside, &file).unwrap();
            mknodat(CWD, &aside, FileType::Fifo, Mode::RWXU, 0).unwrap();
            fs::rename(&aside, &file).unwrap();
            fs::write(&aside, "harmless\n").unwrap();
            fs::rename(&aside, &file).unwrap();
        }
    });
    for _ in 0..150 {
        for (tool, arguments) in [
            ("read_file", json!({"path": "file"})),
            ("grep", json!({"pattern": "."})),
            ("edit_file", json!({"path": "file", "old_text": "harm", "new_text": "h"})),
        ] {
            let text = scene.call(tool, arguments).await.unwrap_or_else(|refusal| refusal);
            assert!(!text.contains(SECRET), "{tool}: {text}");
        }
    }
    done.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    scene.check_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_at_the_same_time_are_all_made() {
    let scene = Arc::new(Scene::new(&[("file", "end\n")]));
    let mut edits = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (scene, line) = (scene.clone(), format!("line {number}\nend"));
        edits.spawn(async move {
            let edit = json!({"path": "file", "old_text": "end", "new_text": line});
            scene.ok("edit_file", edit).await
        });
    }
    edits.join_all().await;
    let mut lines: Vec<String> = scene.text("file").lines().map(str::to_owned).collect();
    assert_eq!(lines.pop().as_deref(), Some("end"));
    lines.sort_unstable_by_key(|line| line["line ".len()..].parse::<u32>().unwrap());
    assert_eq!(lines, (0..20).map(|number| format!("line {number}")).collect::<Vec<_>>());
    assert_eq!(scene.log.last(), 20);
    assert_eq!(fs::read_dir(scene.root()).unwrap().count(), 2); // .git and the file
}

#[tokio::test]
async fn what_is_no_file_is_told_and_left_alone() {
    let scene = Scene::new(&[("a.txt", "word\n")]);
    mknodat(CWD, scene.root().join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let socket = UnixListener::bind(scene.root().join("socket")).unwrap();
    // Only an administrator can make a device.
    let device = scene.root().join("device");
    let null = rustix::fs::makedev(1, 3);
    let has_device = mknodat(CWD, &device, FileType::CharacterDevice, Mode::RWXU, null).is_ok();
    for (name, kind, is_there) in [
        ("pipe", "a named pipe", true),
        ("socket", "a socket", true),
        ("device", "a device", has_device),
    ] {
        if !is_there {
            continue;
        }
        for (tool, arguments) in [
            ("read_file", json!({"path": name})),
            ("grep", json!({"pattern": ".", "path": name})),
            ("explore", json!({"path": name})),
            ("edit_file", json!({"path": name, "old_text": "a", "new_text": "b"})),
            ("write_file", json!({"path": name, "content": "b"})),
            ("delete_file", json!({"path": name})),
        ] {
            let refusal = scene.refusal(tool, arguments).await;
            assert_eq!(refusal, format!("{name} is {kind}, not a regular file"), "{tool}");
        }
        let listed = scene.ok("list_dir", json!({})).await;
        assert!(listed.contains(&format!("{name}  ({kind})")), "{listed}");
    }
    let hits = scene.ok("grep", json!({"pattern": "."})).await;
    assert_eq!(hits, "a.txt\n  1: word");
    drop(socket);
}

#[tokio::test]
async fn folders_without_end_are_walked_to_a_bound() {
    let scene = Scene::new(&[("top.txt", "word\n")]);
    let deep = vec!["d"; 150].join("/");
    scene.write(format!("{deep}/deep.txt"), b"word\n");
    for (tool, arguments) in [
        ("grep", json!({"pattern": "word"})),
        ("glob", json!({"pattern": "**/*.txt"})),
        ("explore", json!({})),
    ] {
        let text = scene.ok(tool, arguments).await;
        assert!(text.contains("top.txt") && !text.contains("deep.txt"), "{tool}: {text}");
        assert!(text.contains("[left out: 1 folder that could not be read]"), "{tool}: {text}");
    }
    // Named, they are found.
    let path = format!("{deep}/deep.txt");
    assert_eq!(scene.ok("read_file", json!({"path": path})).await, "     1\tword");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_ends() {
    let scene = Arc::new(Scene::new(&[]));
    for number in 0..1_000 {
        scene.write(format!("d{number}/f"), b"text\n");
    }
    // Dropped at once, again and again: each of them must give its place free.
    for _ in 0..50 {
        let call = scene.call("grep", json!({"pattern": "nothing like this"}));
        let _dropped = tokio::time::timeout(std::time::Duration::ZERO, call).await;
    }
    assert_eq!(scene.ok("glob", json!({"pattern": "d7/*"})).await, "d7/f");
}
