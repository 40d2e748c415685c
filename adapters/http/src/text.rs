//! Values of fields, made where a response or a list takes them.

use std::any::{Any, TypeId};
use std::sync::OnceLock;

use bytes::Bytes;

use crate::name::Types;

/// A number.
#[inline]
pub(crate) fn numeral<T: Types>(number: u64) -> Option<T::Value> {
    T::value(digits(number))
}

/// A value that many responses have: looked at once whether it can be sent, and shared by them.
pub(crate) struct Ready {
    text: Bytes,
    /// In the type of the adapter that came first, which is the only one most of the time. A list takes the text.
    value: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Ready {
    pub(crate) fn new(text: String) -> Self {
        Self { text: text.into(), value: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn give<T: Types>(&self, add: impl FnOnce(T::Value)) {
        if TypeId::of::<T::Value>() == TypeId::of::<Bytes>() {
            return T::value(self.text.clone()).map_or((), add);
        }
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
    use bytes::BytesMut;

    use super::*;
    use crate::name::{Listed, Name};

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

    fn given<T: Types>(ready: &Ready) -> Option<T::Value> {
        let mut given = None;
        ready.give::<T>(|value| given = Some(value));
        given
    }

    #[test]
    fn each_adapter_gets_its_own_type() {
        let told = "\"default\";q=300;w=60";
        let ready = Ready::new(told.into());
        for _ in 0..3 {
            assert_eq!(given::<Listed>(&ready), Some(told.into()));
            assert!(ready.value.get().is_none(), "what is listed leaves the place to an adapter");
        }
        for _ in 0..3 {
            assert_eq!(given::<Of<BytesMut>>(&ready).as_deref(), Some(told.as_bytes()));
            assert_eq!(given::<Of<Vec<u8>>>(&ready), Some(told.into()));
            assert_eq!(given::<Listed>(&ready), Some(told.into()));
        }
        assert!(ready.value.get().is_some_and(|first| first.is::<Option<BytesMut>>()));
    }
}
