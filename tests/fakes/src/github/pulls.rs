//! Pull requests: the rules by which they are made, found and changed.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::refusal::Answer;
use crate::git::BareRepository;

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PullRequest {
    /// The repository, such as `acme/greeting`.
    pub repository: String,
    /// Its number there, from 1.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The branch that is to be merged.
    pub head: String,
    /// Newest commit of that branch.
    pub head_sha: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// Newest commit of that one.
    pub base_sha: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it is open.
    pub state: State,
    /// Where a person reads it.
    pub html_url: String,
}

/// Whether a pull request is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits to be merged.
    Open,
    /// It does not.
    Closed,
}

/// Body of the request that makes one.
#[derive(Debug, Deserialize)]
pub(super) struct New {
    title: Option<String>,
    body: Option<String>,
    head: Option<String>,
    base: Option<String>,
    #[serde(default)]
    draft: bool,
}

/// Body of the request that changes one.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    title: Option<String>,
    body: Option<String>,
    base: Option<String>,
    state: Option<State>,
}

/// Which ones a list is of.
#[derive(Debug)]
pub(super) struct Filter {
    /// `owner:branch`. GitHub ignores one without an owner, and lists all.
    pub head: Option<String>,
    pub base: Option<String>,
    pub state: Option<String>,
}

/// A repository of the folder, with its name.
#[derive(Debug)]
pub(super) struct Repository {
    pub name: String,
    bare: BareRepository,
}

impl Repository {
    /// The repository of this owner and name, if it is there.
    pub(super) fn find(folder: &Path, owner: &str, name: &str) -> Option<Self> {
        let plain = |part: &str| {
            let sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(sign)
        };
        let name = format!("{owner}/{name}");
        let fits = name.split('/').all(plain);
        let bare = fits.then(|| BareRepository::open(folder.join(format!("{name}.git"))))?.ok()?;
        Some(Self { name, bare })
    }

