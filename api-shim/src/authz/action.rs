//! What can be asked, in the words of `policies/schema.cedarschema`.

use std::fmt;

use prometheus_client::encoding::EncodeLabelValue;

/// An action of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Action {
    WhoAmI,
    ReadCatalog,
    ListAgents,
    CreateAgent,
    ReadAgent,
    ListChildren,
    ReadRuns,
    ReadLogs,
    ReadMemories,
    ReadThoughts,
    ReadUsage,
    EditAgent,
    StartAgent,
    StopAgent,
    RestartAgent,
    ExpireAgent,
    ArchiveAgent,
    RecordWake,
    Remember,
    CallModel,
    DeleteMemory,
    PollInbox,
    RecordRun,
    AppendLogs,
    SendHeartbeat,
    ListCodingRuns,
    ReadCodingRun,
    SpawnCodingAgent,
    SavePlan,
    ReadPlan,
    AskQuestion,
    PollAnswer,
    ReadQuestions,
    AnswerQuestion,
    ReportCoding,
    ReadQueueErrors,
    ReadSwarms,
    SpawnSwarm,
    DismissSwarm,
}

/// What an action is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The caller's workspace.
    Workspace,
    /// One agent, to read it.
    AgentRead,
    /// One agent, to change it.
    AgentChange,
    /// One agent, as its own process.
    AgentReport,
    /// One coding run, to read it.
    RunRead,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 39] = [
        Self::WhoAmI,
        Self::ReadCatalog,
        Self::ListAgents,
        Self::CreateAgent,
        Self::ReadAgent,
        Self::ListChildren,
        Self::ReadRuns,
        Self::ReadLogs,
        Self::ReadMemories,
        Self::ReadThoughts,
        Self::ReadUsage,
        Self::EditAgent,
        Self::StartAgent,
        Self::StopAgent,
        Self::RestartAgent,
        Self::ExpireAgent,
        Self::ArchiveAgent,
        Self::RecordWake,
        Self::Remember,
        Self::CallModel,
        Self::DeleteMemory,
        Self::PollInbox,
        Self::RecordRun,
        Self::AppendLogs,
        Self::SendHeartbeat,
        Self::ListCodingRuns,
        Self::ReadCodingRun,
        Self::SpawnCodingAgent,
        Self::SavePlan,
        Self::ReadPlan,
        Self::AskQuestion,
        Self::PollAnswer,
        Self::ReadQuestions,
        Self::AnswerQuestion,
        Self::ReportCoding,
        Self::ReadQueueErrors,
        Self::ReadSwarms,
        Self::SpawnSwarm,
        Self::DismissSwarm,
    ];

    /// What this action is asked of.
    pub fn scope(self) -> Scope {
        match self {
            Self::WhoAmI
            | Self::ReadCatalog
            | Self::ListAgents
            | Self::CreateAgent
            | Self::ListCodingRuns => Scope::Workspace,
            Self::ReadCodingRun => Scope::RunRead,
            Self::ReadAgent
            | Self::ListChildren
            | Self::ReadRuns
            | Self::ReadLogs
            | Self::ReadMemories
            | Self::ReadThoughts
            | Self::ReadUsage
            | Self::ReadPlan
            | Self::ReadQuestions
            | Self::ReadSwarms => Scope::AgentRead,
            Self::EditAgent
            | Self::StartAgent
            | Self::StopAgent
            | Self::RestartAgent
            | Self::ExpireAgent
            | Self::ArchiveAgent
            | Self::RecordWake
            | Self::Remember
            | Self::CallModel
            | Self::DeleteMemory
            | Self::SpawnCodingAgent
            | Self::AnswerQuestion
            | Self::SpawnSwarm
            | Self::DismissSwarm => Scope::AgentChange,
            Self::PollInbox
            | Self::RecordRun
            | Self::AppendLogs
            | Self::SendHeartbeat
            | Self::SavePlan
            | Self::AskQuestion
            | Self::PollAnswer
            | Self::ReportCoding
            | Self::ReadQueueErrors => Scope::AgentReport,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
