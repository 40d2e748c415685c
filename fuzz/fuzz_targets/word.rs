//! The layout of a word against the same written as digits: 27 of the tag, one of the claim, 36 of the state.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::fuzzing::{decoded, encoded, moved};

const STATE: u64 = (1 << 36) - 1;

/// A word as 64 binary digits.
fn digits(tag: &str, claim: bool, state: u64) -> u64 {
    let text = format!("{tag}{}{state:036b}", u8::from(claim));
    u64::from_str_radix(&text, 2).expect("64 digits")
}

fuzz_target!(|input: (u64, u64, u64, u64)| {
    let (fingerprint, other, state, bits) = input;
    let state = state & STATE;
    let tag = |fingerprint: u64| match &format!("{fingerprint:064b}")[..27] {
        none if !none.contains('1') => format!("{:027b}", 1),
        tag => tag.to_owned(),
    };
    let none = "0".repeat(27);
    let expected = [
        digits(&tag(fingerprint), false, state),
        digits(&tag(fingerprint), true, state),
        digits(&none, true, state),
    ];
    assert_eq!(encoded(fingerprint, state), expected);

    // Any 64 bits are read as one kind of word, and the state comes out and goes in alone.
    for bits in expected.into_iter().chain([bits, 0]) {
        let text = format!("{bits:064b}");
        let (owner, claimed) = (&text[..27], &text[27..28] == "1");
        let (read, [empty, claim, residue, own, committed, charged]) = decoded(bits, other);
        assert_eq!(format!("{read:036b}"), &text[28..]);
        assert_eq!(empty, bits == 0);
        assert_eq!((claim, residue), (claimed && owner != none, claimed && owner == none));
        assert_eq!((own, committed), (owner == tag(other), owner == tag(other) && !claimed));
        // A caller without a tag has another's, which takes longer to see.
        assert_eq!(charged, committed && other >> 37 != 0);
        let (again, _) = decoded(moved(bits, state), other);
        assert_eq!((again, moved(bits, state) >> 36), (state, bits >> 36));
    }
});
