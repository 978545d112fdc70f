//! The Go that runs of these scenarios test with.

use std::process::Command;

use tokio::sync::OnceCell;

/// What the repositories of the scenarios use of the standard library.
const IMPORTS: [&str; 11] = [
    "bytes",
    "database/sql/driver",
    "encoding/json",
    "errors",
    "fmt",
    "os/exec",
    "reflect",
    "regexp",
    "strconv",
    "strings",
    "unicode/utf8",
];

/// Builds once what every scenario would else build beside the others: commands of Go that
/// begin together with an empty cache all build the standard library.
pub async fn has_built_the_standard_library() {
    static BUILT: OnceCell<()> = OnceCell::const_new();
    let build = || async { tokio::task::spawn_blocking(build).await.unwrap() };
    BUILT.get_or_init(build).await;
}

fn build() {
    let folder = tempfile::tempdir().unwrap();
    let imports = IMPORTS.map(|path| format!("\t_ \"{path}\"\n")).concat();
    let test = format!(
        "package warm\n\nimport (\n\t\"testing\"\n\n{imports})\n\nfunc TestNothing(t *testing.T) {{}}\n"
    );
    std::fs::write(folder.path().join("go.mod"), "module warm\n\ngo 1.22\n").unwrap();
    std::fs::write(folder.path().join("warm_test.go"), test).unwrap();
    for arguments in [["test", "./..."], ["vet", "./..."]] {
        let done = Command::new("go")
            .args(arguments)
            .envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local")])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
