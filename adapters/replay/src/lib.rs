//! A rate limit tried on access logs: who would have been refused, and are they ours?
//!
//! The program is described in the crate's README. This is what it is made of: [`Inputs`] read logs as [`Entry`] after
//! entry, [`Replay`] tries policies on them with the limiters of the crate `tollgate`, and [`Outcome`] is what came of it.
//! Memory does not grow with a log's length, but for some 150 bytes for each caller, up to a number that is chosen.
//!
//! # Example
//! ```
//! use tollgate::{Keyer, Origins, Prefixes, Quota};
//! use tollgate_replay::{Eyes, Outcome, Owns, Policy, Replay, Source};
//!
//! let log = r#"203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8""#;
//! let eyes = Eyes {
//!     origins: Origins::peer(),
//!     forwarded: None,
//!     owns: Owns::default(),
//!     internal: Vec::new(),
//!     keyer: Keyer::random(),
//! };
//! let policy = Policy::new("two a minute", Quota::per_minute(2));
//! let mut replay = Replay::new(vec![policy], Prefixes::DEFAULT, &[], 1_000, eyes.keyer.clone())?;
//! let mut source = Source::new("a log".into(), Box::new([log; 5].join("\n").leak().as_bytes()), None, &eyes);
//! while let Some(entry) = source.next(&eyes) {
//!     replay.push(entry);
//! }
//! replay.finish();
//! let outcome = Outcome::new(&replay, vec![source.into_reading()], None);
//! assert_eq!((outcome.requests, outcome.policies[0].refused), (5, 3));
//! # Ok::<(), tollgate::BuildError>(())
//! ```

mod callers;
mod distinct;
mod entry;
mod format;
mod inputs;
mod judged;
mod lines;
mod meter;
mod open;
mod outcome;
mod own;
mod peaks;
mod policy;
mod reading;
mod record;
mod reorder;
mod replay;
mod source;
mod stamp;
mod suggest;
mod timeline;
mod tried;
mod verdict;

pub use distinct::{Distinct, DistinctMany};
pub use entry::{Conduct, Entry, Eyes};
pub use format::{FORMATS, Format, Parser, Pattern, PatternError};
pub use inputs::Inputs;
pub use judged::{Judged, Ranked};
pub use lines::{LONGEST_LINE, Line, Lines};
pub use open::Place;
pub use outcome::{Outcome, OwnRequests, Spans};
pub use own::{Own, OwnError, Owns, OwnsError};
pub use peaks::{Bar, Peaks};
pub use policy::{Penalty, Policy, Rate, RateError, Span};
pub use reading::{Reading, Reason};
pub use record::{FAULTS, Fault, MOST_FIELDS, Record, Wanted};
pub use reorder::{LATEST, MOST_WAITING, Reorder, Timed};
pub use replay::Replay;
pub use source::Source;
pub use stamp::Stamps;
pub use suggest::{ADVICE, Form, Share, ShareError, Suggestion};
pub use timeline::{MOST_SPANS, Timeline};
pub use verdict::{Evidence, Verdict};
