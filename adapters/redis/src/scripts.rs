use redis::Script;

/// What runs in the server, each as one step. A server defines a script's functions anew at each call, so a script for
/// decisions has those of the kinds of quota that it is for, and no others.
pub(crate) struct Scripts {
    /// By the kinds that they are for, one bit each.
    decide: [Script; 8],
    pub(crate) refund: Script,
    pub(crate) clear: Script,
    pub(crate) register: Script,
}

const COMMON: &str = include_str!("scripts/common.lua");
const KINDS: [&str; 3] = [
    include_str!("scripts/fixed_window.lua"),
    include_str!("scripts/sliding_window.lua"),
    include_str!("scripts/gcra.lua"),
];
const BACK: &str = include_str!("scripts/back.lua");

impl Scripts {
    pub(crate) fn new() -> Self {
        let decide = include_str!("scripts/decide.lua");
        let all = KINDS.concat();
        let back = |script| Script::new(&[COMMON, &all, BACK, script].concat());
        Self {
            decide: std::array::from_fn(|set| {
                let kinds = KINDS.iter().enumerate().filter(|(kind, _)| set >> kind & 1 == 1);
                let kinds: String = kinds.map(|(_, kind)| *kind).collect();
                Script::new(&[COMMON, &kinds, decide].concat())
            }),
            refund: back(include_str!("scripts/refund.lua")),
            clear: back(include_str!("scripts/clear.lua")),
            register: Script::new(&[COMMON, include_str!("scripts/register.lua")].concat()),
        }
    }

    /// What decides by limits of these kinds, numbered from 1 as in `scripts/common.lua`.
    pub(crate) fn decide(&self, kinds: impl IntoIterator<Item = i64>) -> &Script {
        let set = kinds.into_iter().fold(0_usize, |set, kind| set | 1 << (kind - 1).clamp(0, 2));
        &self.decide[set % self.decide.len()]
    }

    /// All that a server is told when a connection is made.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Script> {
        self.decide.iter().skip(1).chain([&self.refund, &self.clear, &self.register])
    }
}
