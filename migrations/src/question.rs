//! Questions of a harness to a person, each with one answer at most (ROUTE-12).

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::coding::{AgentStart, CodingTask, PlanApproval, lock_task, put_task};
use crate::store::{read, write};
use crate::text::{day_before, instant, json, optional_instant, storable};
use crate::{AgentKey, Error, Store};

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// An approval of the plan, or words that change it.
    Plan,
    /// Words.
    Question,
}

/// A question that a harness asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuestion {
    /// Made by the harness; a repeated id is stored once.
    pub id: Uuid,
    /// What kind of answer is wanted.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// Possible answers.
    pub options: Vec<String>,
    /// The answer the agent would take.
    pub recommended: Option<String>,
    /// Digest of the plan that is to be approved.
    pub plan_sha256: Option<String>,
}

/// A question as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub asked: NewQuestion,
    /// Start number of the process that asked.
    pub generation: i64,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When its process stopped waiting without an answer: another plan came, or the
    /// task ended.
    pub closed_at: Option<Timestamp>,
    /// Its one answer.
    pub answer: Option<GivenAnswer>,
}

/// An answer that is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAnswer {
    /// What is said.
    pub text: String,
    /// Digest of the plan it speaks of.
    pub plan_sha256: Option<String>,
    /// Whether it approves that plan.
    pub approves: bool,
    /// Subject of the person.
    pub by: String,
}

/// The one answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswer {
    /// What was said.
    pub text: String,
    /// Digest of the plan it speaks of.
    pub plan_sha256: Option<String>,
    /// Subject of the person.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Questions of one agent that may wait at once.
pub const MAX_OPEN_QUESTIONS: i64 = 20;
/// Questions that an agent may ask within a day.
pub const MAX_QUESTIONS_A_DAY: i64 = 200;

const COUNT: &str = "\
    SELECT COUNT(CASE WHEN answered_at IS NULL AND closed_at IS NULL AND generation >= $4 \
    AND kind <> $5 THEN 1 END), COUNT(CASE WHEN asked_at > $6 THEN 1 END) \
    FROM agent_question WHERE namespace = $1 AND agent = $2 AND agent_uid = $3";
const INSERT: &str = "\
    INSERT INTO agent_question (namespace, agent, agent_uid, id, generation, kind, text, options, \
    recommended, plan_sha256, asked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const CLOSE_PLANS: &str = "\
    UPDATE agent_question SET closed_at = $4 WHERE namespace = $1 AND agent = $2 \
    AND agent_uid = $3 AND kind = 'plan' AND answered_at IS NULL AND closed_at IS NULL";
const GET: &str = "\
    SELECT id, generation, kind, text, options, recommended, plan_sha256, asked_at, closed_at, \
    answer, answer_plan_sha256, answered_by, answered_at FROM agent_question \
    WHERE namespace = $1 AND agent = $2 AND agent_uid = $3 AND id = $4";
// A question of an earlier start than the newest known one waits for nobody.
const OPEN: &str = "\
    SELECT id, generation, kind, text, options, recommended, plan_sha256, asked_at, closed_at, \
    answer, answer_plan_sha256, answered_by, answered_at FROM agent_question \
    WHERE namespace = $1 AND agent = $2 AND agent_uid = $3 \
    AND answered_at IS NULL AND closed_at IS NULL AND generation >= $4 \
    AND generation >= (SELECT COALESCE(MAX(coding_task.generation), 0) FROM coding_task \
        WHERE coding_task.namespace = $1 AND coding_task.agent = $2 \
        AND coding_task.agent_uid = $3) \
    ORDER BY asked_at, id";
const ANSWER: &str = "\
    UPDATE agent_question SET answer = $5, answer_plan_sha256 = $6, answered_by = $7, \
    answered_at = $8 WHERE namespace = $1 AND agent = $2 AND agent_uid = $3 AND id = $4";

#[derive(sqlx::FromRow)]
struct QuestionRow {
    id: String,
    generation: i64,
    kind: String,
    text: String,
    options: String,
    recommended: Option<String>,
    plan_sha256: Option<String>,
    asked_at: i64,
    closed_at: Option<i64>,
    answer: Option<String>,
    answer_plan_sha256: Option<String>,
    answered_by: Option<String>,
    answered_at: Option<i64>,
}

