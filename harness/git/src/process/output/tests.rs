use pretty_assertions::assert_eq;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn collect(limits: OutputLimits, chunks: &[&[u8]]) -> (Output, TempDir) {
    let folder = TempDir::new().unwrap();
    let mut collector = Collector::new(limits, folder.path().join("deep/output.txt"));
    for chunk in chunks {
        collector.push(chunk);
    }
    (collector.finish().unwrap(), folder)
}

fn limits(head: usize, tail: usize) -> OutputLimits {
    OutputLimits { head, tail, file: 1 << 20 }
}

#[test]
fn what_fits_is_whole_and_makes_no_file() {
    let (output, folder) = collect(limits(4, 4), &[b"abc", b"defgh"]);
    let whole = Output {
        head: "abcdefgh".to_owned(),
        tail: String::new(),
        total_bytes: 8,
        omitted_bytes: 0,
        full_text: None,
    };
    assert_eq!(output, whole);
    assert_eq!(output.to_string(), "abcdefgh");
    assert!(!folder.path().join("deep").exists());
}

#[test]
fn what_does_not_fit_says_how_much_was_left_out_and_where_it_is() {
    let (output, folder) = collect(limits(4, 4), &[b"abc", b"def", b"ghijklm"]);
    let path = folder.path().join("deep/output.txt");
    assert_eq!(
        output,
        Output {
            head: "abcd".to_owned(),
            tail: "jklm".to_owned(),
            total_bytes: 13,
            omitted_bytes: 5,
            full_text: Some(FullText { path: path.clone(), bytes: 13 }),
        }
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"abcdefghijklm");
    let told = format!("abcd\n[5 of 13 bytes left out; full output in {}]\njklm", path.display());
    assert_eq!(output.to_string(), told);
}

#[test]
fn the_file_has_its_own_limit_and_the_text_says_so() {
    let limits = OutputLimits { file: 10, ..limits(2, 2) };
    let (output, folder) = collect(limits, &[b"0123456789abcdef"]);
    let path = folder.path().join("deep/output.txt");
    assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
    let told = output.to_string();
    assert!(told.contains("12 of 16 bytes left out; its first 10 bytes are in"), "{told}");
}

#[test]
fn invalid_utf_8_is_replaced_and_a_cut_character_left_off() {
    let (output, _folder) = collect(limits(100, 0), &[b"a\xFFb"]);
    assert_eq!(output.head, "a\u{FFFD}b");
    // The cut after four bytes parts the second é, the one before the tail another.
    let (output, _folder) = collect(limits(4, 4), &["aéé------éé-".as_bytes()]);
    assert_eq!((output.head.as_str(), output.tail.as_str()), ("aé", "é-"));
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("deep"), "a file").unwrap();
    let mut collector = Collector::new(limits(1, 1), folder.path().join("deep/output.txt"));
    collector.push(b"more than fits");
    collector.push(b"and more");
    assert!(collector.finish().is_err());
}

proptest! {
    /// Whatever the chunks, head and tail are those of the whole, and the file is it.
    #[test]
    fn chunks_do_not_matter(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12),
        head in 0_usize..30,
        tail in 0_usize..30,
    ) {
        let whole = chunks.concat();
        let slices: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
        let (output, _folder) = collect(limits(head, tail), &slices);
        prop_assert_eq!(output.total_bytes, whole.len() as u64);
        match output.full_text {
            None => {
                prop_assert!(whole.len() <= head + tail);
                prop_assert_eq!(output.head, String::from_utf8_lossy(&whole).into_owned());
            }
            Some(file) => {
                prop_assert!(whole.len() > head + tail);
                let omitted = usize::try_from(output.omitted_bytes).unwrap();
                let surplus = whole.len() - head - tail;
                prop_assert!((surplus..=surplus + 6).contains(&omitted));
                prop_assert_eq!(std::fs::read(file.path).unwrap(), whole);
            }
        }
    }

    /// A text of whole characters never shows a replacement for our cuts.
    #[test]
    fn our_cuts_never_part_a_character(text in "\\PC{0,80}", head in 4_usize..20, tail in 4_usize..20) {
        prop_assume!(!text.contains(char::REPLACEMENT_CHARACTER));
        let (output, _folder) = collect(limits(head, tail), &[text.as_bytes()]);
        let told = output.to_string();
        prop_assert!(!told.contains(char::REPLACEMENT_CHARACTER), "{}", told);
    }
}

#[test]
fn a_link_in_the_place_of_the_full_text_is_not_written_through() {
    let folder = TempDir::new().unwrap();
    let (path, other) = (folder.path().join("output.txt"), folder.path().join("other"));
    std::fs::write(&other, "kept").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    let mut collector = Collector::new(limits(2, 2), path.clone());
    collector.push(b"a long output");
    assert_eq!(collector.finish().unwrap_err().0, path);
    assert_eq!(std::fs::read(other).unwrap(), b"kept");
}
