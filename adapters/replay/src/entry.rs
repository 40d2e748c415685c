use tollgate::{Keyer, Nanos, Origin, Origins};

use crate::own::Owns;
use crate::record::{Record, Wanted};
use crate::reorder::Timed;

/// What is kept of a request until it is decided: no text, so that much traffic can wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When it was made, since 1970.
    pub time: Nanos,
    /// A fingerprint of the user agent, a hint of who is behind an address.
    pub hint: u64,
    /// Who made it.
    pub caller: Origin,
    /// Which service of one's own made it.
    pub own: Option<u8>,
    /// How it fared with internal routes.
    pub conduct: Conduct,
}

/// How a request fared with the routes that are for one's own services alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Conduct {
    /// It did not go there.
    Public,
    /// It went there and was let in.
    Internal,
    /// It went there and was refused with 401 or 403.
    Denied,
}

impl Timed for Entry {
    fn time(&self) -> Nanos {
        self.time
    }
}

/// What is known about a log's requests beside the log: who speaks for whom, and what is one's own.
#[derive(Clone, Debug)]
pub struct Eyes {
    /// How callers are found.
    pub origins: Origins,
    /// The field that names callers behind proxies, if one is read.
    pub forwarded: Option<String>,
    /// The services of one's own.
    pub owns: Owns,
    /// What the paths of internal routes begin with.
    pub internal: Vec<String>,
    /// Makes fingerprints.
    pub keyer: Keyer,
}

impl Eyes {
    /// What to look for in lines.
    pub fn wanted(&self) -> Wanted {
        Wanted { forwarded: self.forwarded.clone(), fields: self.owns.fields().to_vec() }
    }

    /// What is kept of a record.
    ///
    /// # Security
    /// Callers are found as [`Origins`] find them: only who is trusted is believed.
    pub fn entry(&self, record: &Record<'_>) -> Entry {
        let caller = self.origins.origin(record.peer, record.forwarded.as_deref());
        let is_internal = self.internal.iter().any(|prefix| record.path.starts_with(prefix.as_bytes()));
        let conduct = match record.status {
            _ if !is_internal => Conduct::Public,
            401 | 403 => Conduct::Denied,
            _ => Conduct::Internal,
        };
        Entry {
            time: record.time,
            hint: self.keyer.bytes(record.agent).fingerprint(),
            own: self.owns.whose(&caller, record),
            caller,
            conduct,
        }
    }
}
