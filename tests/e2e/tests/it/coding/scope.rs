//! What a run may touch, where it begins, and how often it may begin anew.

use fakes::model::{Captured, Rule, When};
use foundry_crds::coding_run::Phase;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::notes;
use super::play::{Part, command, commit, edit, finish, list, mark, open, push, read, save};
use super::run::{Run, complete, reported};
use super::world::World;

/// The notes beside a document.
async fn apply(world: &World, name: &str, scope: &Value) -> Run {
    let files = world.folder.join("documented notes");
    std::fs::create_dir_all(files.join("docs")).unwrap();
    std::fs::write(files.join("docs/notes.md"), "# Notes\n").unwrap();
    std::fs::write(files.join(notes::FILE), notes::SOURCE).unwrap();
    world.apply_with(name, &files, &json!({"repository": scope})).await
}

/// CODE-09, CODE-10, CODE-12, CODE-19
#[tokio::test(flavor = "multi_thread")]
async fn a_run_touches_its_paths_and_runs_its_own_further_commands_and_no_others() {
    let world = World::shared().await;
    let planning =
        || vec![list("."), read(notes::FILE), command("sort docs/notes.md"), save("# Plan\n")];
    let writes = || {
        vec![
            notes::mend(),
            edit("docs/notes.md", "# Notes\n", "# Notes\n\nOne a line.\n"),
            commit("Say how notes are written"),
            push(),
            open("Say how notes are written", "One a line."),
            finish("completed", "The notes are described."),
        ]
    };
    for name in ["within", "without"] {
        world.play(name, Part::Planning, planning());
        world.play(name, Part::Building, writes());
    }
    let within = json!({"paths": ["docs"], "extraCommands": ["sort"]});
    let within = apply(&world, "within", &within).await;
    within.approve().await;
    within.until_succeeded().await;
    let listed = within.results(Part::Planning, "list_dir").concat();
    assert!(listed.contains("docs") && !listed.contains(notes::FILE), "{listed}");
    let sorted = within.results(Part::Planning, "run_command").concat();
    assert!(sorted.contains("# Notes"), "{sorted}");
    let edits = within.results(Part::Building, "edit_file");
    assert!(edits[0].contains("docs") && edits[1].contains("One a line."), "{edits:?}");
    assert_eq!(within.bare.file(&within.branch(), notes::FILE).unwrap(), notes::SOURCE.as_bytes());

    // Without a check the code is not done, and `sort` is nobody's command.
    let gives_up = [finish("failed", "There is no check.")];
    world.play_from(writes().len() + 1, "without", Part::Building, gives_up);
    let without = apply(&world, "without", &json!({})).await;
    without.approve().await;
    let ended = without.until_ended(Phase::Failed, "RunFailed").await;
    assert!(complete(&ended).2.contains("There is no check."));
    let told = without.results(Part::Planning, "run_command").concat();
    assert!(told.contains("sort") && !told.contains("# Notes"), "{told}");
    let listed = without.results(Part::Planning, "list_dir").concat();
    assert!(listed.contains(notes::FILE), "{listed}");
}

/// CODE-02, CODE-06
#[tokio::test(flavor = "multi_thread")]
async fn a_run_begins_at_its_base_and_asks_for_its_place_in_the_default_branch() {
    let world = World::shared().await;
    world.play_notes("based");
    let files = notes::files(&world);
    let run = world.lay("based", "acme/based", &files);
    let release = run.bare.commit("release", "Begin a release", &[("NEWS", Some(b"1.0\n"))]);
    let release = release.unwrap();
    world.apply_to(&run, &json!({"repository": {"baseRef": "release"}})).await;
    run.approve().await;
    let done = run.until_phase(Phase::Succeeded).await;
    assert_eq!(reported(&done).base_commit.as_ref(), Some(&release));
    assert_eq!(run.bare.ahead("release", &run.branch()).unwrap(), 1);
    assert_eq!(run.bare.file(&run.branch(), "NEWS").unwrap(), b"1.0\n");
    let bases: Vec<_> = run.pull_requests().into_iter().map(|request| request.base).collect();
    assert_eq!(bases, ["main"]);
}

/// CODE-23, CODE-25, CODE-26, CODE-27
#[tokio::test(flavor = "multi_thread")]
async fn a_spent_allowance_begins_anew_in_the_same_process_with_what_is_known() {
    const ALLOWANCE: usize = 10;
    let world = World::shared().await;
    world.play("spent", Part::Planning, notes::planning());
    let looks = [vec![notes::mend()], vec![command("ls"); ALLOWANCE - 1]].concat();
    for (index, look) in looks.into_iter().enumerate() {
        let when = When::any().message(mark("spent")).system(Part::Building.heading());
        world.model.on(Rule::new(when.step(index + 1), look).times(1));
    }
    // Mended it is already.
    let rest = notes::building().split_off(1);
    world.play("spent", Part::Building, rest);
    let limits = json!({"limits": {"turnsPerAttempt": ALLOWANCE}});
    let run = world.apply_with("spent", &notes::files(&world), &limits).await;
    run.approve().await;
    let done = run.until_succeeded().await;
    assert_eq!(reported(&done).attempts, Some(3));
    let asked = run.requests(Part::Building);
    let told = |one: &Captured, words| one.messages().iter().any(|said| said.text.contains(words));
    let warned = asked.iter().position(|one| told(one, "Five of your 10 turns are left"));
    assert_eq!(warned, Some(ALLOWANCE - 5));
    let anew = asked[ALLOWANCE].last_user_text();
    assert!(anew.contains(notes::FILE), "{anew}");
    assert_eq!(run.log_of("started").await.len(), 1, "one process did it all");
}
