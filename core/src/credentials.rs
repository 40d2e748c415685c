use core::error::Error;
use core::fmt;
use core::hint::black_box;

use constant_time_eq::constant_time_eq_n;
use heapless::{String, Vec};
use zeroize::optimization_barrier;

/// Secrets that name your own services; whoever presents one is exempt.
///
/// Up to `N` secrets are valid at once, and several may name one service, so that a secret can be rotated
/// without an outage: add the new one, move the service over, drop the old one.
///
/// ```
/// use tollgate::{Credentials, Presented};
/// let own = Credentials::<4>::new()
///     .with("edge", b"an edge secret of 16 bytes or more")?
///     .with("orchestrator", b"another secret of 16 bytes or more")?;
/// assert_eq!(own.verify(None), Presented::Absent);
/// assert_eq!(own.verify(Some(b"made up")), Presented::Forged);
/// let Presented::Service(service) = own.verify(Some(b"another secret of 16 bytes or more")) else { panic!() };
/// assert_eq!(own.name(service), "orchestrator");
/// # Ok::<(), tollgate::CredentialError>(())
/// ```
///
/// # Cost
/// A check compares the fixed buffer of each secret, 136 bytes, whole, whatever is presented; a request that
/// presents nothing costs nothing.
///
/// # Security
/// Secrets are wiped when this is dropped and have no `Debug`. Moving the value leaves copies on the stack, as
/// every move in Rust does: build it once and share it.
pub struct Credentials<const N: usize> {
    secrets: Vec<Secret, N>,
}

/// What a request presented as its credential.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a credential that was checked and not heeded exempts nobody"]
pub enum Presented {
    /// Nothing, which is what ordinary callers present.
    Absent,
    /// Something that is no secret of ours; it buys nothing.
    Forged,
    /// The secret of one of our services.
    Service(Service),
}

/// Proof that a request carried the secret of one of our services. Only [`Credentials::verify`] makes one.
///
/// ```compile_fail
/// let forged = tollgate::Service { slot: 0, check: 0 };
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Service {
    slot: u8,
    /// A checksum of the name, so that other credentials don't take it for a service of theirs.
    check: u32,
}

