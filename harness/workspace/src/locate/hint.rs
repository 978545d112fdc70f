//! What may have been meant by a name that does not exist.

use std::ffi::OsStr;

use cap_std::fs::Dir;

use super::is_git;
use crate::scope::Standing;

/// Names looked at in a folder.
const MOST_NAMES: usize = 2_000;

/// Names in the folder that resemble the one asked for, as the end of a sentence. A
/// folder that only leads to permitted paths (CODE-10) tells no other names.
pub fn near(folder: &Dir, standing: Standing, name: &OsStr) -> String {
    let (Standing::Inside, Some(name), Ok(entries)) = (standing, name.to_str(), folder.entries())
    else {
        return String::new();
    };
    let names: Vec<String> = entries
        .take(MOST_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !is_git(OsStr::new(name)))
        .collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    let near = similar::get_close_matches(name, &names, 3, 0.6);
    if near.is_empty() {
        return String::new();
    }
    format!("; in the same folder is {}", near.join(", "))
}
