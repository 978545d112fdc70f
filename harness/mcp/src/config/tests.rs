use pretty_assertions::assert_eq;
use rstest::rstest;

use super::environment::ExpandError;
use super::*;

fn host() -> Environment {
    let variables =
        [("PATH", "/bin"), ("HOME", "/home/ann"), ("TOKEN", "ak_secret"), ("EMPTY", "")];
    Environment::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
}

fn one(entry: &str) -> Result<Server, String> {
    let text = format!("{{\"mcpServers\": {{\"db\": {entry}}}}}");
    let servers = Servers::parse(&text, &host()).map_err(|error| error.to_string())?;
    Ok(servers.into_servers().next().unwrap())
}

fn stdio(server: Server) -> Stdio {
    match server.reach {
        Reach::Stdio(stdio) => stdio,
        Reach::Http(http) => panic!("{http:?}"),
    }
}

fn http(server: Server) -> Http {
    match server.reach {
        Reach::Http(http) => http,
        Reach::Stdio(stdio) => panic!("{stdio:?}"),
    }
}

#[test]
fn a_command_gets_its_own_variables_and_of_the_hosts_only_what_programs_need() {
    let server = one(
        r#"{"command": "npx", "args": ["-y", "server"], "env": {"KEY": "${TOKEN}", "MODE": "fast"}, "cwd": "/tmp"}"#,
    );
    let stdio = stdio(server.unwrap());
    assert_eq!(
        (stdio.command.as_str(), stdio.arguments.as_slice()),
        ("npx", &["-y".to_owned(), "server".to_owned()][..])
    );
    let expected =
        [("HOME", "/home/ann"), ("KEY", "ak_secret"), ("MODE", "fast"), ("PATH", "/bin")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(stdio.environment, BTreeMap::from(expected));
    assert_eq!(stdio.folder, Some(PathBuf::from("/tmp")));
    assert!(!format!("{stdio:?}").contains("ak_secret"));
}

#[rstest]
#[case(r#"{"type": "http", "url": "https://x.test/mcp", "headers": {"Authorization": "${TOKEN}", "X-Ann": "on behalf"}}"#)]
#[case(r#"{"type": "streamable-http", "url": "https://x.test/mcp", "headers": {"Authorization": "${TOKEN}", "X-Ann": "on behalf"}}"#)]
#[case(r#"{"url": "https://x.test/mcp", "headers": {"Authorization": "${TOKEN}", "X-Ann": "on behalf"}, "alwaysAllow": []}"#)]
fn a_url_gets_its_headers_word_for_word(#[case] entry: &str) {
    let http = http(one(entry).unwrap());
    let headers = http.header_map().unwrap();
    assert_eq!(headers["authorization"], "ak_secret");
    assert_eq!(headers["x-ann"], "on behalf");
    assert!(headers["authorization"].is_sensitive());
    assert!(!format!("{http:?}").contains("ak_secret"));
}

#[test]
fn a_server_that_is_switched_off_is_not_there() {
    let text = r#"{"mcpServers": {"off": {"command": "x", "disabled": true}}}"#;
    assert!(Servers::parse(text, &host()).unwrap().is_empty());
}

#[test]
fn only_a_server_that_is_believed_is() {
    assert!(!one(r#"{"command": "x"}"#).unwrap().trust_read_only);
    assert!(one(r#"{"command": "x", "trustReadOnlyHint": true}"#).unwrap().trust_read_only);
}

#[rstest]
#[case(r#"{"args": []}"#, "mcpServers.db: has neither command nor url: give one of them")]
#[case(r#"{"command": ""}"#, "mcpServers.db: has no command: give the program to start")]
#[case(r#"{"type": "http"}"#, "mcpServers.db: has no url: give the server's endpoint")]
#[case(
    r#"{"command": "x", "url": "http://x"}"#,
    "mcpServers.db: is a command or a url, with the type of that: take out what does not belong"
)]
#[case(
    r#"{"type": "stdio", "url": "http://x"}"#,
    "mcpServers.db: is a command or a url, with the type of that: take out what does not belong"
)]
#[case(
    r#"{"type": "sse", "url": "http://x"}"#,
    "mcpServers.db: type \"sse\" is the transport of 2024, which is not spoken here: give the server's Streamable HTTP endpoint with type \"http\""
)]
#[case(
    r#"{"type": "ws", "url": "http://x"}"#,
    "mcpServers.db: type \"ws\" is unknown: use \"stdio\" or \"http\""
)]
#[case(
    r#"{"url": "mcp"}"#,
    "mcpServers.db: url: relative URL without a base: give an absolute http or https URL"
)]
#[case(r#"{"url": "file:///x"}"#, "mcpServers.db: url: give an absolute http or https URL")]
#[case(r#"{"command": ["x"]}"#, "mcpServers.db: command is a list: make it text")]
#[case(r#""ak_secret""#, "mcpServers.db: is text: make it an object")]
#[case(
    r#"{"url": "http://x", "headers": "Bearer ak_secret"}"#,
    "mcpServers.db: headers is text: make it an object of names and texts"
)]
#[case(
    r#"{"command": "x", "env": {"PIN": 4711}}"#,
    "mcpServers.db: env.PIN is a number: make it text"
)]
#[case(
    r#"{"command": "x", "args": ["--key", {"is": "ak_secret"}]}"#,
    "mcpServers.db: args[1] is an object: make it text"
)]
#[case(
    r#"{"command": "x", "args": "ak_secret"}"#,
    "mcpServers.db: args is text: make it a list of texts"
)]
#[case(
    r#"{"command": "x", "disabled": "ak_secret"}"#,
    "mcpServers.db: disabled is text: make it true or false"
)]
#[case(
    r#"{"command": "x", "env": {"A": "${NONE}"}}"#,
    "mcpServers.db.env.A: variable NONE is not set: set it, or write ${NONE:-default}"
)]
#[case(
    r#"{"url": "http://x", "headers": {"A": "${TOKEN"}}"#,
    "mcpServers.db.headers.A: a ${ has no closing brace"
)]
#[case(
    r#"{"url": "http://x", "headers": {"A": "${a b}"}}"#,
    "mcpServers.db.headers.A: \"a b\" is no name of a variable: write ${NAME}"
)]
#[case(
    r#"{"url": "http://x", "headers": {"a b": "c"}}"#,
    "mcpServers.db: headers.a b is no name of a header"
)]
#[case(
    r#"{"url": "http://x", "headers": {"Mcp-Session-Id": "c"}}"#,
    "mcpServers.db: headers.Mcp-Session-Id is set by the protocol: take it out"
)]
#[case(
    r#"{"url": "http://x", "headers": {"A": "c\nd"}}"#,
    "mcpServers.db: headers.a: its value has characters that no header may have"
)]
fn a_wrong_entry_says_where_and_what_to_do(#[case] entry: &str, #[case] words: &str) {
    assert_eq!(one(entry).unwrap_err(), words);
}