impl Service {
    const fn new(slot: u8, name: &str) -> Self {
        // FNV-1a (Fowler, Noll and Vo), which is short; nobody attacks it, since names are the operator's.
        let (mut check, mut at, bytes) = (0x811c_9dc5_u32, 0, name.as_bytes());
        while at < bytes.len() {
            check = (check ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Self { slot, check }
    }
}

/// The longest secret, in bytes.
pub const LONGEST_SECRET: usize = 128;
/// The shortest secret, in bytes: 128 bits, if they are random.
pub const SHORTEST_SECRET: usize = 16;
/// The longest name of a service, in bytes.
pub const LONGEST_SERVICE: usize = 32;

impl<const N: usize> Credentials<N> {
    /// No secrets: everybody is counted.
    pub const fn new() -> Self {
        const { assert!(N <= u8::MAX as usize, "Credentials hold at most 255 secrets: choose a smaller N") };
        Self { secrets: Vec::new() }
    }

    /// The same with one secret more; see [`Credentials::add`].
    ///
    /// # Errors
    /// Those of [`Credentials::add`].
    pub fn with(mut self, service: &str, secret: &[u8]) -> Result<Self, CredentialError> {
        self.add(service, secret)?;
        Ok(self)
    }

    /// Adds a secret for `service`, a name of 1 to 32 bytes.
    ///
    /// # Errors
    /// If the secret is empty, shorter than 16 or longer than 128 bytes, begins or ends with white space (the
    /// trace of a file's last newline; no header can carry it), is there already, or if `N` are there.
    pub fn add(&mut self, service: &str, secret: &[u8]) -> Result<(), CredentialError> {
        let name = String::try_from(service).map_err(|_| CredentialError::ServiceName)?;
        if name.is_empty() {
            return Err(CredentialError::ServiceName);
        }
        match secret.len() {
            0 => return Err(CredentialError::Empty),
            length @ 1..SHORTEST_SECRET => return Err(CredentialError::TooShort { length }),
            SHORTEST_SECRET..=LONGEST_SECRET => {}
            length => return Err(CredentialError::TooLong { length }),
        }
        if secret.trim_ascii().len() != secret.len() {
            return Err(CredentialError::WhiteSpace);
        }
        let mut padded = Padded::empty();
        padded.fill(secret);
        if self.secrets.iter().any(|known| known.padded.same(&padded)) {
            return Err(CredentialError::Duplicate);
        }
        let slot = self.secrets.iter().position(|known| known.name == name).unwrap_or(self.secrets.len());
        // `new` has checked that N fits.
        let service = Service::new(u8::try_from(slot).unwrap_or(u8::MAX), &name);
        self.secrets.push(Secret { name, service, padded }).map_err(|_| CredentialError::Full { capacity: N })
    }

    /// Whether `presented` is one of the secrets.
    ///
    /// Every secret is compared whole every time, length included, so the time taken tells neither how much of
    /// a guess is right nor which secret it resembles.
    ///
    /// # Security
    /// Pass `None` only where the request carries no credential field. A request that carries two is not to be
    /// trusted: pass an empty slice, which is no secret and so is forged.
    pub fn verify(&self, presented: Option<&[u8]>) -> Presented {
        let Some(presented) = presented else { return Presented::Absent };
        let mut padded = Padded::empty();
        padded.fill(presented);
        // At most one secret matches, since duplicates are refused. A look-up of the one that does would take longer.
        let (mut found, mut service) = (0, Service { slot: 0, check: 0 });
        for secret in &self.secrets {
            let matches = black_box(u8::from(secret.padded.same(&padded)));
            found |= matches;
            service.slot |= matches.wrapping_neg() & secret.service.slot;
            service.check |= u32::from(matches).wrapping_neg() & secret.service.check;
        }
        if found == 0 { Presented::Forged } else { Presented::Service(service) }
    }

    /// The name of a service that [`Credentials::verify`] identified; empty if other credentials did.
    pub fn name(&self, service: Service) -> &str {
        let secret = self.secrets.get(usize::from(service.slot));
        secret.filter(|secret| secret.service == service).map_or("", |secret| secret.name.as_str())
    }

    /// How many secrets are valid.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Whether there is no secret, so that nobody is exempt.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }
}

impl<const N: usize> Default for Credentials<N> {
    fn default() -> Self {
        Self::new()
    }
}

struct Secret {
    name: String<LONGEST_SERVICE>,
    /// Its slot is that of the first secret with this name.
    service: Service,
    padded: Padded,
}

/// Bytes padded with zeroes to a fixed size, their length behind them: without the length, the padding would
/// make `secret` equal `secret\0`.
struct Padded([u8; PADDED]);

const PADDED: usize = LONGEST_SECRET + 8;

impl Padded {
    const fn empty() -> Self {
        Self([0; PADDED])
    }

    /// Puts bytes where there are none, in place: a move would leave a copy of them behind, for each request.
    #[inline]
    fn fill(&mut self, bytes: &[u8]) {
        let (text, length) = self.0.split_at_mut(LONGEST_SECRET);
        text.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        length.iter_mut().zip((bytes.len() as u64).to_le_bytes()).for_each(|(to, from)| *to = from);
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        constant_time_eq_n(&self.0, &other.0)
    }
}

impl Drop for Padded {
    fn drop(&mut self) {
        // In one piece; byte by byte, as `zeroize` would, is a third of what a verification takes.
        self.0 = [0; PADDED];
        optimization_barrier(&self.0);
    }
}

/// Why a secret can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CredentialError {
    /// The secret is empty, so every request would carry it.
    Empty,
    /// The secret is too short to be safe from guessing.
    TooShort {
        /// Its length in bytes.
        length: usize,
    },
    /// The secret does not fit the fixed buffer.
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The secret begins or ends with white space.
    WhiteSpace,
    /// The secret is there already.
    Duplicate,
    /// All places are taken.
    Full {
        /// How many there are.
        capacity: usize,
    },
    /// The service's name is empty or longer than 32 bytes.
    ServiceName,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the secret is empty: set it, or leave the service out"),
            Self::TooShort { length } => write!(
                f,
                "the secret has {length} bytes: use at least {SHORTEST_SECRET}, for example `openssl rand -hex 32`"
            ),
            Self::TooLong { length } => {
                write!(f, "the secret has {length} bytes: use at most {LONGEST_SECRET}")
            }
            Self::WhiteSpace => f.write_str(
                "the secret begins or ends with white space, often a file's last newline: trim it where it is read",
            ),
            Self::Duplicate => f.write_str("the secret is there already: give each service a secret of its own"),
            Self::Full { capacity } => {
                write!(f, "all {capacity} places are taken: drop a retired secret or use a larger Credentials<N>")
            }
            Self::ServiceName => write!(f, "the service's name must have 1 to {LONGEST_SERVICE} bytes"),
        }
    }
}

