//! A model's own task list: bounded, numbered once and for all, and nothing of it is lost
//! by being changed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Items of a list, unless it is made with another limit.
const DEFAULT_LIMIT: usize = 100;
/// Characters of one title.
const TITLE_CHARS: usize = 300;

/// How far an item is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    #[default]
    Open,
    /// Being done.
    InProgress,
    /// Done.
    Done,
    /// Not to be done after all.
    Dropped,
}

impl Status {
    /// Its name, as models and logs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Dropped => "dropped",
        }
    }

    /// Whether something is left to be done.
    pub fn is_left(self) -> bool {
        match self {
            Self::Open | Self::InProgress => true,
            Self::Done | Self::Dropped => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done, in one line.
    pub title: String,
    /// How far it is.
    pub status: Status,
}

/// Why a list was not changed, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// Nothing is to be done.
    #[error("the title is empty: say what is to be done")]
    NoTitle,
    /// More is said than one item holds.
    #[error("the title has {0} characters, and {TITLE_CHARS} are the most: say it shorter")]
    LongTitle(usize),
    /// No place is left.
    #[error("the list is full with {0} items: update those it has")]
    Full(usize),
    /// Nothing has this number.
    #[error("there is no task {0}")]
    NoSuchItem(usize),
}

/// A task list. An item keeps the number under which it was added, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todos {
    items: Vec<Todo>,
    limit: usize,
}

impl Default for Todos {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl Todos {
    /// An empty list of so many items at most.
    pub fn with_limit(limit: usize) -> Self {
        Self { items: Vec::new(), limit }
    }

    /// Adds an open item; its number.
    pub fn add(&mut self, title: &str) -> Result<usize, TodoError> {
        // One line an item, whatever the model wrote.
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(TodoError::NoTitle);
        }
        let chars = title.chars().count();
        if chars > TITLE_CHARS {
            return Err(TodoError::LongTitle(chars));
        }
        if self.items.len() >= self.limit {
            return Err(TodoError::Full(self.limit));
        }
        self.items.push(Todo { title, status: Status::Open });
        Ok(self.items.len())
    }

    /// Says how far an item is.
    pub fn set(&mut self, number: usize, status: Status) -> Result<(), TodoError> {
        let place = number.checked_sub(1).and_then(|place| self.items.get_mut(place));
        place.ok_or(TodoError::NoSuchItem(number))?.status = status;
        Ok(())
    }

    /// The items, in the order of their numbers.
    pub fn items(&self) -> &[Todo] {
        &self.items
    }

    /// Items that are left to be done, with their numbers.
    pub fn left(&self) -> impl Iterator<Item = (usize, &Todo)> {
        self.numbered().filter(|(_, todo)| todo.status.is_left())
    }

    /// Whether nothing was ever added.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, &Todo)> {
        self.items.iter().enumerate().map(|(place, todo)| (place + 1, todo))
    }
}

/// The list as the model reads it: `1. [open] Write the test`, a line an item.
impl fmt::Display for Todos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.items.is_empty() {
            return f.write_str("The task list is empty.");
        }
        for (number, Todo { title, status }) in self.numbered() {
            let end = if number == self.items.len() { "" } else { "\n" };
            write!(f, "{number}. [{status}] {title}{end}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