impl TryFrom<QuestionRow> for Question {
    type Error = Error;

    fn try_from(row: QuestionRow) -> Result<Self, Error> {
        let unreadable = |what| Error::Unreadable { what };
        let options = json(&row.options)?;
        let options = options.as_array().ok_or_else(|| unreadable("options"))?.iter();
        let options = options
            .map(|option| option.as_str().map(str::to_owned).ok_or_else(|| unreadable("options")))
            .collect::<Result<_, _>>()?;
        let answer = match (row.answer, row.answered_by, row.answered_at) {
            (Some(text), Some(by), Some(at)) => Some(GivenAnswer {
                text,
                plan_sha256: row.answer_plan_sha256,
                by,
                at: instant(at)?,
            }),
            _ => None,
        };
        Ok(Self {
            asked: NewQuestion {
                id: row.id.parse().map_err(|_| unreadable("question id"))?,
                kind: match row.kind.as_str() {
                    "plan" => QuestionKind::Plan,
                    "question" => QuestionKind::Question,
                    _ => return Err(unreadable("question kind")),
                },
                text: row.text,
                options,
                recommended: row.recommended,
                plan_sha256: row.plan_sha256,
            },
            generation: row.generation,
            asked_at: instant(row.asked_at)?,
            closed_at: optional_instant(row.closed_at)?,
            answer,
        })
    }
}

impl QuestionKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Question => "question",
        }
    }
}

impl GivenAnswer {
    /// Whether the answer says what was said before, so that it may be a repeat.
    fn says(&self, answer: &NewAnswer) -> bool {
        self.text.trim() == storable(&answer.text).trim() && self.plan_sha256 == answer.plan_sha256
    }
}

