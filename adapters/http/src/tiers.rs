use std::iter;

use crate::tier::Tier;

/// A gate's limits together.
pub(crate) struct Tiers {
    /// The builder's quota.
    pub(crate) first: Tier,
    /// The policies beside it.
    pub(crate) further: Vec<Tier>,
    /// Each takes the place of the first policy for the callers of a class.
    pub(crate) classes: Vec<Tier>,
}

impl Tiers {
    /// The policies and then the classes.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Tier> + Clone {
        iter::once(&self.first).chain(&self.further).chain(&self.classes)
    }

    /// The first policy that a caller of this class is held to.
    #[inline]
    pub(crate) fn first(&self, class: Option<u8>) -> &Tier {
        class.and_then(|class| self.classes.get(usize::from(class))).unwrap_or(&self.first)
    }

    /// Each of them.
    #[inline]
    pub(crate) fn chosen(&self, class: Option<u8>) -> impl Iterator<Item = &Tier> {
        iter::once(self.first(class)).chain(&self.further)
    }

    /// Each of them with its number.
    pub(crate) fn numbered(&self, class: Option<u8>) -> impl Iterator<Item = (&Tier, usize)> {
        self.chosen(class).zip(self.numbers(class))
    }

    /// Their numbers, in the order of [`all`](Self::all).
    pub(crate) fn numbers(&self, class: Option<u8>) -> impl Iterator<Item = usize> + use<> {
        let policies = 1 + self.further.len();
        let first = class.map(usize::from).filter(|class| *class < self.classes.len());
        iter::once(first.map_or(0, |class| policies + class)).chain(1..policies)
    }
}
