//! Other coding agents, as they were measured once, side by side on two cores with the
//! same scripted model: 50 turns of one `echo`, and 200 turns of 2 KB. They are quoted
//! here, and not measured again.

use serde::Serialize;

/// One of them.
#[derive(Serialize)]
pub struct Peer {
    pub name: &'static str,
    /// MB on disk.
    pub installed: &'static str,
    /// Seconds from exec to the first request.
    pub first: &'static str,
    /// Bytes and tools of the first request.
    pub request: &'static str,
    /// Gap p50 and peak resident memory over 50 turns.
    pub turns_50: &'static str,
    /// The same over 200 turns of 2 KB.
    pub turns_200: &'static str,
}

/// All of them.
pub const MEASURED: &[Peer] = &[
    Peer {
        name: "codex",
        installed: "315",
        first: "0.25-0.37",
        request: "40.5 KB, 9",
        turns_50: "63 ms, 155 MB",
        turns_200: "61 ms, 160 MB",
    },
    Peer {
        name: "pi",
        installed: "195",
        first: "0.9-1.3",
        request: "5.5 KB, 4",
        turns_50: "12.7 ms, 174 MB",
        turns_200: "32 ms, 295 MB",
    },
    Peer {
        name: "opencode",
        installed: "185",
        first: "2.1-3.3",
        request: "30.7 KB, 10",
        turns_50: "292 ms, 753-885 MB",
        turns_200: "414 ms, 927 MB",
    },
    Peer {
        name: "mini-swe-agent",
        installed: "754",
        first: "2.9-5.8",
        request: "3.3 KB, 1",
        turns_50: "34-40 ms, 228 MB",
        turns_200: "66 ms, 234 MB",
    },
    Peer {
        name: "qwen-code",
        installed: "55",
        first: "1.9-2.2",
        request: "78.5 KB, 15",
        turns_50: "61 ms, 788 MB",
        turns_200: "-",
    },
];
