//! What a source file defines, told from its lines alone: the words that begin a
//! definition in each language, at the left margin. It is an overview, not a parser.

use std::path::Path;

/// Definitions kept of one file.
const MOST: usize = 200;
/// Longest name.
const LONGEST: usize = 80;

/// How definitions begin in a language.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Words that may stand before.
    before: &'static [&'static str],
    /// Words that say what is defined.
    kinds: &'static [&'static str],
    /// Anything else a line can be.
    special: fn(&str) -> Option<String>,
}

const RUST: Language = Language {
    before: &["pub", "async", "unsafe", "const", "extern", "default"],
    kinds: &["fn", "struct", "enum", "trait", "mod", "type", "union", "macro_rules!", "static"],
    special: rust,
};
const GO: Language = Language { before: &[], kinds: &["type", "var", "const"], special: go };
const PYTHON: Language =
    Language { before: &["async"], kinds: &["def", "class"], special: nothing };
const SCRIPT: Language = Language {
    before: &["export", "default", "declare", "async", "abstract"],
    kinds: &["function", "function*", "class", "interface", "type", "enum", "namespace"],
    special: exported,
};
const JAVA: Language = Language {
    before: &["public", "protected", "private", "abstract", "final", "static", "sealed"],
    kinds: &["class", "interface", "enum", "record", "@interface"],
    special: nothing,
};
const KOTLIN: Language = Language {
    before: &[
        "public",
        "internal",
        "private",
        "abstract",
        "final",
        "open",
        "sealed",
        "data",
        "inline",
        "value",
        "suspend",
        "override",
        "const",
        "enum",
        "annotation",
        "expect",
        "actual",
    ],
    kinds: &["fun", "class", "interface", "object", "typealias", "val", "var"],
    special: nothing,
};
const C: Language = Language {
    before: &["typedef", "static", "extern", "inline", "template<>"],
    kinds: &["struct", "class", "enum", "union", "namespace", "#define"],
    special: function_of_c,
};
const CSHARP: Language = Language {
    before: &[
        "public", "internal", "private", "abstract", "sealed", "static", "partial", "readonly",
    ],
    kinds: &["class", "interface", "enum", "record", "struct", "namespace"],
    special: nothing,
};
const RUBY: Language =
    Language { before: &[], kinds: &["class", "module", "def"], special: nothing };
const PHP: Language = Language {
    before: &["abstract", "final", "readonly"],
    kinds: &["class", "interface", "trait", "enum", "function", "namespace"],
    special: nothing,
};
const SWIFT: Language = Language {
    before: &["public", "open", "internal", "private", "fileprivate", "final", "indirect"],
    kinds: &["func", "class", "struct", "enum", "protocol", "extension", "actor", "typealias"],
    special: nothing,
};
const SHELL: Language = Language { before: &[], kinds: &["function"], special: shell };
const PROTO: Language =
    Language { before: &[], kinds: &["message", "service", "enum", "package"], special: nothing };
const SQL: Language = Language { before: &[], kinds: &[], special: sql };
const MARKDOWN: Language = Language { before: &[], kinds: &["#", "##"], special: nothing };
const MAKE: Language = Language { before: &[], kinds: &[], special: target };

/// The language of a file, by its name.
pub fn language(path: &Path) -> Option<Language> {
    if matches!(path.file_name()?.to_str()?, "Makefile" | "makefile" | "GNUmakefile") {
        return Some(MAKE);
    }
    Some(match path.extension()?.to_str()? {
        "rs" => RUST,
        "go" => GO,
        "py" | "pyi" => PYTHON,
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => SCRIPT,
        "java" => JAVA,
        "kt" | "kts" => KOTLIN,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" => C,
        "cs" => CSHARP,
        "rb" => RUBY,
        "php" => PHP,
        "swift" => SWIFT,
        "sh" | "bash" => SHELL,
        "proto" => PROTO,
        "sql" => SQL,
        "md" | "mdx" => MARKDOWN,
        "mk" => MAKE,
        _ => return None,
    })
}

