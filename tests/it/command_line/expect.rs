//! Expectations: what `expect`, `check`, `replay filters` and `proxy` say of them, and their exit codes.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::Value as Json;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, fails, refuses, root, scratch_file, text};

const MET: &str = "
[[expect]]
name = 'a position after the login'
after = 'success'
when = 'position and clientbound'
within = '5s'

[[expect]]
name = 'in order'
order = ['success', 'login and clientbound', 'position and clientbound']
";

const BROKEN: &str = "
[[expect]]
name = 'nobody speaks'
when = 'serverbound and role.chat'
never = true
";

#[test]
fn a_capture_that_meets_every_expectation_has_exit_code_0_and_another_1() {
    let capture = root().join("captures/session-1.8.jsonl");
    let (tests, junit) = (scratch_file("met.toml"), scratch_file("met.xml"));
    std::fs::write(&tests, MET).unwrap();
    let arguments = ["expect", text(&capture), "-f", text(&tests), "--junit", text(&junit)];
    let said = Program::mitmcraft(&arguments).succeed();
    assert!(
        said.starts_with("result ") && said.ends_with("2 passed, 0 failed, 0 skipped\n"),
        "{said}"
    );
    assert!(std::fs::read_to_string(&junit).unwrap().contains(" tests=\"2\" failures=\"0\""));
    // Results are replaced only if asked for.
    assert!(refuses(&arguments).contains("--overwrite"));
    std::fs::write(&tests, format!("{MET}{BROKEN}")).unwrap();
    let arguments = [&arguments[..], &["--overwrite", "--annotations", "github"]].concat();
    let (status, said) = Program::mitmcraft(&arguments).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.contains("1 packet matches `serverbound and role.chat`: expected == 0\n"),
        "{said}"
    );
    assert!(said.contains("\n      > "), "{said}");
    assert!(said.contains("3 expectations: 2 passed, 1 failed, 0 skipped\n"), "{said}");
    let annotation = format!("\n::error file={},line=13,title=nobody speaks::", text(&tests));
    assert!(said.contains(&annotation), "{said}");
    let results = std::fs::read_to_string(&junit).unwrap();
    assert!(results.contains(" tests=\"3\" failures=\"1\"") && results.contains("<failure "));

    let both = [text(&capture), text(&root().join("captures/session-1.8-encrypted.pcapng"))]
        .map(str::to_owned);
    let arguments = ["expect", &both[0], &both[1], "-f", text(&tests), "--json"];
    let (status, said) = Program::mitmcraft(&arguments).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let json: Json = serde_json::from_str(&said).unwrap();
    assert_eq!((&json["passed"], &json["failed"]), (&2.into(), &1.into()));
    let captures = json["expectations"][2]["failures"].as_array().unwrap().iter();
    assert!(captures.map(|it| it["capture"].as_str().unwrap()).eq(both.iter()));
}

