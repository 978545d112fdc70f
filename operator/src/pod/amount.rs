//! Amounts of CPU and memory, as Kubernetes writes them.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Thousandths of a unit in a quantity, such as 500 in `500m` and 2,147,483,648,000 in
/// `2Gi`; none for one that is negative, too large or no quantity.
pub fn thousandths(quantity: &Quantity) -> Option<u64> {
    let text = quantity.0.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (base, exponent) = scale(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // The digits without their point, times ten for each step the exponent goes beyond
    // them; what is finer than a thousandth is cut off.
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let steps = exponent + 3 - i32::try_from(fraction.len()).ok()?;
    let tens = 10_u128.checked_pow(steps.unsigned_abs())?;
    let scaled = digits.checked_mul(base)?;
    let amount = if steps >= 0 { scaled.checked_mul(tens)? } else { scaled / tens };
    u64::try_from(amount).ok()
}

/// What a suffix multiplies by: a power of two, and an exponent of ten.
fn scale(suffix: &str) -> Option<(u128, i32)> {
    let binary = |power: u32| (1_u128 << power, 0);
    Some(match suffix {
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "" => (1, 0),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => (
            1,
            suffix.strip_prefix(['e', 'E'])?.parse().ok().filter(|it| (-30..=30).contains(it))?,
        ),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn read(text: &str) -> Option<u64> {
        thousandths(&Quantity(text.to_owned()))
    }

    #[rstest]
    #[case("4", 4_000)]
    #[case("500m", 500)]
    #[case("0.5", 500)]
    #[case(".5", 500)]
    #[case("1.", 1_000)]
    #[case("2500m", 2_500)]
    #[case("8Gi", 8 * 1024 * 1024 * 1024 * 1_000)]
    #[case("1.5Gi", 1_610_612_736_000)]
    #[case("8G", 8_000_000_000_000)]
    #[case("128974848", 128_974_848_000)]
    #[case("129e6", 129_000_000_000)]
    #[case("1E3", 1_000_000)]
    #[case("1P", 1_000_000_000_000_000_000)]
    #[case("100u", 0)]
    #[case("0", 0)]
    fn an_amount_is_read_as_kubernetes_writes_it(#[case] text: &str, #[case] amount: u64) {
        assert_eq!(read(text), Some(amount), "{text}");
    }

    #[rstest]
    #[case("")]
    #[case("-1")]
    #[case("four")]
    #[case("4 Gi")]
    #[case("4gi")]
    #[case("1.2.3")]
    #[case("1e99")]
    #[case("99E")]
    #[case("99999999999999999999999999999999999999999")]
    fn what_is_no_amount_is_none(#[case] text: &str) {
        assert_eq!(read(text), None, "{text}");
    }

    proptest! {
        #[test]
        fn whole_amounts_survive(number in 0_u64..1_000_000) {
            prop_assert_eq!(read(&number.to_string()), Some(number * 1_000));
            prop_assert_eq!(read(&format!("{number}m")), Some(number));
            prop_assert_eq!(read(&format!("{number}Mi")), Some(number * 1024 * 1024 * 1_000));
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}") {
            let _amount = read(&text);
        }
    }
}