    fn owner(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    fn head(&self, branch: &str) -> Result<Option<String>, Answer> {
        self.bare.head(branch).map_err(|error| Answer::broken(&error))
    }

    /// The head that a request names: a branch, or one with its owner before it.
    fn own_branch<'a>(&self, head: &'a str) -> Option<&'a str> {
        match head.split_once(':') {
            Some((owner, branch)) => (owner == self.owner()).then_some(branch),
            None => Some(head),
        }
    }

    /// Makes a pull request, by GitHub's rules and in their order.
    pub(super) fn open(
        &self,
        pulls: &mut Vec<PullRequest>,
        origin: &str,
        new: New,
    ) -> Result<PullRequest, Answer> {
        let given = |field: &str, value: Option<String>| {
            value.ok_or_else(|| Answer::invalid_request(&format!("{field:?} wasn't supplied.")))
        };
        let (head, base) = (given("head", new.head)?, given("base", new.base)?);
        let title = given("title", new.title)?;
        if title.trim().is_empty() {
            return Err(Answer::invalid("title"));
        }
        let head = self.own_branch(&head).ok_or_else(|| Answer::invalid("head"))?.to_owned();
        let head_sha = self.head(&head)?.ok_or_else(|| Answer::invalid("head"))?;
        let base_sha = self.head(&base)?.ok_or_else(|| Answer::invalid("base"))?;
        let ahead = self.bare.ahead(&base_sha, &head_sha);
        if ahead.map_err(|error| Answer::broken(&error))? == 0 {
            return Err(Answer::custom(&format!("No commits between {base} and {head}")));
        }
        let mut own = pulls.iter().filter(|pull| pull.repository == self.name);
        let same = |pull: &PullRequest| {
            pull.state == State::Open && pull.head == head && pull.base == base
        };
        if own.clone().any(same) {
            let words = format!("A pull request already exists for {}:{head}.", self.owner());
            return Err(Answer::custom(&words));
        }
        let number = 1 + own.by_ref().count() as u64;
        let pull = PullRequest {
            repository: self.name.clone(),
            number,
            title,
            body: new.body.unwrap_or_default(),
            head,
            head_sha,
            base,
            base_sha,
            draft: new.draft,
            state: State::Open,
            html_url: format!("{origin}/{}/pull/{number}", self.name),
        };
        pulls.push(pull.clone());
        Ok(pull)
    }

    /// Changes what the request names.
    pub(super) fn change(
        &self,
        pulls: &mut [PullRequest],
        number: u64,
        change: Change,
    ) -> Result<PullRequest, Answer> {
        let pull = self.find_in(pulls, number)?;
        let Change { title, body, base, state } = change;
        if title.as_ref().is_some_and(|title| title.trim().is_empty()) {
            return Err(Answer::invalid("title"));
        }
        if let Some(base) = base {
            pull.base_sha = self.head(&base)?.ok_or_else(|| Answer::invalid("base"))?;
            pull.base = base;
        }
        pull.title = title.unwrap_or_else(|| pull.title.clone());
        pull.body = body.unwrap_or_else(|| pull.body.clone());
        pull.state = state.unwrap_or(pull.state);
        self.refresh(pull)?;
        Ok(pull.clone())
    }

    /// The one of this number.
    pub(super) fn one(
        &self,
        pulls: &mut [PullRequest],
        number: u64,
    ) -> Result<PullRequest, Answer> {
        let pull = self.find_in(pulls, number)?;
        self.refresh(pull)?;
        Ok(pull.clone())
    }

    /// Those that the filter names, newest first.
    pub(super) fn list(
        &self,
        pulls: &mut [PullRequest],
        filter: &Filter,
    ) -> Result<Vec<PullRequest>, Answer> {
        let state = match filter.state.as_deref() {
            None | Some("open") => Some(State::Open),
            Some("closed") => Some(State::Closed),
            Some("all") => None,
            Some(_) => return Err(Answer::invalid("state")),
        };
        let head = match filter.head.as_deref().and_then(|head| head.split_once(':')) {
            Some((owner, branch)) if owner == self.owner() => Some(branch),
            Some(_) => return Ok(Vec::new()),
            None => None,
        };
        let mut found = Vec::new();
        for pull in pulls.iter_mut().rev().filter(|pull| pull.repository == self.name) {
            let fits = state.is_none_or(|state| pull.state == state)
                && head.is_none_or(|head| pull.head == head)
                && filter.base.as_ref().is_none_or(|base| pull.base == *base);
            if fits {
                self.refresh(pull)?;
                found.push(pull.clone());
            }
        }
        Ok(found)
    }

    fn find_in<'a>(
        &self,
        pulls: &'a mut [PullRequest],
        number: u64,
    ) -> Result<&'a mut PullRequest, Answer> {
        let this = |pull: &&mut PullRequest| pull.repository == self.name && pull.number == number;
        pulls.iter_mut().find(this).ok_or_else(Answer::not_found)
    }

    /// A push moves the head of an open pull request.
    fn refresh(&self, pull: &mut PullRequest) -> Result<(), Answer> {
        if pull.state == State::Open
            && let Some(head) = self.head(&pull.head)?
        {
            pull.head_sha = head;
        }
        Ok(())
    }
}

impl PullRequest {
    /// As GitHub shows it.
    pub(super) fn to_json(&self, origin: &str) -> Value {
        let Self {
            repository,
            number,
            title,
            body,
            head,
            head_sha,
            base,
            base_sha,
            draft,
            state,
            html_url,
        } = self;
        let owner = repository.split('/').next().unwrap_or_default();
        let branch = |name: &str, sha: &str| {
            json!({
                "label": format!("{owner}:{name}"), "ref": name, "sha": sha,
                "user": {"login": owner}, "repo": {"full_name": repository},
            })
        };
        let body = if body.is_empty() { Value::Null } else { json!(body) };
        json!({
            "url": format!("{origin}/repos/{repository}/pulls/{number}"),
            "html_url": html_url, "number": number, "title": title, "body": body,
            "state": state, "draft": draft, "merged": false, "merged_at": null, "locked": false,
            "user": {"login": "stand-in"},
            "head": branch(head, head_sha), "base": branch(base, base_sha),
        })
    }

    /// As a person reads it.
    pub(super) fn to_text(&self) -> String {
        let Self { repository, number, title, body, head, head_sha, base, state, .. } = self;
        let state = match state {
            State::Open => "open",
            State::Closed => "closed",
        };
        let commit = head_sha.get(..12).unwrap_or(head_sha);
        format!(
            "{title}\n{repository} #{number}, {state}: {head} ({commit}) into {base}\n\n{body}\n"
        )
    }
}
