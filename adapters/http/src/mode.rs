/// What a gate does with its verdicts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Mode {
    /// Whoever is over the limit is refused.
    #[default]
    Enforce,
    /// Everything is counted, decided and told in the response's fields, and nobody is refused: to try a limit out.
    /// Not even where the caller's address is not known: such a request passes uncounted, and adapters log it.
    /// Responses carry no `Retry-After`, since nothing has to be tried again.
    Shadow,
    /// Nothing is counted. Credentials are still checked, so that internal routes stay closed.
    Off,
}
