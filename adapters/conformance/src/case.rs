use std::fmt;
use std::pin::Pin;

use crate::stage::Stage;

/// One thing that an adapter has to do.
#[derive(Clone, Copy)]
pub struct Case {
    /// A name of one word, as the table has it.
    pub name: &'static str,
    /// What is shown, in a line.
    pub about: &'static str,
    pub(crate) play: fn(Stage) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

/// The cases of a file: functions, whose documentation is what the table says of them.
macro_rules! cases {
    ($(#[doc = $about:literal] async fn $name:ident($stage:ident) $body:block)*) => {
        pub(super) const CASES: &[$crate::case::Case] = &[$($crate::case::Case {
            name: stringify!($name),
            about: $about.trim_ascii_start(),
            play: |stage| Box::pin($name(stage)),
        }),*];
        $(#[doc = $about] async fn $name($stage: $crate::stage::Stage) $body)*
    };
}

pub(crate) use cases;
