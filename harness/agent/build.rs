//! Links the executable so that an idle one takes less memory.

use std::env;
use std::io::{self, Write};
use std::process::Command;

/// The first glibc whose loader reads packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() -> io::Result<()> {
    let mut cargo = io::stdout();
    writeln!(cargo, "cargo::rerun-if-changed=build.rs")?;
    if loader().is_some_and(|glibc| glibc >= PACKED_SINCE) {
        // The table of relocations is read once, at the start, and stays resident for the
        // life of the process: half a megabyte in each of a thousand idle harnesses. Packed
        // it takes a few kilobytes.
        writeln!(cargo, "cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs")?;
    }
    Ok(())
}

/// What cargo tells a build script.
#[expect(clippy::disallowed_methods, reason = "these are cargo's words to us, not settings")]
fn told(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The version of glibc that will load the executable, where that is known: the one of
/// this machine, when we build for it.
fn loader() -> Option<(u32, u32)> {
    if told("HOST")? != told("TARGET")? || told("CARGO_CFG_TARGET_ENV")? != "gnu" {
        return None;
    }
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(asked.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