impl Error for CredentialError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    const EDGE: &[u8] = b"edge secret, 21 bytes";
    const TURN: &[u8] = b"orchestrator secret, 30 bytes.";

    fn own() -> Credentials<3> {
        Credentials::new().with("edge", EDGE).unwrap().with("orchestrator", TURN).unwrap()
    }

    #[test]
    fn names_the_service_behind_a_secret() {
        let own = own();
        for (secret, name) in [(EDGE, "edge"), (TURN, "orchestrator")] {
            let Presented::Service(service) = own.verify(Some(secret)) else { panic!("{name} is not known") };
            assert_eq!(own.name(service), name);
        }
    }

    #[test]
    fn other_credentials_don_t_name_it() {
        let theirs = Credentials::<1>::new().with("partner", b"a partner's secret, 28 bytes").unwrap();
        let Presented::Service(partner) = theirs.verify(Some(b"a partner's secret, 28 bytes")) else {
            panic!()
        };
        assert_eq!((theirs.name(partner), own().name(partner)), ("partner", ""));
    }

    // Each place, each order: what one secret matched must not be lost or mixed with what another did not.
    #[test]
    fn every_secret_of_many_names_its_service() {
        let secret = |at: usize| [b"abcdefgh"[at]; 20];
        let names = ["a", "b", "c", "d", "a", "e", "c", "f"];
        let mut own = Credentials::<8>::new();
        names.iter().enumerate().for_each(|(at, name)| own.add(name, &secret(at)).unwrap());
        for (at, name) in names.into_iter().enumerate() {
            let Presented::Service(service) = own.verify(Some(&secret(at))) else {
                panic!("secret {at} is not known")
            };
            assert_eq!(own.name(service), name);
        }
    }

    #[test]
    fn rotation_keeps_the_service() {
        let own = own().with("edge", b"the edge's next secret").unwrap();
        assert_eq!(own.verify(Some(EDGE)), own.verify(Some(b"the edge's next secret")));
        assert_ne!(own.verify(Some(EDGE)), own.verify(Some(TURN)));
    }

    // Abuse 12: an empty or unset secret exempts nobody.
    #[test]
    fn without_secrets_everybody_is_counted() {
        let none = Credentials::<0>::new();
        assert_eq!(none.verify(None), Presented::Absent);
        for guess in [&b""[..], b"\0", &[0; LONGEST_SECRET], &[0; PADDED], EDGE] {
            assert_eq!(none.verify(Some(guess)), Presented::Forged);
            assert_eq!(own().verify(Some(guess)) == Presented::Forged, guess != EDGE);
        }
    }

    #[test]
    fn unusable_secrets_are_refused_with_advice() {
        let mut own = own();
        let long = [b'x'; LONGEST_SECRET + 1];
        for (secret, error) in [
            (&b""[..], CredentialError::Empty),
            (b"fifteen bytes..", CredentialError::TooShort { length: 15 }),
            (&long, CredentialError::TooLong { length: 129 }),
            (b"a secret from a file\n", CredentialError::WhiteSpace),
            (b" a secret with a space", CredentialError::WhiteSpace),
            (EDGE, CredentialError::Duplicate),
        ] {
            assert_eq!(own.add("third", secret), Err(error));
        }
        assert_eq!(own.add("", b"a good secret of 26 bytes."), Err(CredentialError::ServiceName));
        assert_eq!(
            own.add(&"x".repeat(33), b"a good secret of 26 bytes."),
            Err(CredentialError::ServiceName)
        );
        own.add("third", &long[..LONGEST_SECRET]).unwrap();
        assert_eq!(
            own.add("fourth", b"one more than there is room"),
            Err(CredentialError::Full { capacity: 3 })
        );
        assert!(CredentialError::TooShort { length: 15 }.to_string().contains("at least 16"));
    }

    #[test]
    fn padding_and_overlong_guesses_match_nothing() {
        let own = own();
        let mut padded = EDGE.to_vec();
        for _ in 0..300 {
            padded.push(0);
            assert_eq!(own.verify(Some(&padded)), Presented::Forged);
        }
        let mut full = Credentials::<1>::new();
        full.add("x", &[b'x'; LONGEST_SECRET]).unwrap();
        assert_eq!(full.verify(Some(&[b'x'; LONGEST_SECRET + 1])), Presented::Forged);
    }

    proptest! {
        // The oracle is plain equality.
        #[test]
        fn agrees_with_plain_equality(edit in prop::option::of((0usize..30, any::<u8>())), cut in 0usize..=30) {
            let mut guess = TURN[..cut].to_vec();
            if let Some((at, byte)) = edit && let Some(place) = guess.get_mut(at) {
                *place = byte;
            }
            let exempt = matches!(own().verify(Some(&guess)), Presented::Service(_));
            prop_assert_eq!(exempt, guess == TURN);
        }
    }
}
