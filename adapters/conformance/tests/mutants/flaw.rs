/// What an adapter may do wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    /// Of a field's lines only the first is seen.
    SeesOneLine,
    /// `_` in a field's name is taken for `-`.
    TakesAliases,
    /// The leftmost address of `X-Forwarded-For` is taken for the peer's.
    BelievesAnybody,
    /// All callers are one.
    HasOneBudget,
    /// Each connection has a budget.
    CountsByConnection,
    /// Services are counted like anybody.
    CountsServices,
    /// A shared store is not asked.
    NeverWaits,
    /// Each request is counted twice.
    CountsTwice,
    /// The application has answered before the request is decided.
    DecidesLate,
    /// Terms are not asked for.
    IgnoresTerms,
    /// The path stands for the route.
    ScopesByPath,
    /// A request without a peer passes.
    PassesUnknownPeers,
    /// Refusals are 500.
    RefusesWith500,
    /// Whoever is over the limit is refused in any mode.
    RefusesInShadow,
    /// Refusals of gRPC are like any other.
    IgnoresGrpc,
    /// Waits are a second shorter.
    RoundsDown,
    /// The fields of successes alone are set.
    TellsSuccesses,
    /// Fields that are there are overwritten.
    Overwrites,
    /// Fields that have one value are added to like lists.
    AppendsAll,
    /// Names of policies lack their quotes.
    BreaksFields,
    /// The policy is what it was at first.
    RemembersThePolicy,
    /// The response is not settled.
    NeverSettles,
    /// What an inner gate refused stays charged.
    IgnoresInnerRefusals,
    /// Who goes away is given back what it was charged.
    RefundsTheGivenUp,
    /// A request is no longer under way once the application has it.
    ReleasesEarly,
    /// A request is under way for ever, if its client goes away.
    ForgetsTheGivenUp,
    /// Handlers are not told.
    HidesDecisions,
    /// The credential stays.
    KeepsCredentials,
    /// The credential is always taken.
    TakesCredentials,
    /// A credential that was taken is not known further inside.
    ForgetsTheTaken,
    /// The guard looks whether there is a credential.
    GuardsByPresence,
    /// The guard heeds whichever gate's decision.
    GuardsByAnyDecision,
    /// What comes in is logged.
    LogsSecrets,
    /// The gate is not told which path a request is for.
    HidesPaths,
}

/// Each flaw, with cases that have to fail.
pub(crate) const FLAWS: &[(Flaw, &[&str])] = &[
    (
        Flaw::SeesOneLine,
        &[
            "two_credential_lines",
            "several_lines",
            "a_field_of_one_address",
            "origin_vectors",
            "the_report_needs_a_credential",
        ],
    ),
    (Flaw::TakesAliases, &["aliases_are_no_credential", "aliases_of_the_source", "origin_vectors"]),
    (Flaw::BelievesAnybody, &["untrusted_fields_change_nothing", "rotating_what_is_sent", "origin_vectors"]),
    (
        Flaw::HasOneBudget,
        &["callers_are_apart", "resets_are_each_callers", "many_callers", "handlers_are_told"],
    ),
    (
        Flaw::CountsByConnection,
        &["connections_share", "workers_share", "versions_share", "servers_share_a_gate"],
    ),
    (
        Flaw::CountsServices,
        &["services_pass", "exempt_requests_do_not_consume", "services_never_limit_another"],
    ),
    (
        Flaw::NeverWaits,
        &["a_store_is_waited_for", "who_waited_is_the_same", "nodes_share_exactly", "terms_with_a_store"],
    ),
    (Flaw::CountsTwice, &["first_n_pass", "pipelined_requests", "concurrent_streams", "workers_share"]),
    (Flaw::DecidesLate, &["first_n_pass", "concurrent_streams"]),
    (Flaw::IgnoresTerms, &["costs", "classes", "scopes", "skipped_requests_pass", "callers_by_name"]),
    (Flaw::ScopesByPath, &["spellings_share_a_route", "unmatched_paths_share"]),
    (Flaw::PassesUnknownPeers, &["an_unknown_peer_is_500"]),
    (Flaw::RefusesWith500, &["first_n_pass", "refusals_are_told", "forgers_get_401_then_429"]),
    (Flaw::RefusesInShadow, &["shadow_mode", "modes_change", "one_of_two_in_shadow_mode"]),
    (Flaw::IgnoresGrpc, &["grpc_refusals"]),
    (Flaw::RoundsDown, &["refusals_are_told", "waits_round_up", "waits_agree", "waiting_as_told_helps"]),
    (
        Flaw::TellsSuccesses,
        &["whatever_is_answered_is_told", "strangers_get_401", "what_is_given_back_is_told"],
    ),
    (
        Flaw::Overwrites,
        &["the_applications_own_fields_stay", "nested_fields_in_order", "the_report_needs_a_credential"],
    ),
    (Flaw::AppendsAll, &["the_applications_own_fields_stay"]),
    (Flaw::BreaksFields, &["admitted_requests_are_told", "connections_share"]),
    (Flaw::RemembersThePolicy, &["quotas_change", "class_quotas_change", "classes"]),
    (
        Flaw::NeverSettles,
        &["failures_alone_are_charged", "what_is_given_back_is_told", "charges_are_made_first"],
    ),
    (Flaw::IgnoresInnerRefusals, &["inner_refusals_are_given_back"]),
    (Flaw::RefundsTheGivenUp, &["giving_up_is_charged"]),
    (Flaw::ReleasesEarly, &["requests_under_way", "streams_under_way"]),
    (Flaw::ForgetsTheGivenUp, &["giving_up_makes_room", "reset_streams_make_room"]),
    (Flaw::HidesDecisions, &["handlers_are_told", "handlers_are_told_by_http2"]),
    (Flaw::KeepsCredentials, &["the_credential_is_stripped", "users_tokens_stay"]),
    (Flaw::TakesCredentials, &["the_credential_is_left", "users_tokens_stay"]),
    (Flaw::ForgetsTheTaken, &["inner_limiters_know_what_was_taken", "the_report_knows_what_was_taken"]),
    (
        Flaw::GuardsByPresence,
        &["forgers_get_401_then_429", "two_credential_lines", "guards_hold_in_every_mode"],
    ),
    (
        Flaw::GuardsByAnyDecision,
        &["another_gates_decision_is_not_heeded", "another_gates_token_opens_nothing"],
    ),
    (Flaw::LogsSecrets, &["secrets_are_not_logged"]),
    (Flaw::HidesPaths, &["the_report_as_json"]),
];
