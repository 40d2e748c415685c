use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate::{BoxedLimiter, Credentials, Keyer, Overflow, Quota};

use crate::answer::{RefusalBody, Wording};
use crate::clock::{Clock, Ticker};
use crate::credential::{CredentialField, MOST_SECRETS};
use crate::error::GateError;
use crate::gate::Gate;
use crate::mode::Mode;
use crate::policy::Policy;
use crate::upkeep::Upkeep;

/// Settings of a [`Gate`]. Nothing but the quota has to be set.
///
/// ```
/// use tollgate_http::{Gate, Quota};
///
/// let error = Gate::builder(Quota::per_minute(300)).service("edge", "").build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"service "edge": the secret is empty: set it, or leave the service out"#,
/// );
/// ```
#[must_use = "a builder decides nothing: call build()"]
pub struct GateBuilder {
    quota: Quota,
    capacity: usize,
    overflow: Overflow,
    credentials: Box<Credentials<MOST_SECRETS>>,
    field: CredentialField,
    keyer: Option<Keyer>,
    clock: Clock,
    mode: Mode,
    policy_name: String,
    body: RefusalBody,
    /// The first thing that was wrong, for `build` to tell.
    wrong: Option<GateError>,
}

const DEFAULT_CAPACITY: usize = 65_536;
const DEFAULT_HEADER: &str = "x-internal-token";
const DEFAULT_POLICY_NAME: &str = "default";

impl Gate {
    /// Begins a gate that holds each caller to `quota`.
    pub fn builder(quota: Quota) -> GateBuilder {
        GateBuilder::new(quota)
    }
}

impl GateBuilder {
    fn new(quota: Quota) -> Self {
        Self {
            quota,
            capacity: DEFAULT_CAPACITY,
            overflow: Overflow::default(),
            credentials: Box::default(),
            field: CredentialField::header(DEFAULT_HEADER),
            keyer: None,
            clock: Clock::default(),
            mode: Mode::default(),
            policy_name: DEFAULT_POLICY_NAME.into(),
            body: RefusalBody::default(),
            wrong: None,
        }
    }

    /// How many callers have room at once: 8 bytes for each. Choose twice the callers that you expect in one window.
    /// The default, 65,536, is half a megabyte and enough for 32 thousand callers.
    pub fn capacity(mut self, callers: usize) -> Self {
        self.capacity = callers;
        self
    }

    /// What happens to a newcomer that finds no room. The default, [`Overflow::Inherit`], never lets a throttled
    /// caller flush its own count.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// The header whose whole value is a service's secret: a name of at most 64 bytes, in any case. The default is
    /// `x-internal-token`.
    pub fn credential_header(mut self, name: impl AsRef<str>) -> Self {
        self.field = CredentialField::header(name.as_ref());
        self
    }

    /// Takes a service's secret from `Authorization: Bearer` instead. Other schemes in that field present nothing;
    /// other bearer tokens (your users') count as forged here, which changes nothing for them but on internal routes.
    pub fn bearer(mut self) -> Self {
        self.field = CredentialField::bearer();
        self
    }

    /// Exempts whoever presents `secret`, as the service `name`. A service may have several secrets, so that they can
    /// be rotated without an outage; 16 secrets fit in all.
    ///
    /// # Security
    /// Whoever has the secret is not limited at all. Take 128 random bits or more (`openssl rand -hex 32`). The copy
    /// that is kept here is wiped when the gate is dropped; the one that you pass is yours to wipe.
    pub fn service(mut self, name: impl AsRef<str>, secret: impl AsRef<[u8]>) -> Self {
        let (name, secret) = (name.as_ref(), secret.as_ref());
        let added = match self.credentials.add(name, secret) {
            Ok(()) if secret.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') => {
                Err(GateError::SecretBytes { service: name.into() })
            }
            Ok(()) => Ok(()),
            Err(error) => Err(GateError::Secret { service: name.into(), error }),
        };
        self.wrong = self.wrong.or(added.err());
        self
    }

    /// Where the time comes from. The default, [`Clock::Coarse`], is replaced by the precise clock where its
    /// resolution matters: see there.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The name that responses call the quota by: 1 to 32 printable ASCII characters without `"` and `\`. The default
    /// is `default`. Where several limiters see one request, their names tell them apart.
    pub fn policy_name(mut self, name: impl Into<String>) -> Self {
        self.policy_name = name.into();
        self
    }

    /// What is done with verdicts. The default is [`Mode::Enforce`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The keyed hash of addresses. The default has a fresh random seed.
    pub fn keyer(mut self, keyer: Keyer) -> Self {
        self.keyer = Some(keyer);
        self
    }

    /// How the body of a refusal is written. The default is [`RefusalBody::ProblemJson`].
    pub fn refusal_body(mut self, body: RefusalBody) -> Self {
        self.body = body;
        self
    }

    /// Builds the gate.
    ///
    /// # Errors
    /// If any setting can't work; the first is told, with what to do.
    pub fn build(self) -> Result<Gate, GateError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if !self.field.is_sendable() {
            return Err(GateError::HeaderName { name: self.field.name });
        }
        if self.quota != Quota::new(self.quota.limit(), self.quota.window()) {
            return Err(GateError::QuotaKind);
        }
        let limiter = BoxedLimiter::with_capacity(self.quota, self.capacity)?.with_overflow(self.overflow);
        let policy = Policy::new(self.policy_name.clone(), self.quota)
            .ok_or(GateError::PolicyName { name: self.policy_name })?;
        let ticker = Ticker::new(self.clock.suited_to(&limiter));
        Ok(Gate {
            upkeep: Upkeep::new(limiter, ticker.now()),
            credentials: self.credentials,
            challenge: self.field.challenge(),
            field: self.field,
            keyer: self.keyer.unwrap_or_else(Keyer::random),
            wording: Wording { resolution: ticker.resolution(), body: self.body },
            ticker,
            mode: self.mode,
            policy,
            // ORDERING: only uniqueness counts.
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        })
    }
}

static NEXT_ID: AtomicUsize = AtomicUsize::new(0);

impl fmt::Debug for GateBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateBuilder")
            .field("quota", &self.quota)
            .field("capacity", &self.capacity)
            .field("overflow", &self.overflow)
            .field("credential_header", &self.field.name)
            .field("secrets", &self.credentials.len())
            .finish_non_exhaustive()
    }
}