impl Store {
    /// Keeps a question of a harness's, unless it is there already, and gives it as it
    /// stands. A question about a plan must speak of the newest one, and closes those
    /// about earlier ones.
    pub async fn ask_question(
        &self,
        start: &AgentStart,
        question: &NewQuestion,
        now: Timestamp,
    ) -> Result<Question, Error> {
        let failed = |source| Error::statement("ask question", source);
        let row: QuestionRow = write!(self, "ask question", transaction => {
            let before = lock_task!(transaction, "ask question", start, now);
            let known: Option<QuestionRow> = sqlx::query_as(GET)
                .bind(&start.key.namespace)
                .bind(&start.key.agent)
                .bind(&start.uid)
                .bind(question.id.to_string())
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed)?;
            if let Some(known) = known {
                known
            } else {
                let task = before.of(start)?;
                if let Some(sha256) = &question.plan_sha256 {
                    task.check_plan(sha256, &start.key.agent)?;
                }
                // A question about a plan closes those before it.
                let (open, of_one_day): (i64, i64) = sqlx::query_as(COUNT)
                    .bind(&start.key.namespace)
                    .bind(&start.key.agent)
                    .bind(&start.uid)
                    .bind(start.generation)
                    .bind(if question.kind == QuestionKind::Plan { "plan" } else { "" })
                    .bind(day_before(now))
                    .fetch_one(&mut *transaction)
                    .await
                    .map_err(failed)?;
                let of_one_day = (of_one_day, MAX_QUESTIONS_A_DAY, "questions of one day");
                let open = (open, MAX_OPEN_QUESTIONS, "questions that wait");
                for (there, limit, what) in [of_one_day, open] {
                    CodingTask::check_count(start, what, there, limit)?;
                }
                put_task!(transaction, "ask question", start, &task, now);
                if question.kind == QuestionKind::Plan {
                    sqlx::query(CLOSE_PLANS)
                        .bind(&start.key.namespace)
                        .bind(&start.key.agent)
                        .bind(&start.uid)
                        .bind(now.as_microsecond())
                        .execute(&mut *transaction)
                        .await
                        .map_err(failed)?;
                }
                let options = question.options.iter().map(|option| storable(option).into_owned());
                sqlx::query(INSERT)
                    .bind(&start.key.namespace)
                    .bind(&start.key.agent)
                    .bind(&start.uid)
                    .bind(question.id.to_string())
                    .bind(start.generation)
                    .bind(question.kind.as_str())
                    .bind(storable(&question.text))
                    .bind(options.collect::<Value>().to_string())
                    .bind(question.recommended.as_deref().map(storable))
                    .bind(question.plan_sha256.as_deref())
                    .bind(now.as_microsecond())
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?;
                sqlx::query_as(GET)
                    .bind(&start.key.namespace)
                    .bind(&start.key.agent)
                    .bind(&start.uid)
                    .bind(question.id.to_string())
                    .fetch_one(&mut *transaction)
                    .await
                    .map_err(failed)?
            }
        });
        row.try_into()
    }

    /// One question of this agent's.
    pub async fn question(
        &self,
        key: &AgentKey,
        uid: &str,
        id: Uuid,
    ) -> Result<Option<Question>, Error> {
        let row: Option<QuestionRow> = read!(self, "read question", pool => sqlx::query_as(GET)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(uid)
            .bind(id.to_string())
            .fetch_optional(pool))?;
        row.map(Question::try_from).transpose()
    }

    /// The questions that wait for an answer, oldest first: those of the newest start,
    /// which is `last_start` or a later one that has reported.
    pub async fn open_questions(
        &self,
        key: &AgentKey,
        uid: &str,
        last_start: i64,
    ) -> Result<Vec<Question>, Error> {
        let rows: Vec<QuestionRow> = read!(self, "list questions", pool => sqlx::query_as(OPEN)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(uid)
            .bind(last_start)
            .fetch_all(pool))?;
        rows.into_iter().map(Question::try_from).collect()
    }

    /// Keeps the one answer to a question, and with it the approval of a plan, both or
    /// neither. An answer that says the same as the first changes nothing and gives the
    /// first; any other is refused.
    pub async fn answer_question(
        &self,
        start: &AgentStart,
        id: Uuid,
        answer: &NewAnswer,
        now: Timestamp,
    ) -> Result<Question, Error> {
        let failed = |source| Error::statement("answer question", source);
        let row: QuestionRow = write!(self, "answer question", transaction => {
            // The task first, as everybody else takes it first.
            let mut task = lock_task!(transaction, "answer question", start, now);
            let row: Option<QuestionRow> = sqlx::query_as(GET)
                .bind(&start.key.namespace)
                .bind(&start.key.agent)
                .bind(&start.uid)
                .bind(id.to_string())
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed)?;
            let Some(row) = row else { return Err(Error::UnknownQuestion { id }) };
            let question = Question::try_from(row)?;
            if let Some(given) = &question.answer {
                if !given.says(answer) {
                    return Err(Error::AlreadyAnswered { id });
                }
            } else {
                let newest = task.generation.max(start.generation);
                if question.closed_at.is_some() || question.generation < newest {
                    return Err(Error::QuestionClosed { id });
                }
                if let Some(sha256) = &answer.plan_sha256 {
                    if question.asked.plan_sha256.as_ref() != Some(sha256) {
                        return Err(Error::PlanChanged { agent: start.key.agent.clone() });
                    }
                    task.check_plan(sha256, &start.key.agent)?;
                    if answer.approves {
                        task.approval =
                            Some(PlanApproval { sha256: sha256.clone(), by: answer.by.clone() });
                    }
                }
                put_task!(transaction, "answer question", start, &task, now);
                sqlx::query(ANSWER)
                    .bind(&start.key.namespace)
                    .bind(&start.key.agent)
                    .bind(&start.uid)
                    .bind(id.to_string())
                    .bind(storable(&answer.text))
                    .bind(answer.plan_sha256.as_deref())
                    .bind(storable(&answer.by))
                    .bind(now.as_microsecond())
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?;
            }
            sqlx::query_as(GET)
                .bind(&start.key.namespace)
                .bind(&start.key.agent)
                .bind(&start.uid)
                .bind(id.to_string())
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed)?
        });
        row.try_into()
    }
}
