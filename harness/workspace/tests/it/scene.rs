//! A clone in a temporary folder, and calls of its tools.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foundry_kernel::{Tool, ToolError};
use foundry_workspace::{EditLog, Workspace, tools};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A clone, with a folder beside it that nothing may reach.
pub struct Scene {
    folder: TempDir,
    pub workspace: Workspace,
    pub log: EditLog,
    tools: Vec<Arc<Tool>>,
}

/// What stands in every file that must not be reached.
pub const SECRET: &str = "the secret";

impl Scene {
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::within(&[], files)
    }

    /// A clone of which only these paths may be touched.
    pub fn within(prefixes: &[&str], files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("clone"), folder.path().join("outside"));
        for folder in [&root, &root.join(".git"), &outside] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(root.join(".git/config"), SECRET).unwrap();
        fs::write(outside.join("secret"), SECRET).unwrap();
        let prefixes: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
        let workspace = Workspace::open(&root, &prefixes).unwrap();
        let log = EditLog::default();
        let tools = [tools::reading(&workspace), tools::editing(&workspace, &log)].concat();
        let scene = Self { folder, workspace, log, tools };
        for (path, text) in files {
            scene.write(path, text.as_bytes());
        }
        scene
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    pub fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.root().join(path)).unwrap();
    }

    pub fn tool(&self, name: &str) -> &Tool {
        self.tools.iter().find(|tool| tool.spec.name == name).unwrap()
    }

    /// Calls a tool; the text of its result, or of its failure.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<String, String> {
        let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
        let tool = self.tool(name);
        match tool.executor.execute(arguments).await {
            Ok(text) => {
                assert!(text.len() <= tool.limit_bytes, "{name} is over its own limit");
                Ok(text)
            }
            Err(ToolError::Failed(text)) => Err(text),
            Err(ToolError::Unknown(text)) => panic!("the outcome is known: {text}"),
        }
    }

    pub async fn ok(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap()
    }

    pub async fn refusal(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap_err()
    }

    /// Calls every tool but `delete_file`, which takes links away, with a path in it.
    pub async fn every(&self, path: &str) -> Vec<(&'static str, Result<String, String>)> {
        let calls = [
            ("list_dir", json!({"path": path})),
            ("glob", json!({"pattern": format!("{path}/**")})),
            ("glob", json!({"pattern": path})),
            ("grep", json!({"pattern": ".", "path": path})),
            ("explore", json!({"path": path})),
            ("read_file", json!({"path": path})),
            ("edit_file", json!({"path": path, "old_text": "the", "new_text": "a"})),
            ("write_file", json!({"path": path, "content": "overwritten"})),
            ("write_file", json!({"path": format!("{path}/new"), "content": "made"})),
        ];
        let mut answers = Vec::new();
        for (name, arguments) in calls {
            answers.push((name, self.call(name, arguments).await));
        }
        answers
    }

    /// What must not have been reached is as it was.
    pub fn check_untouched(&self) {
        assert_eq!(fs::read_to_string(self.outside().join("secret")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(self.outside()).unwrap().count(), 1);
        assert_eq!(self.text(".git/config"), SECRET);
        assert_eq!(fs::read_dir(self.root().join(".git")).unwrap().count(), 1);
    }
}
