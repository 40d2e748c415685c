//! Who calls, from where, and how much.

use std::net::Ipv4Addr;

use axum::http::{HeaderValue, Method};

use crate::api::APPS;
use crate::client::Call;

/// One kind of caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The edge: looks up domains and checks access to previews for every visitor.
    Edge,
    /// The orchestrator: saves the progress of every running turn.
    Orchestrator,
    /// An ordinary person.
    Person,
    /// A script that takes all it can get.
    Scraper,
    /// Somebody who makes up tokens.
    Forger,
}

pub(crate) const ROLES: [Role; 5] =
    [Role::Edge, Role::Orchestrator, Role::Person, Role::Scraper, Role::Forger];

const LOOKUPS_OF_A_VISITOR: usize = 12;
const SAVES_OF_A_TURN: usize = 12;
/// How many connections somebody opens who wants a lot.
const CONNECTIONS: usize = 8;

/// What one role does: addresses, at each of them some tasks at once, in each of them requests one after another.
pub(crate) struct Part {
    pub(crate) addresses: u8,
    pub(crate) tasks: usize,
    pub(crate) requests: usize,
}

/// Where one request comes from within its role.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) address: u8,
    pub(crate) task: usize,
    pub(crate) request: usize,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Edge => "edge, 60 visitors",
            Self::Orchestrator => "orchestrator, 40 turns",
            Self::Person => "50 people",
            Self::Scraper => "scraper",
            Self::Forger => "forger",
        }
    }

    /// Whether it is the platform's own.
    pub(crate) fn is_internal(self) -> bool {
        matches!(self, Self::Edge | Self::Orchestrator)
    }

    /// A person makes 20 requests, or as many as a lower limit allows it: it is not people who exceed limits here.
    pub(crate) fn part(self, limit: u32) -> Part {
        let (addresses, tasks, requests) = match self {
            Self::Edge => (3, 20, 2 * LOOKUPS_OF_A_VISITOR),
            Self::Orchestrator => (1, 40, SAVES_OF_A_TURN),
            Self::Person => (50, 1, limit.min(20) as usize),
            Self::Scraper => (1, CONNECTIONS, 3_000 / CONNECTIONS),
            Self::Forger => (1, CONNECTIONS, 600 / CONNECTIONS),
        };
        Part { addresses, tasks, requests }
    }

    pub(crate) fn address(self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, 10 * (1 + self as u8), 0, 1 + number)
    }

    /// The request at a place of its part. Our own services present the internal token in both acts.
    pub(crate) fn call(self, place: Place, token: &HeaderValue) -> Call {
        let Place { address, task, request } = place;
        let app = (usize::from(address) * 20 + task) % APPS;
        let get = |path| Call { method: Method::GET, path, token: None, body: "" };
        let own = || Some(token.clone());
        match self {
            Self::Edge if request % 2 == 0 => {
                Call { token: own(), ..get(format!("/internal/domains/app-{app}.example")) }
            }
            Self::Edge => Call { token: own(), ..get(format!("/internal/previews/preview-{app}/access")) },
            Self::Orchestrator => Call {
                method: Method::PUT,
                path: format!("/internal/turns/turn-{task}"),
                token: own(),
                body: "what the turn has done so far",
            },
            Self::Person | Self::Scraper => get("/".into()),
            Self::Forger => {
                let path = if request % 2 == 0 {
                    "/".into()
                } else {
                    format!("/internal/domains/app-{app}.example")
                };
                let made_up = format!("made-up token, number {:016}", task * 1_000 + request);
                Call { token: HeaderValue::try_from(made_up).ok(), ..get(path) }
            }
        }
    }
}
