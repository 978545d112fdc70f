//! Words to the person.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// One line on standard output. A reader that went away is no reason to fail: what
/// runs, runs on to its own end.
pub fn say(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").ok();
}

/// One line on standard error.
pub fn complain(line: &str) {
    writeln!(std::io::stderr().lock(), "{line}").ok();
}

/// How far a long piece of work is: one line that renews itself on a terminal, a
/// line now and then elsewhere.
pub struct Progress {
    on_terminal: bool,
    last: Option<Instant>,
}

impl Progress {
    /// Nothing shown yet.
    pub fn new() -> Self {
        Self { on_terminal: std::io::stderr().is_terminal(), last: None }
    }

    /// Shows where the work is, when it is time to.
    pub fn show(&mut self, line: &str) {
        let pause = Duration::from_secs(if self.on_terminal { 0 } else { 30 });
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        let mut out = std::io::stderr().lock();
        if self.on_terminal {
            write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush()).ok();
        } else {
            writeln!(out, "{line}").ok();
        }
    }

    /// Shows the last line, which stays.
    pub fn done(&mut self, line: &str) {
        let clear = if self.on_terminal { "\r\x1b[2K" } else { "" };
        writeln!(std::io::stderr().lock(), "{clear}{line}").ok();
    }
}

/// `3m07s` or `4.2s`.
pub fn elapsed(since: Instant) -> String {
    let elapsed = since.elapsed();
    if elapsed.as_secs() < 60 {
        format!("{:.1}s", elapsed.as_secs_f32())
    } else {
        format!("{}m{:02}s", elapsed.as_secs() / 60, elapsed.as_secs() % 60)
    }
}
