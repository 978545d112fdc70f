use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn environment(home: &str) -> Variables {
    vec![("PATH".into(), "/bin".into()), (VARIABLE.into(), home.into())]
}

/// WORK-14
#[rstest]
#[case::one_that_cannot_be_written("/opt/corepack", false, Some("/opt/corepack"))]
#[case::one_that_can("/opt/corepack", true, None)]
#[case::the_copy_itself("/work/.cache/corepack", false, None)]
#[case::a_relative_one("corepack", false, None)]
#[case::none_at_all("", false, None)]
fn a_home_that_cannot_be_written_is_copied(
    #[case] named: &str,
    #[case] writable: bool,
    #[case] from: Option<&str>,
) {
    let found = replacement(&environment(named), Path::new("/work"), |_| writable);
    let to = PathBuf::from("/work/.cache/corepack");
    assert_eq!(found, from.map(|from| Replacement { from: from.into(), to }));
}

/// WORK-14
#[test]
fn an_environment_that_names_no_home_stays_as_it_is() {
    let plain = vec![("PATH".into(), "/bin".into())];
    assert_eq!(with_writable_home(plain.clone(), Path::new("/work")), plain);
}

/// WORK-14
#[test]
fn whether_a_folder_can_be_written_is_tried_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(is_writable(folder.path()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // Root may write wherever permissions say no; not here.
    assert!(!is_writable(Path::new("/proc/self")));
    assert!(!is_writable(&folder.path().join("missing")));
}

/// An image's home: a package manager, a link to it, a link out, a file nobody may write.
fn image(folder: &Path) -> PathBuf {
    let home = folder.join("image");
    fs::create_dir_all(home.join("v1/pnpm/9.1.0/bin")).unwrap();
    fs::write(home.join("v1/pnpm/9.1.0/bin/pnpm.cjs"), "pnpm").unwrap();
    fs::write(home.join("lastKnownGood.json"), "{}").unwrap();
    let nobodys = fs::Permissions::from_mode(0o444);
    fs::set_permissions(home.join("lastKnownGood.json"), nobodys).unwrap();
    let executable = fs::Permissions::from_mode(0o555);
    fs::set_permissions(home.join("v1/pnpm/9.1.0/bin/pnpm.cjs"), executable).unwrap();
    symlink("9.1.0", home.join("v1/pnpm/latest")).unwrap();
    symlink("/etc", home.join("v1/out")).unwrap();
    symlink(".", home.join("v1/circle")).unwrap();
    home
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// WORK-14
#[test]
fn a_copy_holds_what_the_image_brought_can_be_written_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let from = image(folder.path());
    let to = folder.path().join("home/.cache/corepack");
    copied(&Replacement { from, to: to.clone() }).unwrap();
    assert_eq!(fs::read_to_string(to.join("v1/pnpm/latest/bin/pnpm.cjs")).unwrap(), "pnpm");
    assert_eq!(mode(&to.join("v1/pnpm/9.1.0/bin/pnpm.cjs")), 0o755);
    assert_eq!(mode(&to.join("lastKnownGood.json")) & 0o200, 0o200);
    for (link, target) in [("latest", "9.1.0"), ("../out", "/etc"), ("../circle", ".")] {
        let kept = fs::read_link(to.join("v1/pnpm").join(link)).unwrap();
        assert_eq!(kept, Path::new(target), "{link}");
    }
    let names = fs::read_dir(to.parent().unwrap()).unwrap().count();
    assert_eq!(names, 1, "nothing else is left beside it");
}

/// WORK-14
#[test]
fn a_copy_of_an_earlier_process_is_kept_with_what_was_fetched_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let from = image(folder.path());
    let copy = Replacement { from, to: folder.path().join("home/.cache/corepack") };
    copied(&copy).unwrap();
    fs::create_dir_all(copy.to.join("v1/pnpm/8.0.0")).unwrap();
    copied(&copy).unwrap();
    assert!(copy.to.join("v1/pnpm/8.0.0").is_dir());
}

/// WORK-14
#[test]
fn a_home_that_an_image_names_and_does_not_bring_becomes_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let home = folder.path().join("home");
    let got = with_writable_home(environment(missing.to_str().unwrap()), &home);
    let copy = home.join(".cache/corepack");
    assert_eq!(got, environment(copy.to_str().unwrap()));
    assert_eq!(fs::read_dir(copy).unwrap().count(), 0);
}

/// WORK-14
#[test]
fn without_room_for_a_copy_the_images_home_stays() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = folder.path().join("home");
    fs::write(&occupied, "a file").unwrap();
    let named = environment(folder.path().join("missing").to_str().unwrap());
    assert_eq!(with_writable_home(named.clone(), &occupied), named);
}
