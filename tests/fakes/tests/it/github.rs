//! GitHub's pull requests, as a client sees them.

use std::path::Path;

use fakes::git::BareRepository;
use fakes::github::{GitHub, Options, PullRequest, Refusal, State};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const TOKEN: &str = "ghp_right";
const REPOSITORY: &str = "acme/greeting";

struct World {
    folder: tempfile::TempDir,
    github: GitHub,
    client: reqwest::Client,
}

/// Status, headers and body of an answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: Value,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repositories = folder.path().join("repositories");
        lay(&repositories, REPOSITORY);
        let github = GitHub::listen(Options {
            record: Some(folder.path().join("record.jsonl")),
            faults: Some(folder.path().join("faults.json")),
            ..Options::new(repositories, TOKEN)
        });
        let client = reqwest::Client::builder().no_proxy().user_agent("foundry").build().unwrap();
        Self { github: github.await.unwrap(), folder, client }
    }

    fn bare(&self) -> BareRepository {
        let path = self.folder.path().join(format!("repositories/{REPOSITORY}.git"));
        BareRepository::open(path).unwrap()
    }

    fn record(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("record.jsonl")).unwrap()
    }

    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.github.api_url());
        self.client
            .request(method.parse().unwrap(), url)
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28")
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = self.request(method, path).bearer_auth(TOKEN);
        answer(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    async fn open(&self, body: &Value) -> Answer {
        self.ask("POST", "/repos/acme/greeting/pulls", Some(body)).await
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer { status, headers, body }
}

/// A repository with `main`, `next` and a branch ahead of both.
fn lay(repositories: &Path, name: &str) {
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("greeting.txt"), "hello\n").unwrap();
    let path = repositories.join(format!("{name}.git"));
    let bare = BareRepository::make(path, files.path()).unwrap();
    bare.commit("next", "Next", &[("next.txt", Some(b"next\n"))]).unwrap();
    bare.commit("flow/greet", "Greet", &[("greeting.txt", Some(b"hello you\n"))]).unwrap();
}

fn wanted() -> Value {
    json!({"title": "Greet you", "head": "flow/greet", "base": "main", "body": "As asked."})
}

