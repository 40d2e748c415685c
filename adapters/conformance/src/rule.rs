use tollgate_http::Terms;

/// Terms that requests are decided on, for the adapter's function of a request's head to call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// As the request's fields say, in place of what authentication would have found: `x-skip`, `x-cost`, `x-caller`,
    /// `x-class`, `x-scope`.
    ByFields,
    /// Each route as it is matched has budgets of its own.
    ByRoute,
    /// Each method has.
    ByMethod,
}

impl Rule {
    /// The terms of a request with this route, if one is matched, this method and these fields.
    pub fn terms<'g, 'r>(
        self,
        route: Option<&str>,
        method: &str,
        field: impl Fn(&str) -> Option<&'r str>,
        mut terms: Terms<'g>,
    ) -> Terms<'g> {
        match self {
            Self::ByRoute => route.map_or(terms, |route| terms.scope(route)),
            Self::ByMethod => terms.scope(method),
            Self::ByFields => {
                if field("x-skip").is_some() {
                    terms = terms.skip();
                }
                if let Some(cost) = field("x-cost") {
                    terms = terms.cost(cost.parse().unwrap_or(1));
                }
                if let Some(caller) = field("x-caller") {
                    terms = terms.caller(caller);
                }
                if let Some(class) = field("x-class") {
                    terms = terms.class(class);
                }
                if let Some(scope) = field("x-scope") {
                    terms = terms.scope(scope);
                }
                terms
            }
        }
    }
}
