use redis::Script;

/// What runs in the server, each as one step.
pub(crate) struct Scripts {
    pub(crate) decide: Script,
    pub(crate) refund: Script,
    pub(crate) clear: Script,
    pub(crate) register: Script,
}

macro_rules! script {
    ($name:literal) => {
        Script::new(concat!(include_str!("scripts/arithmetic.lua"), include_str!($name)))
    };
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            decide: script!("scripts/decide.lua"),
            refund: script!("scripts/refund.lua"),
            clear: script!("scripts/clear.lua"),
            register: script!("scripts/register.lua"),
        }
    }

    pub(crate) fn all(&self) -> [&Script; 4] {
        [&self.decide, &self.refund, &self.clear, &self.register]
    }
}
