use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case::rust(
    "a.rs",
    "pub(crate) async fn go() {}\n    fn inner() {}\npub struct A<T>(T);\nimpl<T> A<T> {\n\
     impl Drop for B {\nconst X: u8 = 1;\npub const fn y() {}\nextern \"C\" fn z() {}\nuse a;",
    &["fn go", "struct A", "impl<T> A<T>", "impl Drop for B", "fn y", "fn z"]
)]
#[case::go(
    "a.go",
    "package a\n\nfunc Hello(name string) string {\nfunc (g *Greeter) Say() {\ntype Greeter struct {\nvar x = 1\n",
    &["func Hello", "func Greeter.Say", "type Greeter", "var x"]
)]
#[case::python("a.py", "import x\nclass A(B):\n    def m(self):\nasync def f():\ndef g(a):\n", &["class A", "def f", "def g"])]
#[case::script(
    "a.ts",
    "export default async function run() {\nexport const answer = 42;\nconst hidden = 1;\n\
     export interface Shape {\nclass A extends B {\nexport type T = string;\n",
    &["function run", "const answer", "interface Shape", "class A", "type T"]
)]
#[case::kotlin("A.kt", "package a\ndata class A(val x: Int)\nfun main() {\nenum class E { A }\n", &["class A", "fun main", "class E"])]
#[case::java("A.java", "public final class A {\n  void m() {}\n}\n", &["class A"])]
#[case::c("a.c", "#include <x>\n#define MAX 3\nstatic int add(int a, int b) {\nint x = f(1);\nstruct point {\n", &["#define MAX", "add()", "struct point"])]
#[case::shell("a.sh", "set -e\nbuild() {\nfunction run {\n", &["function build", "function run"])]
#[case::sql("a.sql", "CREATE TABLE IF NOT EXISTS agents (\n  id TEXT\n);\ncreate unique index by_id on agents(id);", &["table agents", "index by_id"])]
#[case::markdown("a.md", "# Title of it\ntext\n## Part\n### Deeper\n", &["# Title of it", "## Part"])]
#[case::make("Makefile", "GO := go\n.PHONY: test\ntest: build\n\tgo test ./...\n", &["test"])]
fn a_file_says_what_it_defines(#[case] name: &str, #[case] text: &str, #[case] wanted: &[&str]) {
    let language = language(Path::new(name)).unwrap();
    assert_eq!(definitions(text, language), wanted);
}

#[test]
fn an_unknown_kind_of_file_has_no_language() {
    for name in ["data.json", "LICENSE", "a.png", ".gitignore"] {
        assert!(language(Path::new(name)).is_none(), "{name}");
    }
}

proptest! {
    #[test]
    fn any_text_has_an_outline_within_bounds(text in "\\PC{0,300}", lines in "[a-z(){}:#* \n]{0,300}") {
        for name in ["a.rs", "a.go", "a.py", "a.ts", "a.c", "a.sh", "a.sql", "a.md", "Makefile"] {
            let language = language(Path::new(name)).unwrap();
            for definition in definitions(&format!("{text}\n{lines}"), language) {
                prop_assert!(!definition.is_empty() && definition.chars().count() <= LONGEST);
            }
        }
    }
}
