use std::env;
use std::fmt;

use axum::http::HeaderValue;

/// The internal token.
pub(crate) struct Token {
    bytes: Vec<u8>,
    new: bool,
}

impl Token {
    /// The token that `INTERNAL_TOKEN` names, or a new one of 32 random bytes.
    pub(crate) fn from_environment() -> Result<Self, TokenError> {
        if let Some(named) = env::var_os("INTERNAL_TOKEN") {
            return Ok(Self { bytes: named.into_encoded_bytes(), new: false });
        }
        let random = || {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map(|()| u128::from_ne_bytes(bytes)).map_err(TokenError::NoRandomness)
        };
        let hex = format!("{:032x}{:032x}", random()?, random()?);
        Ok(Self { bytes: hex.into_bytes(), new: true })
    }

    pub(crate) fn is_new(&self) -> bool {
        self.new
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The token as a field's value, which it can be if a gate takes it.
    pub(crate) fn value(&self) -> Result<HeaderValue, TokenError> {
        HeaderValue::from_bytes(&self.bytes).map_err(|_| TokenError::NoField)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes.escape_ascii())
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the operating system gives no random numbers ({0}): set INTERNAL_TOKEN instead")]
    NoRandomness(#[from] getrandom::Error),
    #[error("no header can carry it: use printable characters")]
    NoField,
}