#[rstest]
#[case("[]", "no object mcpServers: write {\"mcpServers\": {\"name\": {\"command\": \"…\"}}}")]
#[case("{", "not JSON: EOF while parsing an object at line 1 column 1")]
#[case(
    r#"{"mcpServers": {"": {"command": "x"}}}"#,
    "mcpServers has a server named \"\": use 1 to 128 characters, none of them a control character"
)]
fn a_wrong_file_says_so(#[case] text: &str, #[case] words: &str) {
    assert_eq!(Servers::parse(text, &host()).unwrap_err().to_string(), words);
}

#[rstest]
#[case("plain $HOME {x}", Ok("plain $HOME {x}"))]
#[case("Bearer ${TOKEN}!", Ok("Bearer ak_secret!"))]
#[case("${HOME}/${HOME}", Ok("/home/ann//home/ann"))]
#[case("${NONE:-some}${NONE:-}", Ok("some"))]
#[case("${EMPTY:-some}", Ok("some"))]
#[case("${EMPTY}", Ok(""))]
#[case("${1A}", Err(ExpandError::Name("1A".to_owned())))]
#[case("${}", Err(ExpandError::Name(String::new())))]
fn variables_are_filled_in(#[case] text: &str, #[case] expanded: Result<&str, ExpandError>) {
    assert_eq!(host().expand(text), expanded.map(str::to_owned));
}

#[test]
fn a_url_is_said_without_what_may_be_secret_in_it() {
    let url = "https://ann:ak_secret@x.test/mcp?key=ak_secret#ak_secret".parse().unwrap();
    let server = Server::http("db", url);
    assert_eq!(
        server.redactor().clean("at https://ann:ak_secret@x.test/mcp?key=ak_secret#ak_secret"),
        "at https://x.test/mcp"
    );
    assert!(!format!("{server:?}").contains("ak_secret"), "{server:?}");
    assert_eq!(http(server).place(), "https://x.test/mcp");
}

/// BIND-11
#[rstest]
#[case(r#"{"command": "x", "env": {"NOTES": "${TOKEN}"}}"#, "got ***")]
#[case(r#"{"command": "x", "env": {"NOTES_TOKEN": "ak_secret"}}"#, "got ***")]
#[case(r#"{"url": "http://x/", "headers": {"Authorization": "Bearer ${TOKEN}"}}"#, "got ***")]
#[case(r#"{"command": "x", "env": {"NOTES": "${HOME}/notes"}}"#, "got ak_secret")]
fn a_credential_is_hidden_in_results_and_a_path_is_not(#[case] entry: &str, #[case] told: &str) {
    let redactor = one(entry).unwrap().redactor();
    assert_eq!(redactor.clean_result("got ak_secret".to_owned()), told);
    assert_eq!(redactor.clean_result("in /home/ann/notes".to_owned()), "in /home/ann/notes");
}
