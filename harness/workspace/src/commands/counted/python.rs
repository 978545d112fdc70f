//! `python -m pytest` (CODE-22).

use super::{Judgement, counts, hollow_option, with_option};

/// `python …`
pub fn judge(arguments: &[String]) -> Judgement {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))
        else {
            return Judgement::NoCheck;
        };
        rest = after;
        for (at, letter) in letters.char_indices() {
            let glued = letters.get(at + letter.len_utf8()..).filter(|value| !value.is_empty());
            match letter {
                'm' => {
                    let (module, rest) = match (glued, rest.split_first()) {
                        (Some(module), _) => (module, rest),
                        (None, Some((module, rest))) => (module.as_str(), rest),
                        (None, None) => return Judgement::NoCheck,
                    };
                    return if module == "pytest" { pytest(rest) } else { Judgement::NoCheck };
                }
                'X' | 'W' => {
                    if glued.is_none() {
                        rest = rest.get(1..).unwrap_or_default();
                    }
                    break;
                }
                'B' | 'b' | 'd' | 'E' | 'I' | 'O' | 'P' | 'q' | 's' | 'u' => {}
                _ => return Judgement::NoCheck,
            }
        }
    }
    Judgement::NoCheck
}

fn pytest(arguments: &[String]) -> Judgement {
    if let Some(option) = hollow_option(arguments, &["-V", "--cache-show", "--fixtures-per-test"]) {
        return with_option("pytest", option);
    }
    // By way of another option: -o addopts=--collect-only.
    if let Some(option) = arguments.iter().find(|word| word.contains("collect-only")) {
        return with_option("pytest", option);
    }
    counts("pytest")
}
