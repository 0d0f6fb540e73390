//! What holds for all tuples: they come back as they were, and their bytes order as they do.

use std::cmp::Ordering;
use std::ops::Bound;

use proptest::prelude::*;
use twindex_codec::tuple::{self, Pack, Reader, Token, Writer};
use twindex_codec::{Error, int};

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Null,
    Bytes(Vec<u8>),
    Text(String),
    Tuple(Vec<Item>),
    Int(i64),
    Float(f64),
}

impl Item {
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bytes(_) => 1,
            Self::Text(_) => 2,
            Self::Tuple(_) => 3,
            Self::Int(_) | Self::Float(_) => 4,
        }
    }
}

/// An integer and a float as numbers, without rounding the integer; equal ones with the integer first.
#[expect(clippy::cast_precision_loss, reason = "compared as integers where that would matter")]
fn compare_mixed(number: i64, float: f64) -> Ordering {
    if float >= i64::MAX as f64 {
        return Ordering::Less;
    }
    if float < i64::MIN as f64 {
        return Ordering::Greater;
    }
    number.cmp(&(float.floor() as i64)).then(Ordering::Less)
}

fn compare(a: &Item, b: &Item) -> Ordering {
    match (a, b) {
        (Item::Bytes(a), Item::Bytes(b)) => a.cmp(b),
        (Item::Text(a), Item::Text(b)) => a.cmp(b),
        (Item::Tuple(a), Item::Tuple(b)) => compare_all(a, b),
        (Item::Int(a), Item::Int(b)) => a.cmp(b),
        (Item::Float(a), Item::Float(b)) => a.partial_cmp(b).expect("no NaN"),
        (&Item::Int(a), &Item::Float(b)) => compare_mixed(a, b),
        (&Item::Float(a), &Item::Int(b)) => compare_mixed(b, a).reverse(),
        _ => a.rank().cmp(&b.rank()),
    }
}

