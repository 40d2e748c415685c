use std::fmt;

use serde_json::Value;

use crate::sound;

/// A whole response, which has been found to be sound.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Names in lower case, in the order received.
    fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The fields that tell of limits, those of both styles.
pub(crate) const TOLD: [&str; 6] = [
    "ratelimit-policy",
    "ratelimit",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

impl Reply {
    /// # Panics
    /// If anything in it is not as every response's has to be.
    pub(crate) fn new(status: u16, fields: Vec<(String, String)>, body: Vec<u8>) -> Self {
        let reply = Self { status, fields, body };
        if let Err(fault) = sound::check(&reply) {
            panic!("{fault}, in the response {reply:?}");
        }
        reply
    }

    /// All lines of a field.
    pub(crate) fn lines(&self, name: &str) -> Vec<&str> {
        let lines = self.fields.iter().filter(|(given, _)| given == name);
        lines.map(|(_, value)| value.as_str()).collect()
    }

    /// The one line of a field.
    #[track_caller]
    pub(crate) fn line(&self, name: &str) -> &str {
        match self.lines(name)[..] {
            [line] => line,
            ref lines => panic!("there are {} lines {name}, in the response {self:?}", lines.len()),
        }
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether nothing is said of limits.
    pub(crate) fn tells_nothing(&self) -> bool {
        self.fields().all(|(name, _)| !TOLD.contains(&name))
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}, in the response {self:?}"))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for (name, value) in self.fields() {
            write!(f, " | {name}: {value}")?;
        }
        write!(f, " | {:?}", String::from_utf8_lossy(&self.body))
    }
}
