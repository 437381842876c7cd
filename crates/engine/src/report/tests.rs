//! Texts of files and peers in XML and annotations.

use super::*;
use crate::text::EscapedLines;

/// What a text can have that XML or an annotation has a meaning for, or cannot have.
const ODD: &str =
    "a ]]> <b>&amp; \"c\" 'd' 100%, e:f\tg\r\nh \u{0}\u{1b}[31m \u{85}\u{fffe}\u{ffff}";

fn odd() -> Suite {
    let mut failed = Case::new(ODD, Verdict::Failed, ODD);
    ODD.clone_into(&mut failed.text);
    failed.annotation = Some(Annotation { file: ODD.into(), line: 7, message: ODD.to_owned() });
    let skipped = Case::new("skipped", Verdict::Skipped, ODD);
    let passed = Case::new("passed", Verdict::Passed, "");
    Suite { name: ODD.to_owned(), cases: vec![failed, skipped, passed] }
}

#[test]
fn junit_escapes_what_xml_has_a_meaning_for_and_replaces_what_it_cannot_have() {
    let attribute = "a ]]&gt; &lt;b&gt;&amp;amp; &quot;c&quot; 'd' 100%, e:f&#9;g&#13;&#10;h \
                     \u{fffd}\u{fffd}[31m \u{85}\u{fffd}\u{fffd}";
    let text = attribute.replace("&#9;", "\t").replace("&#10;", "\n");
    let expected = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
           <testsuite name=\"{attribute}\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">\n    \
             <testcase classname=\"{attribute}\" name=\"{attribute}\">\n      \
               <failure message=\"{attribute}\">{text}</failure>\n    \
             </testcase>\n    \
             <testcase classname=\"{attribute}\" name=\"skipped\"><skipped message=\"{attribute}\"/></testcase>\n    \
             <testcase classname=\"{attribute}\" name=\"passed\"/>\n  \
           </testsuite>\n\
         </testsuites>\n"
    );
    assert_eq!(junit(&[odd()]), expected);
    let empty = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n</testsuites>\n";
    assert_eq!(junit(&[]), empty);
}

#[test]
fn an_annotation_is_one_line_whatever_its_texts_have() {
    let message = EscapedLines(ODD).to_string().replace('%', "%25").replace('\n', "%0A");
    let property = message.replace(':', "%3A").replace(',', "%2C");
    let expected = format!("::error file={property},line=7,title={property}::{message}\n");
    assert_eq!(github(&[odd()]), expected);
    assert_eq!(expected.lines().count(), 1);
    assert!(!expected.contains(['\r', '\0', '\x1b']), "{expected:?}");
}
