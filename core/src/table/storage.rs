//! Where the lines are: in a static, or in memory asked for at run time.

use crate::line::Line;
use crate::sync::AtomicU64;

/// Where a limiter keeps its words: [`Fixed`], or `Boxed` with the feature `alloc`.
pub trait Storage: sealed::Lines {}

pub(crate) mod sealed {
    use super::{AtomicU64, Line};
    use crate::line::WAYS;

    /// Lines of words: a power of two of them, and at least two.
    pub trait Lines {
        fn lines(&self) -> &[Line];

        /// One line, by its number, which is cut to what there is.
        #[inline]
        fn line(&self, number: usize) -> Option<&Line> {
            let lines = self.lines();
            lines.get(number & lines.len().wrapping_sub(1))
        }

        /// One word, by its number, which is cut to what there is.
        #[inline]
        fn word(&self, number: usize) -> Option<&AtomicU64> {
            let lines = self.lines();
            lines.get((number / WAYS) & lines.len().wrapping_sub(1))?.get(number % WAYS)
        }
    }
}

pub(crate) use sealed::Lines;

/// `N` cache lines in place, 64 × `N` bytes: the storage of a [`Limiter`](crate::Limiter).
#[repr(align(64))]
pub struct Fixed<const N: usize>([Line; N]);

#[cfg(not(tollgate_loom))]
impl<const N: usize> Fixed<N> {
    pub(crate) const fn new() -> Self {
        const {
            assert!(
                N >= 2 && N.is_power_of_two(),
                "a Limiter<N> has N lines of 8 callers each: N must be a power of two and at least 2"
            );
        }
        Self([const { [const { AtomicU64::new(0) }; crate::line::WAYS] }; N])
    }
}

impl<const N: usize> Storage for Fixed<N> {}

impl<const N: usize> Lines for Fixed<N> {
    #[inline]
    fn lines(&self) -> &[Line] {
        &self.0
    }
}

#[cfg(feature = "alloc")]
pub use boxed::Boxed;

#[cfg(feature = "alloc")]
mod boxed {
    use alloc::boxed::Box;

    use super::{AtomicU64, Line, Lines, Storage};
    use crate::line::WAYS;

    /// Cache lines in memory asked for at run time: the storage of a [`BoxedLimiter`](crate::BoxedLimiter).
    pub struct Boxed {
        words: Box<[AtomicU64]>,
        /// Words before the first cache line begins.
        skip: usize,
        /// How many words there are in lines, less one.
        mask: usize,
    }

    /// What the index of a second line is computed for: 256 GiB.
    const MOST_LINES: usize = if usize::BITS > 32 { 1 << (usize::BITS / 2) } else { usize::MAX };

    impl Boxed {
        /// Lines for at least `capacity` callers, or `None` if there are none or the memory is not to be had.
        pub(crate) fn for_callers(capacity: usize) -> Option<Self> {
            let lines = capacity.div_ceil(WAYS).max(2).checked_next_power_of_two();
            lines.filter(|_| capacity > 0).and_then(Self::new)
        }

        /// `lines` lines, or `None` if the memory is not to be had.
        fn new(lines: usize) -> Option<Self> {
            // Seven words more than needed, so that whole cache lines can begin at any of the first eight. (An
            // allocation aligned to 64 bytes would be written with zeroes by hand, 290 ms for 512 MiB.)
            if lines > MOST_LINES {
                return None;
            }
            let words = zeroed(lines.checked_mul(WAYS)?.checked_add(WAYS - 1)?)?;
            let skip = words.as_ptr().align_offset(size_of::<Line>());
            (skip < WAYS).then_some(Self { words, skip, mask: lines * WAYS - 1 })
        }
    }

    impl Storage for Boxed {}

    impl Lines for Boxed {
        #[inline]
        fn lines(&self) -> &[Line] {
            self.words.get(self.skip..).unwrap_or_default().as_chunks().0
        }

        #[inline]
        fn line(&self, number: usize) -> Option<&Line> {
            self.words.get(self.skip + ((number * WAYS) & self.mask)..)?.first_chunk()
        }

        /// Found without the lines, since that is a third of the way.
        #[inline]
        fn word(&self, number: usize) -> Option<&AtomicU64> {
            self.words.get(self.skip + (number & self.mask))
        }
    }

    #[cfg(all(not(tollgate_loom), target_has_atomic = "64"))]
    fn zeroed(length: usize) -> Option<Box<[AtomicU64]>> {
        // Zeroed by the operating system when first touched.
        bytemuck::allocation::try_zeroed_slice_box(length).ok()
    }

    #[cfg(any(tollgate_loom, not(target_has_atomic = "64")))]
    fn zeroed(length: usize) -> Option<Box<[AtomicU64]>> {
        let mut words = alloc::vec::Vec::new();
        words.try_reserve_exact(length).ok()?;
        words.extend((0..length).map(|_| AtomicU64::new(0)));
        Some(words.into_boxed_slice())
    }
}

#[cfg(not(tollgate_loom))]
#[cfg(test)]
mod tests {
    use core::ptr;

    use super::*;
    use crate::line::WAYS;

    fn has_words_of_lines(storage: &impl Lines) {
        let lines = storage.lines();
        for number in 0..3 * lines.len() * WAYS {
            let line = &lines[number / WAYS % lines.len()];
            assert!(ptr::eq(storage.line(number / WAYS).unwrap(), line));
            assert!(ptr::eq(storage.word(number).unwrap(), &raw const line[number % WAYS]));
        }
    }

    #[test]
    fn a_word_by_its_number_is_that_of_its_line() {
        has_words_of_lines(&Fixed::<4>::new());
        // Several at once, with something between them, so that they begin at different words of a cache line.
        #[cfg(feature = "alloc")]
        for (storage, _) in &[1, 2, 3, 4, 5, 8, 9, 16, 17, 33].map(|lines| {
            let storage = Boxed::for_callers(lines * WAYS).unwrap();
            (storage, alloc::boxed::Box::new([0_u8; 40]))
        }) {
            has_words_of_lines(storage);
        }
    }
}