fn compare_all(a: &[Item], b: &[Item]) -> Ordering {
    let differing = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn write(to: &mut Writer, items: &[Item]) -> twindex_codec::Result<()> {
    items.iter().try_for_each(|item| match item {
        Item::Null => to.null(),
        Item::Bytes(bytes) => to.bytes(bytes),
        Item::Text(text) => to.text(text),
        Item::Tuple(items) => {
            to.begin()?;
            write(to, items)?;
            to.end()
        }
        Item::Int(number) => to.int(*number),
        Item::Float(number) => to.float(*number),
    })
}

fn packed(items: &[Item]) -> Vec<u8> {
    let mut to = Writer::new();
    write(&mut to, items).and_then(|()| to.finish()).expect("short and shallow")
}

fn read(key: &[u8]) -> twindex_codec::Result<Vec<Item>> {
    let mut open = vec![Vec::new()];
    for token in Reader::new(key) {
        let item = match token? {
            Token::Null => Item::Null,
            Token::Bytes(bytes) => Item::Bytes(bytes.into_owned()),
            Token::Text(text) => Item::Text(text.into_owned()),
            Token::Int(number) => Item::Int(number),
            Token::Float(number) => Item::Float(number),
            Token::Begin => {
                open.push(Vec::new());
                continue;
            }
            Token::End => Item::Tuple(open.pop().expect("one is open")),
        };
        open.last_mut().expect("the outermost stays").push(item);
    }
    Ok(open.pop().expect("the outermost stays"))
}

/// Many near each other, at the borders of sizes and signs.
fn numbers() -> impl Strategy<Value = Item> {
    let floats = [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 255.5, 9.3e18, -9.3e18, 9_007_199_254_740_992.0];
    prop_oneof![
        any::<i64>().prop_map(Item::Int),
        (0..64_u32, -2..3_i64).prop_map(|(bit, by)| Item::Int((1_i64 << bit).wrapping_add(by))),
        (-3..4_i64).prop_map(Item::Int),
        any::<f64>().prop_filter("NaN has no place", |float| !float.is_nan()).prop_map(Item::Float),
        prop::sample::select(floats.to_vec()).prop_map(Item::Float),
    ]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let byte = prop::sample::select(vec![0_u8, 1, 0x1e, 0xff, b'a']);
    let leaf = prop_oneof![
        Just(Item::Null),
        prop::collection::vec(byte, 0..5).prop_map(Item::Bytes),
        "[\u{0}a\u{ff}€]{0,4}".prop_map(Item::Text),
        numbers(),
        numbers(),
    ];
    let item =
        leaf.prop_recursive(3, 12, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Item::Tuple));
    prop::collection::vec(item, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn tuples_come_back(tuple in items()) {
        prop_assert_eq!(read(&packed(&tuple)), Ok(tuple));
    }

    #[test]
    fn short_forms_are_those_of_tuples(number in any::<i64>(), text in "[\u{0}a€]{0,3}[a-z]{0,19}") {
        let short = tuple::Short::int(number);
        prop_assert_eq!(short.as_ref(), packed(&[Item::Int(number)]));
        let long = packed(&[Item::Text(text.clone())]);
        match tuple::Short::text(&text) {
            Some(short) => prop_assert_eq!(short.as_ref(), long),
            None => prop_assert!(long.len() > 22 || text.contains('\0')),
        }
    }

    #[test]
    fn bytes_order_as_tuples(a in items(), b in items()) {
        prop_assert_eq!(packed(&a).cmp(&packed(&b)), compare_all(&a, &b));
    }

    #[test]
    fn a_prefix_has_what_starts_with_its_items(prefix in items(), other in items(), more in items()) {
        let (Ok(bounds), whole) = (tuple::prefix_range(&packed(&prefix)), [&prefix[..], &more].concat()) else {
            return Err(TestCaseError::fail("there is memory"));
        };
        let (Bound::Included(from), Bound::Excluded(to)) = bounds else { panic!("{bounds:?}") };
        let has = |items: &[Item]| (&from..&to).contains(&&packed(items));
        prop_assert!(has(&whole));
        prop_assert_eq!(has(&other), compare_all(&other[..prefix.len().min(other.len())], &prefix).is_eq());
    }

    #[test]
    fn what_is_read_is_what_is_written(key in prop::collection::vec(
        prop::sample::select(vec![0_u8, 1, 2, 3, 5, 0x0b, 0x0c, 0x13, 0x14, 0x15, 0x16, 0x1d, 0x1e, 0x1f, 0x3f, 0xf0, 0xff]),
        0..14,
    )) {
        if let Ok(tuple) = read(&key) {
            prop_assert_eq!(packed(&tuple), key);
        }
    }

    #[test]
    fn integers_order_as_numbers(a: i64, b: i64) {
        prop_assert_eq!(int::encode(a).cmp(&int::encode(b)), a.cmp(&b));
        prop_assert_eq!(int::decode(&int::encode(a)), Ok(a));
    }
}

#[test]
fn tuples_of_rust_come_back() -> twindex_codec::Result<()> {
    type Row = (Option<String>, u8, (i64, Vec<u8>), f64, tuple::Null, ());
    let row: Row = (None, 7, (-1, b"a\0b".to_vec()), 0.5, tuple::Null, ());
    let key = tuple::pack(&row)?;
    assert_eq!(tuple::unpack::<Row>(&key)?, row);
    assert_eq!(
        key,
        packed(&[
            Item::Null,
            Item::Int(7),
            Item::Tuple(vec![Item::Int(-1), Item::Bytes(b"a\0b".to_vec())]),
            Item::Float(0.5),
            Item::Null,
            Item::Tuple(vec![]),
        ])
    );
    Ok(())
}

#[test]
fn other_items_than_expected_are_named() -> twindex_codec::Result<()> {
    let key = tuple::pack(&("ada", 300))?;
    assert_eq!(tuple::unpack::<(i64, i64)>(&key), Err(Error::OtherItems { expected: "integer", offset: 5 }));
    assert_eq!(tuple::unpack::<(String,)>(&key), Err(Error::OtherItems { expected: "end", offset: 8 }));
    assert_eq!(
        tuple::unpack::<(String, u8)>(&key),
        Err(Error::OtherItems { expected: "integer of the type u8", offset: 8 })
    );
    assert_eq!(
        tuple::unpack::<(String, i64, i64)>(&key),
        Err(Error::OtherItems { expected: "further item", offset: 8 })
    );
    assert_eq!(tuple::pack(&(u64::MAX,)), Err(Error::OutOfRange));
    assert_eq!(u64::MAX.pack(&mut Writer::new()), Err(Error::OutOfRange));
    Ok(())
}
