//! Rules of `Skill` objects. The smallest one holds instructions.

use serde_json::{Value, json};

use crate::it::cases::{Case, Change, case, change, merge};

const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const DOWN: &str = "must hold no empty part, no '.' and no '..'";

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

/// A skill of documents.
fn versions(versions: &Value) -> Value {
    spec(&json!({ "instructions": null, "versions": versions }))
}

fn files(files: &Value) -> Value {
    spec(&json!({ "files": files }))
}

fn at(path: &str) -> Value {
    files(&json!([{ "path": path, "content": "a" }]))
}

pub fn cases() -> Vec<Case> {
    [words(), forms(), published(), paths(), bytes()].into_iter().flatten().collect()
}

fn words() -> Vec<Case> {
    vec![
        case(
            "metadata.name",
            "must be a DNS label",
            json!({ "metadata": { "name": "review-2" } }),
            json!({ "metadata": { "name": "review.2" } }),
        ),
        case(
            "spec.description",
            "must be one line",
            spec(&json!({ "description": "How we review, and why." })),
            spec(&json!({ "description": "How we\nreview" })),
        ),
        case(
            "spec.createdBy",
            "must be the subject of a person",
            spec(&json!({ "createdBy": "auth0|ann@example.com" })),
            spec(&json!({ "createdBy": "ann b" })),
        ),
        // SKILL-06
        case(
            "spec.visibility",
            "supported values: \"workspace\", \"private\"",
            spec(&json!({ "visibility": "private" })),
            spec(&json!({ "visibility": "public" })),
        ),
        case(
            "spec.instructions",
            "must hold the text of the skill",
            spec(&json!({ "instructions": "# Review\n" })),
            spec(&json!({ "instructions": " \n" })),
        ),
        case(
            "spec.instructions",
            "may not be more than 65536",
            spec(&json!({ "instructions": "a".repeat(65_536) })),
            spec(&json!({ "instructions": "a".repeat(65_537) })),
        ),
    ]
}

/// One kind carries both forms, and an object has one of them.
fn forms() -> Vec<Case> {
    let one = json!([{ "version": 1, "documentId": "doc-1" }]);
    vec![
        case(
            "spec.instructions",
            "a skill holds instructions, or versions that name documents",
            versions(&one),
            versions(&json!([])),
        ),
        case(
            "spec.versions",
            "a skill with instructions is edited in place and has no versions",
            spec(&json!({ "versions": [] })),
            spec(&json!({ "versions": one })),
        ),
        case(
            "spec.files",
            "files stand beside instructions; a version's files are in its document",
            at("template.md"),
            spec(&json!({
                "instructions": null, "versions": one,
                "files": [{ "path": "template.md", "content": "a" }],
            })),
        ),
    ]
}

/// SKILL-01
fn published() -> Vec<Case> {
    let of = |more: Value| versions(&json!([more]));
    let many = |count: i64| {
        let all: Vec<_> = (1..=count)
            .map(|n| json!({ "version": n, "documentId": format!("doc-{n}") }))
            .collect();
        versions(&json!(all))
    };
    vec![
        case(
            "spec.versions[0].version",
            "greater than or equal to 1",
            of(json!({ "version": 1, "documentId": "doc-1" })),
            of(json!({ "version": 0, "documentId": "doc-1" })),
        ),
        case(
            "spec.versions[0].documentId",
            "must be one line",
            of(json!({ "version": 1, "documentId": "a1:b2/c3" })),
            of(json!({ "version": 1, "documentId": "doc\n1" })),
        ),
        case(
            "spec.versions[0].path",
            DOWN,
            of(json!({ "version": 1, "documentId": "doc-1", "path": "review/SKILL.md" })),
            of(json!({ "version": 1, "documentId": "doc-1", "path": "../SKILL.md" })),
        ),
        case(
            "spec.versions[0].path",
            "must be a relative path",
            of(json!({ "version": 1, "documentId": "doc-1", "path": "SKILL.md" })),
            of(json!({ "version": 1, "documentId": "doc-1", "path": "/SKILL.md" })),
        ),
        case(
            "spec.versions",
            "numbers two versions alike",
            versions(&json!([
                { "version": 1, "documentId": "doc-1" }, { "version": 2, "documentId": "doc-1" },
            ])),
            versions(&json!([
                { "version": 1, "documentId": "doc-1" }, { "version": 1, "documentId": "doc-2" },
            ])),
        ),
        case("spec.versions", "must have at most 200 items", many(200), many(201)),
    ]
}

