/// What happens to a newcomer when each of its sixteen candidate slots restrains somebody.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum Overflow {
    /// The least-charged word is taken over and the newcomer starts with its count (Space-Saving: Metwally,
    /// Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005).
    /// A caller at its limit is never displaced: if all are, the newcomer is refused. So nobody who is throttled
    /// can flush its count by sending from many addresses. A caller that is displaced *before* it reached its limit
    /// may find a free word when it comes back, and so be forgiven what it had used: at worst, if all its
    /// candidates are charged more than it, it gets its limit again. With 600 Zipf(1.0) callers on 512 slots and a
    /// limit of 100, half a per cent of the decisions differ from exact ones, and half of these are forgiven
    /// (`docs/BENCHMARKS.md`).
    #[default]
    Inherit,
    /// The least-charged word is taken over and the newcomer starts afresh; the displaced caller is forgotten.
    /// Newcomers hardly ever wait, and a flood of them erases counts, in the end even those at their limit. With GCRA
    /// the newcomer starts with the debt that it took over, since there the debt is the time that must not recur; if
    /// all debts are whole, it is refused.
    Forget,
    /// The newcomer is refused until a word is free.
    Refuse,
    /// The newcomer passes uncounted.
    Admit,
}
