//! Different inputs have different keys: parts are told apart by their lengths, kinds of input by their kind.
#![no_main]

use std::net::IpAddr;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate::{Key, Keyer};

#[derive(Arbitrary, PartialEq, Eq, Debug)]
enum Caller {
    Address(IpAddr),
    Bytes(Vec<u8>),
    Parts(Vec<Vec<u8>>),
}

#[derive(Arbitrary, Debug)]
struct Input {
    seed: [u8; 16],
    callers: [Caller; 2],
    /// Bytes that are cut into parts in two ways.
    joined: Vec<u8>,
    cuts: [Vec<u8>; 2],
}

fuzz_target!(|input: Input| {
    let keyer = Keyer::new(input.seed);
    let [a, b] = &input.callers;
    assert_eq!(a == b, key(&keyer, a) == key(&keyer, b), "{a:?}, {b:?}");
    assert_eq!(key(&keyer, a), key(&keyer.clone(), a));
    let [a, b] = input.cuts.map(|cuts| cut(&input.joined, &cuts));
    assert_eq!(a == b, keyer.parts(&a) == keyer.parts(&b), "{a:?}, {b:?}");
    assert_ne!(keyer.parts(&a), keyer.bytes(&input.joined));
    if !input.joined.is_empty() {
        let mut seed = input.seed;
        seed[0] ^= 1;
        assert_ne!(
            Keyer::new(seed).bytes(&input.joined),
            keyer.bytes(&input.joined),
            "the seed decides nothing"
        );
    }
});

fn key(keyer: &Keyer, caller: &Caller) -> Key {
    match caller {
        Caller::Address(address) => keyer.address(*address),
        Caller::Bytes(bytes) => keyer.bytes(bytes),
        Caller::Parts(parts) => keyer.parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()),
    }
}

/// The bytes in parts of these lengths, and what is left.
fn cut<'b>(mut bytes: &'b [u8], lengths: &[u8]) -> Vec<&'b [u8]> {
    let mut parts = Vec::new();
    for &length in lengths {
        let (part, rest) = bytes.split_at(usize::from(length).min(bytes.len()));
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}
