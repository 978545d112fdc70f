use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

/// LOOP-22
#[rstest]
#[case("call +49 30 901820 today", "call [phone number] today")]
#[case("call +14155550123.", "call [phone number].")]
#[case("(555) 123-4567", "[phone number]")]
#[case("555-123-4567 or 555.123.4567", "[phone number] or [phone number]")]
#[case("text=0301234567", "text=[phone number]")]
#[case("tel:0301234567", "tel:[phone number]")]
#[case("0049 30 / 1234 567", "[phone number]")]
#[case("0301234567 0301234568", "[phone number] [phone number]")]
#[case("Ü +436601234567 ß", "Ü [phone number] ß")]
#[case("a +1 (415) 555-0123, b +1 (415) 555-0124", "a [phone number], b [phone number]")]
#[case("2026-01-02 0301234567", "2026-01-02 [phone number]")]
#[case("2026-01-02 030 1234567", "2026-01-02 [phone number]")]
#[case("192.168.100.200 0301234567", "192.168.100.200 [phone number]")]
#[case("invoice 20260102 0301234567", "invoice 20260102 [phone number]")]
#[case("030 1234567 030 1234568", "[phone number] [phone number]")]
#[case(r#"{"tel":"0301234567"}"#, r#"{"tel":"[phone number]"}"#)]
#[case("call 0301234567-now", "call [phone number]-now")]
#[case("text=03012345…", "text=[phone number]…")]
#[case("text=030 1234 …", "text=[phone number] …")]
#[case("call +49 17… today", "call [phone number]… today")]
fn a_phone_number_is_redacted(#[case] line: &str, #[case] expected: &str) {
    assert_eq!(redact(line), expected);
}

/// LOOP-22
#[rstest]
#[case("step 1: search limit=20 q=open billing problems")]
#[case("at 2026-01-02T10:00:00.123456789Z")]
#[case("at 2026-01-02 10:00:00")]
#[case("run 01934567-8901-7abc-8456-789012345678")]
#[case("HTTP 502: bad gateway from 192.168.100.200:8080")]
#[case("took 0.123456789 s")]
#[case("used 12345 tokens of 128000")]
#[case("commit 1234567890abcdef")]
#[case("used 1234… at 2026-01-02…")]
#[case("pi is 3.14159…")]
#[case("foundry-agent-1234567890")]
#[case("from 192.168.100.200/24 and 192.168.100.200 8 times")]
#[case("due 02.01.2026 10:00, 2026/01/02 10:00 and 01/02/2026 10:00")]
#[case("evaluation 12 2026-01-02 10:00:00")]
#[case("2026-01-02 - 2026-01-09")]
#[case("2026-01-02T10:00:00+01:00")]
#[case(r#"get_agent returned {"at":1767348000,"next": 1767348015000,"n":-1767348000}"#)]
#[case("run 01234567-8901-7123-8456-789012345678")]
#[case("run 01234567-8901-4bcd-8456-789012345678")]
#[case("")]
fn what_is_no_phone_number_stays(#[case] line: &str) {
    assert_eq!(redact(line), line);
}

/// LOOP-22
#[test]
fn strings_inside_data_are_redacted_and_numbers_stay() {
    let data = json!({"to": ["+4930901820"], "at": 1_767_348_000_000_000_i64, "n": {"x": "ok"}});
    assert_eq!(
        redact_value(data),
        json!({"to": [REPLACEMENT], "at": 1_767_348_000_000_000_i64, "n": {"x": "ok"}})
    );
}

proptest! {
    /// LOOP-22
    #[test]
    fn redacting_never_fails_and_is_done_after_once(line in "\\PC{0,80}") {
        let once = redact(&line).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    /// LOOP-22
    #[test]
    fn no_international_number_survives(
        before in "[a-z ]{0,10} ", digits in "[1-9][0-9]{7,13}", after in "( [a-z]{1,5})?"
    ) {
        let redacted = redact(&format!("{before}+{digits}{after}")).into_owned();
        prop_assert!(!redacted.contains(&digits), "{}", redacted);
    }
}

proptest! {
    /// LOOP-22
    #[test]
    fn no_id_and_no_instant_is_mangled(bits in any::<u128>(), micros in any::<i32>()) {
        let at = jiff::Timestamp::from_microsecond(1_767_348_000_000_000 + i64::from(micros))?;
        for version in [4, 5, 7] {
            let id = uuid::Builder::from_u128(bits)
                .with_version(if version == 7 {
                    uuid::Version::SortRand
                } else if version == 5 {
                    uuid::Version::Sha1
                } else {
                    uuid::Version::Random
                })
                .with_variant(uuid::Variant::RFC4122)
                .into_uuid();
            let line = format!("run {id} at {at}: {{\"id\":\"{id}\",\"at\":\"{at}\"}}");
            prop_assert_eq!(redact(&line), line.as_str());
        }
    }

    /// LOOP-22
    #[test]
    fn a_number_after_anything_is_redacted(before in "[0-9]{1,8}|[0-9]{4}-[0-9]{2}-[0-9]{2}") {
        let redacted = redact(&format!("{before} +4930901820 x")).into_owned();
        prop_assert!(redacted.ends_with("[phone number] x"), "{}", redacted);
    }
}
