use tollgate::Layout;

/// A limit as the scripts take it, and what tells states of one layout from another's.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Kind, limit, span, shift, bits and kept: see `scripts/common.lua`.
    pub(crate) numbers: [i64; 6],
    /// Part of the keys' names: states of different layouts never meet, so that nodes with an old and a new limit can run
    /// side by side.
    pub(crate) layout: String,
}

impl Figures {
    pub(crate) fn new(layout: Layout) -> Self {
        match layout {
            Layout::FixedWindow { limit, window, shift, count_bits, kept } => Self {
                numbers: numbers(1, limit, window, shift.into(), count_bits.into(), kept),
                layout: format!("f{shift}.{count_bits}"),
            },
            Layout::SlidingWindow { limit, window, shift, count_bits } => Self {
                numbers: numbers(2, limit, window, shift.into(), count_bits.into(), 0),
                layout: format!("s{shift}.{count_bits}.{window}"),
            },
            Layout::Gcra { burst, interval, scale, most, kept } => Self {
                numbers: numbers(3, burst, interval, scale.into(), most, kept),
                layout: format!("g{scale}"),
            },
        }
    }
}

/// None of them has more than 36 bits.
fn numbers(kind: i64, limit: u32, span: u32, shift: i64, bits: u64, kept: u64) -> [i64; 6] {
    [kind, limit.into(), span.into(), shift, bits.cast_signed(), kept.cast_signed()]
}