/// What a text defines, in its order and each once.
pub fn definitions(text: &str, language: Language) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(definition) = definition(line, language)
            && !found.contains(&definition)
        {
            found.push(definition);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

fn definition(line: &str, language: Language) -> Option<String> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let mut rest = line;
    loop {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        let after = after.trim_start();
        if language.kinds.contains(&word) {
            // As `enum class` in C++ and Kotlin, `async def`, `static struct`.
            let is_more = after.split_whitespace().next().is_some_and(|next| {
                language.kinds.contains(&next) && next != "type" && !word.starts_with('#')
            });
            if !is_more {
                let name = if word.starts_with('#') && !word.starts_with("#d") {
                    after.trim_end()
                } else {
                    name(after)
                };
                return (!name.is_empty()).then(|| shortened(&format!("{word} {name}")));
            }
        } else if !is_before(word, language) {
            return (language.special)(line);
        }
        rest = after;
    }
}

fn is_before(word: &str, language: Language) -> bool {
    // `pub(crate)`, `extern "C"`, and the string after it.
    let word = word.split('(').next().unwrap_or(word);
    language.before.contains(&word) || word.starts_with('"')
}

/// The name at the beginning: up to what cannot be part of one.
fn name(text: &str) -> &str {
    let is_part = |character: char| character.is_alphanumeric() || "_$.:!?".contains(character);
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end_matches([':', '.'])
}

fn shortened(definition: &str) -> String {
    definition.chars().take(LONGEST).collect()
}

fn nothing(_: &str) -> Option<String> {
    None
}

/// `impl` blocks.
fn rust(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<']))?;
    let rest = rest.trim_end().trim_end_matches('{').trim_end();
    Some(shortened(&format!("impl{rest}")))
}

/// Functions and methods.
fn go(line: &str) -> Option<String> {
    let rest = line.strip_prefix("func ")?;
    let (receiver, rest) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (receiver, rest) = rest.split_once(')')?;
            let receiver = receiver.rsplit([' ', '*']).next().unwrap_or(receiver);
            (format!("{receiver}."), rest.trim_start())
        }
        None => (String::new(), rest),
    };
    let name = name(rest);
    (!name.is_empty()).then(|| shortened(&format!("func {receiver}{name}")))
}

/// `export const name = …`
fn exported(line: &str) -> Option<String> {
    let rest = line.strip_prefix("export ")?;
    let rest = rest.strip_prefix("const ").or_else(|| rest.strip_prefix("let "))?;
    let name = name(rest.trim_start());
    (!name.is_empty()).then(|| shortened(&format!("const {name}")))
}

/// `type name(…) {`, on one line or with the brace on the next.
fn function_of_c(line: &str) -> Option<String> {
    let (head, _) = line.split_once('(')?;
    let line = line.trim_end();
    if !(line.ends_with('{') || line.ends_with(')')) || head.contains(['=', '"', ';', '/']) {
        return None;
    }
    let (_, name) = head.trim_end().rsplit_once([' ', '*'])?;
    (!name.is_empty()).then(|| shortened(&format!("{name}()")))
}

/// `name() {`
fn shell(line: &str) -> Option<String> {
    let (name, rest) = line.split_once('(')?;
    let is_function = rest.trim_start().starts_with(')') && !name.trim().contains([' ', '=', '$']);
    is_function.then(|| shortened(&format!("function {}", name.trim())))
}

/// `CREATE TABLE name`, and its like.
fn sql(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (first, rest) = words.split_first()?;
    if !first.eq_ignore_ascii_case("create") {
        return None;
    }
    let is_filler = |word: &&&str| {
        ["or", "replace", "unique", "if", "not", "exists", "temporary", "temp", "materialized"]
            .iter()
            .any(|filler| filler.eq_ignore_ascii_case(word))
    };
    let mut rest = rest.iter().filter(|word| !is_filler(word));
    let kind = rest.next()?.to_lowercase();
    let name = name(rest.next()?);
    (!name.is_empty()).then(|| shortened(&format!("{kind} {name}")))
}

/// `target: …`
fn target(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(':')?;
    let is_target = !rest.starts_with('=')
        && !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(|one| one.is_alphanumeric() || "_-./".contains(one));
    is_target.then(|| shortened(name))
}

#[cfg(test)]
mod tests;
