//! Values of fields, made for a response where it is written.

use std::any::Any;
use std::sync::OnceLock;

use bytes::Bytes;

use crate::name::{Name, Types};

/// A field's value.
#[derive(Clone, Copy)]
pub(crate) enum Text<'t> {
    /// As it is on many responses.
    Ready(&'t Ready),
    /// As it is on this one.
    Written(&'t str),
    Number(u64),
    /// As it is on all that have one.
    Fixed(&'static str),
}

#[expect(
    clippy::inline_always,
    reason = "a value is made where a response's map takes it, and not moved there"
)]
impl Text<'_> {
    /// Gives it to `add` under a name that gates write, if it can be sent.
    // In each arm by itself: what is made in one of several places is moved once more.
    #[inline(always)]
    pub(crate) fn give<T: Types>(self, name: Name, add: impl FnOnce(T::Name, T::Value)) {
        let add = |value| add(T::name(name), value);
        match self {
            Self::Ready(ready) => ready.give::<T>(add),
            Self::Written(text) => T::copied(text.as_bytes()).map_or((), add),
            Self::Number(number) => T::value(digits(number)).map_or((), add),
            Self::Fixed(text) => T::value(Bytes::from_static(text.as_bytes())).map_or((), add),
        }
    }

    pub(crate) fn bytes(self) -> Bytes {
        match self {
            Self::Ready(ready) => ready.text.clone(),
            Self::Written(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Number(number) => digits(number),
            Self::Fixed(text) => Bytes::from_static(text.as_bytes()),
        }
    }
}

/// A value that many responses have: looked at once whether it can be sent, and shared by them.
pub(crate) struct Ready {
    text: Bytes,
    /// In the type of the adapter that came first, which is the only one most of the time.
    value: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Ready {
    pub(crate) fn new(text: String) -> Self {
        Self { text: text.into(), value: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn give<T: Types>(&self, add: impl FnOnce(T::Value)) {
        let first = self.value.get_or_init(|| Box::new(T::value(self.text.clone())));
        match first.downcast_ref::<Option<T::Value>>() {
            Some(Some(value)) => add(value.clone()),
            Some(None) => {}
            None => T::value(self.text.clone()).map_or((), add),
        }
    }
}

/// A number's digits, which most of the time need no memory.
#[inline(never)]
fn digits(number: u64) -> Bytes {
    match usize::try_from(number) {
        Ok(small) if small < SMALL => {
            let digits = if small < 10 {
                1
            } else if small < 100 {
                2
            } else {
                3
            };
            Bytes::from_static(&DIGITS[small][3 - digits..])
        }
        _ => Bytes::copy_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// Numbers below this have three digits at most.
const SMALL: usize = 1_000;

/// Theirs, with zeros in front.
static DIGITS: [[u8; 3]; SMALL] = {
    let mut all = [[b'0'; 3]; SMALL];
    let mut number = 1;
    while number < SMALL {
        let [hundreds, tens, ones] = all[number - 1];
        all[number] = match (tens, ones) {
            (b'9', b'9') => [hundreds + 1, b'0', b'0'],
            (_, b'9') => [hundreds, tens + 1, b'0'],
            _ => [hundreds, tens, ones + 1],
        };
        number += 1;
    }
    all
};

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_formatted() {
        for told in (0..2_000).chain([u64::from(u32::MAX), u64::MAX]) {
            assert_eq!(digits(told), told.to_string());
        }
    }

    /// An adapter whose values are `V`.
    pub(crate) struct Of<V>(V);

    impl<V: From<Bytes> + Clone + Send + Sync + 'static> Types for Of<V> {
        type Name = Vec<u8>;
        type Value = V;

        fn name(name: Name) -> Vec<u8> {
            name.as_str().into()
        }

        fn value(value: Bytes) -> Option<V> {
            Some(value.into())
        }
    }

    fn given<V: From<Bytes> + Clone + Send + Sync + 'static>(text: Text<'_>) -> Option<V> {
        let mut given = None;
        text.give::<Of<V>>(Name::RateLimit, |_, value| given = Some(value));
        given
    }

    #[test]
    fn each_adapter_gets_its_own_type() {
        let told = "\"default\";q=300;w=60";
        let ready = Ready::new(told.into());
        for _ in 0..3 {
            assert_eq!(given::<Bytes>(Text::Ready(&ready)), Some(told.into()));
            assert_eq!(given::<Vec<u8>>(Text::Ready(&ready)), Some(told.into()));
            assert_eq!(Text::Ready(&ready).bytes(), told);
        }
        assert_eq!(given::<Bytes>(Text::Written(told)), Some(told.into()));
        for text in [Text::Number(300), Text::Fixed("300"), Text::Written("300")] {
            assert_eq!((given::<Bytes>(text), text.bytes()), (Some("300".into()), "300".into()));
        }
    }
}
