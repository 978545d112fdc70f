use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;

/// Rows of the catalogue: name, effect, description and schema of each tool.
fn catalogue() -> BTreeMap<String, (String, String, Value)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/sql");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut rows = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for row in text.split("\n('").skip(1) {
            // ('name', 'family', 'effect', 'description', 'schema')
            let fields: Vec<&str> = row.split('\'').collect();
            if let [name, _, "coding", _, effect, _, description, _, schema, ..] = fields[..] {
                let schema = serde_json::from_str(schema).unwrap();
                rows.insert(name.to_owned(), (effect.to_owned(), description.to_owned(), schema));
            }
        }
    }
    rows
}

#[test]
fn every_tool_is_what_the_catalogue_says() {
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(root.path(), &[]).unwrap();
    let tools = [reading(&workspace), editing(&workspace, &EditLog::default())].concat();
    let catalogue = catalogue();
    assert_eq!(tools.len(), 8);
    for tool in tools {
        let effect = match tool.effect {
            Effect::Read => "read",
            Effect::Write => "write",
        };
        let ToolSpec { name, description, input_schema } = tool.spec.clone();
        assert!(input_schema.is_object(), "{name}");
        let row = (effect.to_owned(), description, input_schema);
        assert_eq!(catalogue.get(&name), Some(&row), "{name}");
    }
}