/// SKILL-08: relative, with forward slashes, no traversal, unique, at most 32.
fn paths() -> Vec<Case> {
    let many = |count: usize| {
        let all: Vec<_> =
            (0..count).map(|n| json!({ "path": format!("{n}.md"), "content": "a" })).collect();
        files(&json!(all))
    };
    let wrong = [
        ("must be a relative path with forward slashes", "/etc/passwd"),
        ("must be a relative path with forward slashes", "a\\b.md"),
        ("must be a relative path with forward slashes", "a\u{7}.md"),
        (DOWN, "../a.md"),
        (DOWN, "a/../b.md"),
        (DOWN, "a/.."),
        (DOWN, "./a.md"),
        (DOWN, "a/./b.md"),
        (DOWN, "a//b.md"),
        (DOWN, "a/"),
        (DOWN, ".."),
    ];
    let right = ["a/b-c/d.e.md", "...", ".hidden", "a/..b/c..", "Übung/ä b.md"];
    let right = right.into_iter().cycle();
    wrong
        .into_iter()
        .zip(right)
        .map(|((says, wrong), right)| case("spec.files[0].path", says, at(right), at(wrong)))
        .chain([
            case(
                "spec.files",
                "names a path twice",
                files(&json!([
                    { "path": "a.md", "content": "a" }, { "path": "b.md", "content": "a" },
                ])),
                files(&json!([
                    { "path": "a.md", "content": "a" }, { "path": "a.md", "content": "b" },
                ])),
            ),
            case("spec.files", "must have at most 32 items", many(32), many(33)),
        ])
        .collect()
}

/// SKILL-08: what a file holds, in bytes.
fn bytes() -> Vec<Case> {
    const OVER: &str = "holds over 256 KiB of text in all";
    let kept = json!({ "path": "logo.png", "size": 262_144, "sha256": DIGEST });
    let with = |more: Value| {
        let mut file = kept.clone();
        merge(&mut file, &more);
        files(&json!([file]))
    };
    let two = |size: usize| {
        files(&json!([
            { "path": "a.md", "content": "a".repeat(131_072) },
            { "path": "b.md", "content": "a".repeat(size) },
        ]))
    };
    vec![
        case(
            "spec.files[0].content",
            "a file has content, or the sha256 of bytes that the API keeps",
            with(json!({})),
            with(json!({ "content": "a" })),
        ),
        case(
            "spec.files[0].content",
            "a file has content, or the sha256 of bytes that the API keeps",
            at("a.md"),
            files(&json!([{ "path": "a.md" }])),
        ),
        case(
            "spec.files[0].size",
            "stands beside sha256, and only there",
            with(json!({ "size": 0 })),
            with(json!({ "size": null })),
        ),
        case(
            "spec.files[0].size",
            "less than or equal to 262144",
            with(json!({})),
            with(json!({ "size": 262_145 })),
        ),
        case(
            "spec.files[0].sha256",
            "must be a SHA-256",
            with(json!({})),
            with(json!({ "sha256": DIGEST.to_uppercase() })),
        ),
        case("spec.files", OVER, two(131_072), two(131_073)),
        // Letters may be wider than a byte.
        case(
            "spec.files",
            OVER,
            files(&json!([{ "path": "a.md", "content": "ä".repeat(131_072) }])),
            files(&json!([{ "path": "a.md", "content": "ä".repeat(131_073) }])),
        ),
    ]
}

pub fn changes() -> Vec<Change> {
    const STAYS: &str = "a version that was published stays as it is";
    let one = json!({ "version": 1, "documentId": "doc-1" });
    let two = json!({ "version": 2, "documentId": "doc-2" });
    let both = spec(&json!({ "versions": [two, one] }));
    // SKILL-02: a pinned version reads the same for ever.
    let published =
        |bad: Value| change("spec.versions", STAYS, versions(&json!([one])), both.clone(), bad);
    vec![
        change(
            "spec.createdBy",
            "cannot change; create another skill",
            json!({}),
            spec(&json!({ "visibility": "private" })),
            spec(&json!({ "createdBy": "ben" })),
        ),
        published(spec(&json!({ "versions": [{ "version": 1, "documentId": "doc-9" }] }))),
        published(spec(
            &json!({ "versions": [{ "version": 1, "documentId": "doc-1", "path": "a" }] }),
        )),
        published(spec(&json!({ "versions": [two] }))),
        published(spec(&json!({ "versions": null, "instructions": "Edited in place." }))),
        // SKILL-05: a skill with instructions is edited in place.
        change(
            "spec.instructions",
            "must hold the text of the skill",
            json!({}),
            spec(&json!({ "instructions": "Edited in place." })),
            spec(&json!({ "instructions": " " })),
        ),
    ]
}