/// The one validation error of an answer.
fn error(answer: &Answer) -> Value {
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!(answer.body["message"], "Validation Failed");
    assert_eq!(answer.body["errors"].as_array().unwrap().len(), 1);
    answer.body["errors"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_made_found_changed_and_read_by_a_person() {
    let world = World::start().await;
    let made = world.open(&wanted()).await;
    let url = format!("{}/acme/greeting/pull/1", world.github.api_url());
    let head = world.bare().head("flow/greet").unwrap().unwrap();
    assert_eq!((made.status, &made.body["number"]), (201, &json!(1)), "{made:?}");
    assert_eq!(made.body["html_url"], url);
    assert_eq!(made.body["head"]["sha"], head);
    assert_eq!(made.body["head"]["label"], "acme:flow/greet");
    assert_eq!((&made.body["state"], &made.body["draft"]), (&json!("open"), &json!(false)));

    let list = "/repos/acme/greeting/pulls?head=acme:flow%2Fgreet&state=open&base=main";
    let found = world.ask("GET", list, None).await;
    assert_eq!(found.body, json!([made.body]));
    // A push moves the head.
    let moved = world.bare().commit("flow/greet", "More", &[("m.txt", Some(b"m\n"))]).unwrap();
    let one = world.ask("GET", "/repos/acme/greeting/pulls/1", None).await;
    assert_eq!((one.status, &one.body["head"]["sha"]), (200, &json!(moved)));
    let change = json!({"title": "Greet you well", "body": "Better."});
    let changed = world.ask("PATCH", "/repos/acme/greeting/pulls/1", Some(&change)).await;
    assert_eq!((changed.status, &changed.body["title"]), (200, &json!("Greet you well")));

    let kept = PullRequest {
        repository: REPOSITORY.to_owned(),
        number: 1,
        title: "Greet you well".to_owned(),
        body: "Better.".to_owned(),
        head: "flow/greet".to_owned(),
        head_sha: moved,
        base: "main".to_owned(),
        base_sha: world.bare().head("main").unwrap().unwrap(),
        draft: false,
        state: State::Open,
        html_url: url.clone(),
    };
    assert_eq!(world.github.pull_requests(REPOSITORY), [kept]);
    let page = world.client.get(url).send().await.unwrap().text().await.unwrap();
    assert!(page.starts_with("Greet you well\nacme/greeting #1, open: flow/greet ("), "{page}");
    assert!(page.ends_with(") into main\n\nBetter.\n"), "{page}");

    let record = world.record();
    let kinds: Vec<Value> =
        record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    assert_eq!((&kinds[0]["kind"], &kinds[1]["kind"]), (&json!("created"), &json!("updated")));
    assert_eq!((&kinds[0]["title"], &kinds[0]["head_sha"]), (&json!("Greet you"), &json!(head)));
    assert!(kinds[0]["at"].as_u64().unwrap() > 0);
    assert!(!record.contains(TOKEN));
    let asked = format!("{:?}", world.github.requests());
    assert!(asked.contains("authorised: true") && !asked.contains(TOKEN), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_cannot_be_is_refused_in_the_words_of_github() {
    let world = World::start().await;
    let with = |field: &str, value: Value| {
        let mut body = wanted();
        body[field] = value;
        body
    };
    let missing = world.open(&json!({"title": "t", "head": "flow/greet"})).await;
    assert_eq!(missing.body["message"], "Invalid request.\n\n\"base\" wasn't supplied.");
    let invalid =
        |field: &str| json!({"resource": "PullRequest", "field": field, "code": "invalid"});
    let refused = [
        ("head", json!("flow/none"), invalid("head")),
        ("head", json!("main~1"), invalid("head")),
        ("head", json!("other:flow/greet"), invalid("head")),
        ("base", json!("none"), invalid("base")),
        ("title", json!(" "), invalid("title")),
        (
            "head",
            json!("main"),
            json!({"resource": "PullRequest", "code": "custom",
                "message": "No commits between main and main"}),
        ),
    ];
    for (field, value, expected) in refused {
        assert_eq!(error(&world.open(&with(field, value)).await), expected);
    }
    assert_eq!(world.open(&with("head", json!("acme:flow/greet"))).await.status, 201);
    let twice = error(&world.open(&wanted()).await);
    assert_eq!(twice["message"], "A pull request already exists for acme:flow/greet.");
    // Into another base it is another one; and so it is when the first is closed.
    assert_eq!(world.open(&with("base", json!("next"))).await.body["number"], 2);
    let closed = json!({"state": "closed"});
    world.ask("PATCH", "/repos/acme/greeting/pulls/1", Some(&closed)).await;
    assert_eq!(world.open(&wanted()).await.body["number"], 3);
    let raw = world.request("POST", "/repos/acme/greeting/pulls").bearer_auth(TOKEN).body("{");
    let raw = answer(raw).await;
    assert_eq!((raw.status, &raw.body["message"]), (400, &json!("Problems parsing JSON")));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_right_token_sees_anything_and_only_what_is_there() {
    let world = World::start().await;
    let pulls = "/repos/acme/greeting/pulls";
    let none = answer(world.request("GET", pulls)).await;
    assert_eq!((none.status, &none.body["message"]), (401, &json!("Requires authentication")));
    let wrong = answer(world.request("GET", pulls).bearer_auth("ghp_wrong")).await;
    let expected = json!({
        "message": "Bad credentials", "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    });
    assert_eq!((wrong.status, wrong.body), (401, expected));
    for path in [
        "/repos/acme/none/pulls",
        "/repos/acme/greeting/pulls/1",
        "/repos/acme/greeting/pulls/x",
        "/repos/acme/greeting/issues",
        "/repos/../x/pulls",
        "/user",
    ] {
        let answer = world.ask("GET", path, None).await;
        assert_eq!((answer.status, &answer.body["message"]), (404, &json!("Not Found")), "{path}");
    }
    let unnamed = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}{pulls}", world.github.api_url());
    let unnamed = answer(unnamed.get(url).bearer_auth(TOKEN)).await;
    assert_eq!(unnamed.status, 403);
    assert!(unnamed.body.as_str().unwrap().contains("User-Agent header"), "{unnamed:?}");
    let seen: Vec<bool> =
        world.github.requests().iter().map(|request| request.authorised).collect();
    assert_eq!(seen[..3], [false, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_filtered_and_paged_as_github_does() {
    let world = World::start().await;
    for number in 0..3 {
        let branch = format!("flow/{number}");
        world.bare().commit(&branch, "One more", &[("n.txt", Some(branch.as_bytes()))]).unwrap();
        let body = json!({"title": branch, "head": branch, "base": "main"});
        assert_eq!(world.open(&body).await.status, 201);
    }
    let numbers = |answer: &Answer| -> Vec<u64> {
        let items = answer.body.as_array().unwrap();
        items.iter().map(|item| item["number"].as_u64().unwrap()).collect()
    };
    let list = |query: &str| {
        let path = format!("/repos/acme/greeting/pulls{query}");
        async {
            let path = path;
            world.ask("GET", &path, None).await
        }
    };
    assert_eq!(numbers(&list("?head=acme:flow/1").await), [2]);
    assert_eq!(numbers(&list("?head=other:flow/1").await), [0; 0]);
    // A head without its owner is no filter.
    assert_eq!(numbers(&list("?head=flow/1").await), [3, 2, 1]);
    assert_eq!(numbers(&list("?state=closed").await), [0; 0]);
    assert_eq!(numbers(&list("?state=all&base=next").await), [0; 0]);
    let page = list("?per_page=2&state=all").await;
    assert_eq!(numbers(&page), [3, 2]);
    let link = page.headers["link"].to_str().unwrap();
    let url = world.github.api_url();
    let next =
        format!("<{url}/repos/acme/greeting/pulls?per_page=2&state=all&page=2>; rel=\"next\"");
    assert_eq!(link, next);
    let rest = list("?per_page=2&state=all&page=2").await;
    assert_eq!((numbers(&rest), rest.headers.get("link")), (vec![1], None));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_refuses_what_it_is_told_to_and_as_often() {
    let world = World::start().await;
    let refusal = |status: u16| Refusal { status, ..Refusal::default() };
    world.github.refuse(Refusal { times: Some(1), retry_after: Some(7), ..refusal(403) });
    let limited = world.open(&wanted()).await;
    assert_eq!((limited.status, limited.headers["retry-after"].to_str().unwrap()), (403, "7"));
    assert!(limited.body["message"].as_str().unwrap().contains("secondary rate limit"));
    world.github.refuse(Refusal {
        method: Some("POST".into()),
        message: Some("Frozen until Monday".into()),
        ..refusal(403)
    });
    world.github.refuse(Refusal { repository: Some("acme/other".into()), ..refusal(500) });
    let refused = world.open(&wanted()).await;
    assert_eq!((refused.status, &refused.body["message"]), (403, &json!("Frozen until Monday")));
    assert_eq!(world.ask("GET", "/repos/acme/greeting/pulls", None).await.status, 200);
    assert_eq!(world.ask("GET", "/repos/acme/other/pulls", None).await.status, 500);
    world.github.accept();
    assert_eq!(world.open(&wanted()).await.status, 201);

    let faults = world.folder.path().join("faults.json");
    std::fs::write(&faults, r#"{"refuse": [{"status": 502}]}"#).unwrap();
    let broken = world.ask("GET", "/repos/acme/greeting/pulls", None).await;
    assert_eq!((broken.status, &broken.body["message"]), (502, &json!("Server Error")));
    std::fs::remove_file(&faults).unwrap();
    assert_eq!(world.ask("GET", "/repos/acme/greeting/pulls", None).await.status, 200);
    let statuses: Vec<u16> = world.github.requests().iter().map(|one| one.status).collect();
    assert_eq!(statuses, [403, 403, 200, 500, 201, 502, 200]);
}
