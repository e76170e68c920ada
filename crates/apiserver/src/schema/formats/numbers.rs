//! Numbers with a check digit.

/// An ISBN of ten digits; spaces and dashes may stand anywhere.
pub(super) fn is_isbn10(text: &str) -> bool {
    let Some(digits) = book_digits(text) else { return false };
    let sum: u32 = digits.iter().zip(1..).map(|(digit, place)| digit * place).sum();
    let only_last_is_ten = digits.iter().take(9).all(|digit| *digit < 10);
    digits.len() == 10 && only_last_is_ten && sum.is_multiple_of(11)
}

/// An ISBN of thirteen digits; spaces and dashes may stand anywhere.
pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(digits) = book_digits(text) else { return false };
    let sum: u32 = digits.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    digits.len() == 13 && digits.iter().all(|digit| *digit < 10) && sum.is_multiple_of(10)
}

/// The digits of a book number; `X` is ten.
fn book_digits(text: &str) -> Option<Vec<u32>> {
    let kept = text.chars().filter(|char| !matches!(char, '-' | ' ' | '\t' | '\n' | '\r' | '\u{c}'));
    kept.map(|char| if char == 'X' { Some(10) } else { char.to_digit(10) }).collect()
}

/// A number of a known card company with a right check digit; everything that is no digit is ignored.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .zip([1, 2].into_iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .map(|value| value / 10 + value % 10)
        .sum();
    is_card_of_a_company(&digits) && sum.is_multiple_of(10)
}

fn is_card_of_a_company(digits: &[u32]) -> bool {
    match digits.len() {
        13 => matches!(digits, [4, ..]),
        14 => matches!(digits, [3, 0, 0..=5, ..] | [3, 6 | 8, ..]),
        15 => matches!(digits, [3, 4 | 7, ..] | [2, 1, 3, 1, ..] | [1, 8, 0, 0, ..]),
        16 => matches!(digits, [4, ..] | [5, 1..=5, ..] | [6, 0, 1, 1, ..] | [6 | 3, 5, ..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_checked() {
        assert!(is_isbn10("3-8362-2119-5") && is_isbn10("080442957X") && !is_isbn10("3836221196"));
        assert!(is_isbn13("978-4-87311-368-5") && !is_isbn13("9784873113686"));
        assert!(is_credit_card("4111-1111-1111-1111") && !is_credit_card("4111-1111-1111-1112"));
        assert!(!is_credit_card("0000000000000000"));
    }
}
