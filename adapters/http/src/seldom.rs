use std::hint::cold_path;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};

/// A value that seldom changes. Until it does for the first time, which for most gates is never, reading it writes nothing. The
/// first one is kept for good.
pub(crate) struct Seldom<T> {
    first: T,
    since: OnceLock<ArcSwap<T>>,
}

impl<T> Seldom<T> {
    pub(crate) const fn new(first: T) -> Self {
        Self { first, since: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn load(&self) -> impl Deref<Target = T> {
        match self.since.get() {
            None => Loaded::First(&self.first),
            Some(since) => {
                cold_path();
                Loaded::Since(since.load())
            }
        }
    }

    pub(crate) fn store(&self, value: T) {
        let value = Arc::new(value);
        self.since.get_or_init(|| ArcSwap::new(Arc::clone(&value))).store(value);
    }
}

enum Loaded<'s, T> {
    First(&'s T),
    Since(Guard<Arc<T>>),
}

impl<T> Deref for Loaded<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::First(first) => first,
            Self::Since(since) => {
                cold_path();
                since
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_stored_is_read() {
        let seldom = Seldom::new(0);
        let kept = seldom.load();
        for number in 1..4 {
            seldom.store(number);
            assert_eq!((*seldom.load(), *kept), (number, 0));
        }
    }
}
