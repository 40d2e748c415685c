//! Secrets and guesses against plain equality, and each rule for what may be a secret against its words.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate::{CredentialError, Credentials, LONGEST_SECRET, LONGEST_SERVICE, Presented, SHORTEST_SECRET};

#[derive(Arbitrary, Debug)]
struct Input {
    secrets: Vec<(String, Text)>,
    guesses: Vec<Guess>,
}

/// Bytes of lengths around those that matter.
#[derive(Arbitrary, Debug)]
enum Text {
    Any(Vec<u8>),
    Long(u8, u8),
}

#[derive(Arbitrary, Debug)]
enum Guess {
    Absent,
    Any(Text),
    /// A secret with one byte changed, cut or padded to another length.
    Near {
        which: u8,
        at: u8,
        flip: u8,
        length: Option<u8>,
    },
}

const PLACES: usize = 3;

fuzz_target!(|input: Input| {
    let mut own = Credentials::<PLACES>::new();
    let mut oracle: Vec<(String, Vec<u8>)> = Vec::new();
    for (service, text) in &input.secrets {
        let secret = text.bytes();
        let expected = verdict(&oracle, service, &secret);
        assert_eq!(own.add(service, &secret), expected);
        if expected.is_ok() {
            oracle.push((service.clone(), secret));
        }
    }
    assert_eq!((own.len(), own.is_empty()), (oracle.len(), oracle.is_empty()));
    for guess in &input.guesses {
        let guess = guess.bytes(&oracle);
        let known = oracle.iter().find(|(_, secret)| Some(secret) == guess.as_ref());
        match own.verify(guess.as_deref()) {
            Presented::Absent => assert!(guess.is_none()),
            Presented::Forged => assert!(guess.is_some() && known.is_none()),
            Presented::Service(service) => {
                assert_eq!(Some(own.name(service)), known.map(|(name, _)| name.as_str()));
            }
        }
    }
});

/// What adding a secret is answered, by the documented order of the rules.
fn verdict(oracle: &[(String, Vec<u8>)], service: &str, secret: &[u8]) -> Result<(), CredentialError> {
    let length = secret.len();
    let blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    if service.is_empty() || service.len() > LONGEST_SERVICE {
        Err(CredentialError::ServiceName)
    } else if length == 0 {
        Err(CredentialError::Empty)
    } else if length < SHORTEST_SECRET {
        Err(CredentialError::TooShort { length })
    } else if length > LONGEST_SECRET {
        Err(CredentialError::TooLong { length })
    } else if blank(secret.first()) || blank(secret.last()) {
        Err(CredentialError::WhiteSpace)
    } else if oracle.iter().any(|(_, known)| known == secret) {
        Err(CredentialError::Duplicate)
    } else if oracle.len() == PLACES {
        Err(CredentialError::Full { capacity: PLACES })
    } else {
        Ok(())
    }
}

impl Text {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Any(bytes) => bytes.clone(),
            Self::Long(byte, length) => vec![*byte; usize::from(*length)],
        }
    }
}

impl Guess {
    fn bytes(&self, secrets: &[(String, Vec<u8>)]) -> Option<Vec<u8>> {
        match self {
            Self::Absent => None,
            Self::Any(text) => Some(text.bytes()),
            &Self::Near { which, at, flip, length } => {
                let (_, secret) = secrets.get(usize::from(which) % secrets.len().max(1))?;
                let mut guess = secret.clone();
                let at = usize::from(at) % guess.len();
                guess[at] ^= flip;
                if let Some(length) = length {
                    guess.resize(length.into(), 0);
                }
                Some(guess)
            }
        }
    }
}
