//! Tells cargo that the migrations embedded by `sqlx::migrate!` are sources.

fn main() {
    use std::io::Write as _;
    // A build script speaks to cargo on stdout; failing to is cargo's to report.
    drop(writeln!(std::io::stdout(), "cargo:rerun-if-changed=sql"));
}
