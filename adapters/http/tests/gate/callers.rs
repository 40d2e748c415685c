//! Credentials, peers and modes.

use tollgate_http::{Gate, Identity, Mode, NoPeer, Quota, Reason, Verdict};

use crate::support::{FORGED, SECRET, decide, field, five, lines, passes};

#[test]
fn two_credential_lines_are_forged() {
    for builder in [five().0, five().0.bearer()] {
        let gate = builder.build().unwrap();
        let bearer = [b"Bearer ", SECRET].concat();
        for forged in [[SECRET, SECRET], [SECRET, FORGED], [FORGED, SECRET], [&bearer, &bearer]] {
            assert_eq!(decide(&gate, forged).identity(), &Identity::Forged);
            assert_eq!(gate.internal(None, &lines(&gate, forged)[..]), None);
        }
    }
}

#[test]
fn bearer_tokens_name_services_too() {
    let gate = five().0.bearer().build().unwrap();
    assert_eq!(gate.credential_header(), "authorization");
    for scheme in [&b"Bearer "[..], b"bearer  ", b"BEARER "] {
        assert_eq!(decide(&gate, [&[scheme, SECRET].concat()[..]]).identity().service(), Some("edge"));
    }
    assert_eq!(decide(&gate, [SECRET]).identity(), &Identity::Absent);
    assert_eq!(decide(&gate, [&[b"Basic ", SECRET].concat()[..]]).identity(), &Identity::Absent);
    assert_eq!(decide(&gate, [&[b"Bearer ", FORGED].concat()[..]]).identity(), &Identity::Forged);
    assert_eq!(field(&gate.unauthorized(), "www-authenticate"), r#"Bearer realm="internal""#);
}

#[test]
fn internal_routes_use_the_decision_of_their_own_gate_alone() {
    let (gate, other) = (five().0.build().unwrap(), five().0.build().unwrap());
    let decision = decide(&gate, [SECRET]);
    // No credential is passed here, so only the decision can say it.
    assert_eq!(gate.internal(Some(&decision), &()).unwrap().as_str(), "edge");
    assert_eq!(other.internal(Some(&decision), &()), None);
    assert_eq!(other.internal(Some(&decision), &lines(&other, [SECRET])[..]).unwrap().as_str(), "edge");
    assert_eq!(gate.internal(Some(&decide(&gate, [FORGED])), &lines(&gate, [SECRET])[..]), None);
}

// Abuse 12: no secret, so nobody is exempt.
#[test]
fn without_services_everybody_is_counted() {
    let gate = Gate::builder(Quota::per_minute(5)).build().unwrap();
    assert_eq!(passes(&gate, [&b""[..]], 20), 5);
    assert_eq!(gate.internal(None, &()), None);
    assert_eq!(gate.internal(None, &lines(&gate, [&b""[..]])[..]), None);
}

#[test]
fn a_peer_is_needed_by_whoever_is_counted() {
    let gate = five().0.build().unwrap();
    assert_eq!(gate.decide(None, &()), Err(NoPeer));
    assert_eq!(gate.decide(None, &lines(&gate, [FORGED])[..]), Err(NoPeer));
    assert!(gate.decide(None, &lines(&gate, [SECRET])[..]).unwrap().passes());
    assert!(NoPeer.to_string().contains("give the gate the socket's peer address"));
    assert_eq!(gate.no_peer("").status(), 500);
    let off = five().0.mode(Mode::Off).build().unwrap();
    assert!(off.decide(None, &()).unwrap().passes() && !off.decide(None, &()).unwrap().lacks_peer());
    // Shadow mode refuses nobody, and does not pass it over in silence either.
    let shadow = five().0.mode(Mode::Shadow).build().unwrap();
    let decision = shadow.decide(None, &()).unwrap();
    assert!(decision.passes() && decision.lacks_peer() && decision.verdict().is_none());
    assert!(
        !shadow.decide(None, &lines(&shadow, [SECRET])[..]).unwrap().lacks_peer()
            && !decide(&shadow, []).lacks_peer()
    );
}

#[test]
fn the_origin_is_told_for_everybody() {
    let gate = five().0.build().unwrap();
    for credential in [None, Some(SECRET), Some(FORGED)] {
        let decision = gate.decide("2001:db8:1:2:3::4".parse().ok(), &lines(&gate, credential)[..]).unwrap();
        assert_eq!(decision.origin().unwrap().to_string(), "2001:db8:1:2::/64");
    }
}

#[test]
fn shadow_counts_and_refuses_nobody() {
    let gate = five().0.mode(Mode::Shadow).build().unwrap();
    assert_eq!(passes(&gate, [], 20), 20);
    let decision = decide(&gate, []);
    let Some(Verdict::Refused(refusal)) = decision.verdict() else { panic!("the verdict stays visible") };
    assert_eq!(refusal.reason, Reason::OverLimit);
    assert_eq!(gate.refusal(&decision, &()), None);
    assert_eq!(gate.fields(&decision).unwrap().rate_limit(), r#""default";r=0;t=60"#);
}

#[test]
fn off_counts_nobody_and_keeps_internal_routes_closed() {
    let gate = five().0.mode(Mode::Off).build().unwrap();
    assert_eq!(passes(&gate, [], 20), 20);
    let decision = decide(&gate, [FORGED]);
    assert_eq!((decision.verdict(), gate.fields(&decision)), (None, None));
    assert_eq!(gate.internal(Some(&decision), &()), None);
    assert!(gate.internal(Some(&decide(&gate, [SECRET])), &()).is_some());
}
