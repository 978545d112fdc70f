//! Pages of lists that run from the newest row back.

use jiff::Timestamp;

use crate::Error;
use crate::text::instant;

/// Most rows in one page.
pub const MAX_PAGE: u32 = 200;

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Rows wanted; at least 1 and at most [`MAX_PAGE`] are given.
    pub limit: u32,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows, newest first.
    pub items: Vec<T>,
    /// Where the next page starts; absent on the last. Opaque to callers.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// The same page of other items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next_cursor: self.next_cursor }
    }
}

/// The row that a page starts after: its instant and id.
pub(crate) struct Place {
    pub(crate) micros: i64,
    pub(crate) id: String,
}

impl PageRequest {
    pub(crate) fn place(&self) -> Result<Place, Error> {
        let Some(cursor) = &self.cursor else {
            return Ok(Place { micros: i64::MAX, id: String::new() });
        };
        let (micros, id) = cursor.split_once('.').ok_or(Error::Cursor)?;
        let micros = micros.parse().map_err(|_| Error::Cursor)?;
        instant(micros).map_err(|_| Error::Cursor)?;
        Ok(Place { micros, id: id.replace('\0', "") })
    }

    pub(crate) fn rows(&self) -> usize {
        self.limit.clamp(1, MAX_PAGE) as usize
    }

    /// One row more than the page holds, to know whether another page follows.
    pub(crate) fn rows_to_read(&self) -> i64 {
        i64::from(self.limit.clamp(1, MAX_PAGE)) + 1
    }

    pub(crate) fn page<T>(
        &self,
        mut items: Vec<T>,
        place_of: impl Fn(&T) -> (Timestamp, &str),
    ) -> Page<T> {
        let more = items.len() > self.rows();
        items.truncate(self.rows());
        let next_cursor = items.last().filter(|_| more).map(|item| {
            let (at, id) = place_of(item);
            format!("{}.{id}", at.as_microsecond())
        });
        Page { items, next_cursor }
    }
}
