//! The forms of a report.

use super::*;

const FILE: &str = "
[[expect]]
name = 'answers: \"all\", 100%'
after = 'keep_alive and clientbound'
when = 'keep_alive and serverbound'
within = '1s'

[[expect]]
name = 'no <chat>'
when = 'chat'
never = true

[[expect]]
name = 'position'
after = 'position and clientbound'
when = 'position and serverbound'

[[expect]]
name = 'a login'
when = 'success'
";

fn made() -> ExpectReport {
    let mut session = Script::open(3, 0);
    session.success().ask(1).wait(10).say("1").say("2").say("3").say("4");
    session.wait(2_000).ask(2).answer(2);
    report(FILE, &session.close())
}

#[test]
fn a_failure_is_shown_with_the_packets_around_it_above_a_table() {
    let mut text = String::new();
    made().write_text(&mut text, &LineOptions::default());
    let expected = "\
failed: answers: \"all\", 100% (tests.toml:3)
  session 3 (Steve): no packet matches `keep_alive and serverbound` within 1s: expected >= 1
  after   00:00:00.000 #3 ← play      0x00 keep_alive           keepAliveId=1
          00:00:00.010 #3 → play      0x01 chat                 message=\"2\"
          00:00:00.010 #3 → play      0x01 chat                 message=\"3\"
          00:00:00.010 #3 → play      0x01 chat                 message=\"4\"
          00:00:02.010 #3 ← play      0x00 keep_alive           keepAliveId=2
          00:00:02.010 #3 → play      0x00 keep_alive           keepAliveId=2

failed: no <chat> (tests.toml:9)
  session 3 (Steve): 1 packet matches `chat`: expected == 0
          00:00:00.000 #3 ← login     0x02 success              uuid=\"069a79f4-44e9-4726-a5be-fca90e38aaf5\" username=\"Steve\"
          00:00:00.000 #3 ← play      0x00 keep_alive           keepAliveId=1
      >   00:00:00.010 #3 → play      0x01 chat                 message=\"1\"
          00:00:00.010 #3 → play      0x01 chat                 message=\"2\"
          00:00:00.010 #3 → play      0x01 chat                 message=\"3\"

result     judged   failed  expectation
failed          2        1  answers: \"all\", 100%
failed          1        1  no <chat>
skipped         0        0  position
passed          1        0  a login
4 expectations: 1 passed, 2 failed, 1 skipped
";
    assert_eq!(text, expected);
}

#[test]
fn junit_has_a_case_for_each_expectation() {
    let xml = junit(&made().suites(&LineOptions::default()));
    for part in [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"tests.toml\" tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\">\n",
        "<testcase classname=\"tests.toml\" name=\"answers: &quot;all&quot;, 100%\">\n      <failure message=\"no packet matches `keep_alive and serverbound` within 1s: expected &gt;= 1\">",
        "name=\"no &lt;chat&gt;\"",
        "name=\"position\"><skipped message=\"nothing was judged\"/></testcase>",
        "name=\"a login\"/>",
        "      &gt;   00:00:00.010 #3 → play      0x01 chat                 message=&quot;1&quot;\n",
        "</testsuite>\n</testsuites>\n",
    ] {
        assert!(xml.contains(part), "{part}\n{xml}");
    }
}

#[test]
fn json_has_every_failure_with_its_packets() {
    let json = made().json();
    let result = [&json["passed"], &json["failed"], &json["skipped"]];
    assert_eq!(result.map(|it| it.as_u64().unwrap()), [1, 2, 1]);
    let broken = &json["expectations"][1];
    assert_eq!(broken["result"], "failed");
    assert_eq!((&broken["line"], &broken["file"]), (&9.into(), &"tests.toml".into()));
    let failure = &broken["failures"][0];
    assert_eq!(failure["reason"], "1 packet matches `chat`: expected == 0");
    assert_eq!(failure["session"], 3);
    let place = usize::try_from(failure["broken_by"].as_u64().unwrap()).unwrap();
    assert_eq!(failure["packets"][place]["packet"], "chat");
    assert_eq!(failure["packets"][place]["seq"], 3);
    assert_eq!(json["expectations"][0]["failures"][0]["after"]["packet"], "keep_alive");
}

#[test]
fn annotations_name_the_line_of_the_expectation() {
    assert_eq!(
        github(&made().suites(&LineOptions::default())),
        "::error file=tests.toml,line=3,title=answers%3A \"all\"%2C 100%25::session 3 (Steve): no packet matches `keep_alive and serverbound` within 1s: expected >= 1\n\
         ::error file=tests.toml,line=9,title=no <chat>::session 3 (Steve): 1 packet matches `chat`: expected == 0\n"
    );
}