#[test]
fn a_file_that_expects_nothing_is_refused_and_skipped_is_not_met() {
    let capture = root().join("captures/status-1.8.jsonl");
    let tests = scratch_file("nothing.toml");
    std::fs::write(&tests, "[[rule]]\nwhen = 'position'\ndrop = true\n").unwrap();
    assert!(refuses(&["expect", text(&capture), "-f", text(&tests)]).contains("nothing to judge"));
    let junit = ["--junit", text(&scratch_file("nothing.xml"))].map(str::to_owned);
    let proxy = ["proxy", "127.0.0.1:1", "-f", text(&tests), &junit[0], &junit[1]];
    assert!(refuses(&proxy).contains("`--junit` needs an `[[expect]]`"));
    let proxy = ["proxy", "127.0.0.1:1", "-f", text(&tests), "--json"];
    assert!(refuses(&proxy).contains("`--json` needs an `[[expect]]`"));
    std::fs::write(&tests, "[[expect]]\nafter = 'success'\nwhen = 'position'\n").unwrap();
    let both = refuses(&[&proxy[..], &["-w", "-"]].concat());
    assert!(both.contains("`--json` cannot be used with `-w -`: both write to stdout"), "{both}");
    let (status, said) =
        Program::mitmcraft(&["expect", text(&capture), "-f", text(&tests)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("skipped         0        0  expectation 1\n"), "{said}");
}

#[test]
fn a_damaged_capture_is_judged_up_to_the_damage_with_exit_code_2() {
    let (tests, capture) = (scratch_file("damaged.toml"), scratch_file("damaged.jsonl"));
    std::fs::write(&tests, MET).unwrap();
    let whole = std::fs::read_to_string(root().join("captures/session-1.8.jsonl")).unwrap();
    std::fs::write(&capture, whole.trim_end().strip_suffix('}').unwrap()).unwrap();
    let said = fails(&["expect", text(&capture), "-f", text(&tests)], 2);
    assert!(said.contains(text(&capture)), "{said}");
}

#[test]
fn check_counts_expectations_and_reports_their_faults() {
    let tests = scratch_file("check.toml");
    std::fs::write(&tests, MET).unwrap();
    let said = Program::mitmcraft(&["check", text(&tests)]).succeed();
    assert_eq!(said, format!("{}: 0 rules, 2 expectations, 0 warnings\n", text(&tests)));
    std::fs::write(&tests, "[[expect]]\nwhen = 'position'\nwithn = '5s'\n").unwrap();
    let (status, said) = Program::mitmcraft(&["check", text(&tests)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains(":3:1\n  | withn = '5s'\n  | ^^^^^ did you mean `within`?"), "{said}");
}

#[test]
fn replay_filters_judges_what_the_rules_make_of_a_session() {
    let capture = root().join("captures/session-1.8.jsonl");
    let tests = scratch_file("filters.toml");
    let rule = "[[rule]]\nwhen = 'serverbound and held_item_slot'\n\
                send = [{ to = 'server', packet = 'chat', fields = { message = 'made' } }]\n\
                [[expect]]\nname = 'made'\nwhen = 'chat and message == \"made\"'\n";
    for (count, code) in [(1, 0), (2, 1)] {
        std::fs::write(&tests, format!("{rule}count = {count}\n")).unwrap();
        let arguments = ["replay", "filters", text(&capture), "-f", text(&tests), "-q"];
        let (status, said) = Program::mitmcraft(&arguments).finish();
        assert_eq!(status.code(), Some(code), "{said}");
        assert!(said.contains("1 matched, 1 acted"), "{said}");
        assert!(said.contains("\n1 expectation: "), "{said}");
        let (status, said) = Program::mitmcraft(&[&arguments[..], &["--json"]].concat()).finish();
        assert_eq!(status.code(), Some(code), "{said}");
        let results: Json = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert_eq!(results["failed"], code, "{said}");
    }
}

#[test]
fn a_proxy_judges_its_sessions_at_its_end() {
    for (count, code, json) in
        [("'>= 1'", 0, false), ("0", 1, false), ("'>= 1'", 0, true), ("0", 1, true)]
    {
        let server = Upstream::answering();
        let tests = scratch_file("proxy.toml");
        let expect = "[[expect]]\nafter = 'login_start'\nwhen = 'success'\nwithin = '1m'\ncount = ";
        std::fs::write(&tests, format!("{expect}{count}\n")).unwrap();
        let options = ["-f", text(&tests), "--json"];
        let mut proxy = Program::proxy(&server.address, &options[..if json { 3 } else { 2 }]);
        let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
        client.write_all(&hello(2)).unwrap();
        first_body(&mut client);
        proxy.interrupt();
        if json {
            let (status, said) = proxy.finish();
            assert_eq!(status.code(), Some(code), "{said}");
            let results: Json = serde_json::from_str(&said).unwrap();
            assert_eq!(
                (&results["passed"], &results["failed"]),
                (&(1 - code).into(), &code.into())
            );
            continue;
        }
        let said = proxy.wait_for_error("1 expectation: ");
        assert!(said.contains(if code == 0 { "1 passed" } else { "1 failed" }), "{said}");
        assert_eq!(proxy.finish().0.code(), Some(code));
    }
}
