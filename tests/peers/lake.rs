//! Captures in Parquet, read by DuckDB and pyarrow with the queries of `docs/lake.md`.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use mitmcraft_engine::capture::{CreateOptions, create_sink};
use serde_json::Value as Json;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::samples::*;
use crate::support::{Program, convert, root, scratch_file, text};

/// A folder with a `lake` of the repository's sessions and one with undecoded packets.
struct Lake {
    folder: PathBuf,
    /// The captures as they were.
    captures: Vec<PathBuf>,
    /// The Python packages that read them.
    environment: &'static str,
}

impl Lake {
    fn new() -> Self {
        let folder = scratch_file("lake");
        let undecoded = scratch_file("undecoded.jsonl");
        let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
        stage.open();
        for _ in 0..3 {
            // A keep-alive without its number.
            stage.body(Clientbound, Play, &[0x00]);
        }
        stage.close("over");
        let mut sink = create_sink(&undecoded, &CreateOptions::default()).unwrap();
        stage.entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        let names = ["session-1.8.jsonl", "session-1.12.2.jsonl", "session-26.3.jsonl"];
        let mut captures: Vec<PathBuf> =
            names.iter().map(|name| root().join("captures").join(name)).collect();
        captures.push(undecoded);
        for (place, capture) in captures.iter().enumerate() {
            let host = folder.join(format!("lake/host=host{}", place % 2));
            fs::create_dir_all(&host).unwrap();
            convert(&[text(capture), text(&host.join(format!("part-{place}.parquet")))]);
        }
        Self { folder, captures, environment: "tests/real/venv" }
    }

    fn stats(&self) -> Json {
        let captures = self.captures.iter().map(|capture| text(capture));
        let arguments: Vec<&str> = ["stats", "--json"].into_iter().chain(captures).collect();
        serde_json::from_str(&Program::mitmcraft(&arguments).succeed()).unwrap()
    }

    /// Returns the rows that the code below `title` on the page prints.
    fn answer(&self, title: &str) -> Vec<Vec<String>> {
        let (language, code) = code("", title);
        if language == "sql" { self.sql(&code) } else { self.run(&[&code]) }
    }

    /// Returns the packets and bytes of each player.
    fn players(&self) -> Vec<Vec<String>> {
        let mut players: std::collections::BTreeMap<String, [u64; 2]> = Default::default();
        for session in self.stats()["sessions"].as_array().unwrap() {
            let player = session["player"].as_str().unwrap_or("None").to_owned();
            let sums = players.entry(player).or_default();
            for (sum, key) in sums.iter_mut().zip(["packets", "wire"]) {
                *sum += session[key].as_u64().unwrap();
            }
        }
        let row = |(player, [packets, wire]): (String, [u64; 2])| {
            vec![player, packets.to_string(), wire.to_string()]
        };
        sorted(players.into_iter().map(row).collect())
    }

    /// Returns who wrote `hello` and what.
    fn chat(&self) -> Vec<Vec<String>> {
        let mut expected = Vec::new();
        for capture in &self.captures {
            let condition =
                "serverbound and (chat or chat_message) and lower(message) contains \"hello\"";
            let fields = "--fields=session.player,message";
            let shown =
                Program::mitmcraft(&["show", "-Y", condition, fields, text(capture)]).succeed();
            expected.extend(shown.lines().map(|row| row.split('\t').map(str::to_owned).collect()));
        }
        assert!(expected.len() > 2, "{expected:?}");
        sorted(expected)
    }

    /// Checks the answers of an engine to the four questions.
    fn check(&self, answers: [Vec<Vec<String>>; 4]) {
        let [players, chat, undecoded, round_trips] = answers;
        assert_eq!(sorted(players), self.players());
        assert_eq!(sorted(chat.into_iter().map(|row| row[1..].to_vec()).collect()), self.chat());
        let stats = self.stats();
        let known = stats["undecoded"].as_array().unwrap();
        let packets: u64 = known.iter().map(|cause| cause["packets"].as_u64().unwrap()).sum();
        assert_eq!(
            (packets, undecoded),
            (3, vec![vec!["1.8".into(), "keep_alive".into(), "3".into()]])
        );
        let known = stats["round_trips"].as_array().unwrap();
        let known = known.iter().find(|it| it["name"] == "keep-alive").unwrap();
        let [row] = &round_trips[..] else { panic!("{round_trips:?}") };
        assert_eq!(row[0], known["answered"].to_string());
        for (found, known) in [(&row[1], &known["shortest"]), (&row[2], &known["longest"])] {
            // DuckDB's timestamps end at the microsecond.
            let apart = found.parse::<f64>().unwrap() - known.as_f64().unwrap();
            assert!(apart.abs() < 1.1e-6, "{found} {known}");
        }
    }

    fn sql(&self, query: &str) -> Vec<Vec<String>> {
        self.run(&[DUCKDB, query])
    }

    fn run(&self, code: &[&str]) -> Vec<Vec<String>> {
        python(&self.folder, self.environment, code)
    }
}

/// The questions that the page answers in the language of each engine.
const QUESTIONS: [&str; 4] = [
    "Packets and bytes per player:",
    "What players wrote, in every version:",
    "Packets that do not decode, by version:",
    "Round trips of keep-alives, in seconds:",
];

/// Returns the first code of the page below a title, after the heading of a section, and its language.
fn code(section: &str, title: &str) -> (String, String) {
    let page = fs::read_to_string(root().join("docs/lake.md")).unwrap();
    let (_, page) = page.split_once(section).unwrap();
    let code = page.split_once(title).unwrap().1.split("```").nth(1).unwrap();
    let (language, code) = code.split_once('\n').unwrap();
    (language.to_owned(), code.to_owned())
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

fn python(folder: &Path, environment: &str, code: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new(root().join(environment).join("bin/python"));
    let output = command.arg("-c").args(code).current_dir(folder).output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    let rows = String::from_utf8(output.stdout).unwrap();
    rows.lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect()
}

/// Prints the rows of a query.
const DUCKDB: &str = "\
import duckdb, sys
for row in duckdb.sql(sys.argv[1]).fetchall():
    print(*row, sep='\\t')
";

fn rows<const N: usize>(expected: &[[String; N]]) -> Vec<Vec<String>> {
    sorted(expected.iter().map(|row| row.to_vec()).collect())
}

#[test]
fn duckdb_answers_as_stats_and_show_do() {
    let lake = Lake::new();
    lake.check(QUESTIONS.map(|question| lake.answer(question)));
}

/// With the Python packages that `tests/run --long` installs, and Java.
#[test]
#[ignore = "needs large packages: tests/run --long"]
fn spark_and_clickhouse_answer_as_stats_and_show_do() {
    let lake = Lake::new();
    for (section, setup, ask) in
        [("## Spark", code("## Spark", "").1, SPARK), ("## ClickHouse", String::new(), CLICKHOUSE)]
    {
        let queries = QUESTIONS.map(|question| code(section, question).1);
        let mut program = vec![setup + ask];
        program.extend(queries);
        let program: Vec<&str> = program.iter().map(String::as_str).collect();
        let rows = python(&lake.folder, "target/tools/lake", &program);
        let mut answers: [Vec<Vec<String>>; 4] = Default::default();
        for row in rows {
            answers[row[0].parse::<usize>().unwrap()].push(row[1..].to_vec());
        }
        lake.check(answers);
    }
}

/// Prints the rows of each query, behind its number.
const SPARK: &str = "
import sys
for number, query in enumerate(sys.argv[1:]):
    for row in spark.sql(query).collect():
        print(number, *row, sep='\\t')
";

/// The same, with ClickHouse.
const CLICKHOUSE: &str = "
import chdb, json, sys
for number, query in enumerate(sys.argv[1:]):
    for line in str(chdb.query(query, 'JSONCompactEachRow')).splitlines():
        print(number, *json.loads(line), sep='\\t')
";

#[test]
fn pyarrow_filters_row_groups_and_has_nanoseconds() {
    check_pyarrow(&Lake::new());
}

/// Those that `tests/run --long` finds on that day.
#[test]
#[ignore = "needs the newest packages: tests/run --long"]
fn the_newest_engines_answer_as_the_pinned_ones_do() {
    let lake = Lake { environment: "target/tools/newest", ..Lake::new() };
    lake.check(QUESTIONS.map(|question| lake.answer(question)));
    check_pyarrow(&lake);
    check_statistics(&lake);
    let polars = "import polars, sys\n\
        rows = polars.scan_parquet('lake/**/*.parquet', missing_columns='insert')\n\
        rows = rows.filter(polars.col('packet') == 'chat').group_by('player').agg(polars.len(), polars.sum('wire'))\n\
        for row in rows.collect().rows(): print(*row, sep='\\t')";
    let pandas = "import pandas\n\
        rows = pandas.read_parquet('lake')\n\
        rows = rows[rows.packet == 'chat'].groupby('player', dropna=False).wire.agg(['count', 'sum']).astype('int64')\n\
        for row in rows.itertuples(): print(*row, sep='\\t')";
    let expected = sorted(lake.answer("With [pyarrow]"));
    for code in [polars, pandas] {
        assert_eq!(sorted(lake.run(&[code])), expected);
    }
    // A copy is a capture as the page says.
    lake.run(&["import duckdb\n\
        copy = \"COPY (SELECT * FROM 'lake/host=host0/part-0.parquet') TO 'copy.parquet' (COMPRESSION zstd)\"\n\
        duckdb.sql(copy)"]);
    let (back, again) = (scratch_file("back.jsonl"), scratch_file("again.jsonl"));
    convert(&[text(&lake.folder.join("copy.parquet")), text(&back)]);
    convert(&[text(&lake.folder.join("lake/host=host0/part-0.parquet")), text(&again)]);
    assert!(fs::read(&back).unwrap() == fs::read(&again).unwrap());
}

#[test]
fn a_copy_with_another_compression_is_named_as_such() {
    let lake = Lake::new();
    let copy = lake.folder.join("copy.parquet");
    // As DuckDB does unless it is told otherwise; DuckDB 1 also leaves out the nanoseconds.
    lake.run(&["import pyarrow.parquet as it\n\
        it.write_table(it.ParquetFile('lake/host=host0/part-0.parquet').read(), 'copy.parquet', compression='snappy')"]);
    let (status, said) = Program::mitmcraft(&["show", text(&copy)]).fail();
    assert!(
        !status.success() && said.contains("compressed with SNAPPY") && !said.contains("damaged"),
        "{said}"
    );
}

#[test]
fn readers_use_the_minimum_and_maximum_of_floats() {
    check_statistics(&Lake::new());
}

fn check_statistics(lake: &Lake) {
    let table = lake.folder.join("positions.parquet");
    let from = root().join("captures/session-1.8.jsonl");
    convert(&["--table", "position: x, y, z", text(&from), text(&table)]);
    let code = "import pyarrow.parquet as it, pyarrow.dataset as dataset\n\
        for name, column in [('lake/host=host0/part-0.parquet', 't'), ('positions.parquet', 'x')]:\n    \
            group = it.ParquetFile(name).metadata.row_group(0)\n    \
            found = [group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == column][0].statistics\n    \
            values = it.read_table(name, columns=[column], partitioning=None)[column].to_pylist()\n    \
            values = [it for it in values if it is not None]\n    \
            most = max(values)\n    \
            fragment = next(dataset.dataset(name).get_fragments())\n    \
            left = [len(fragment.split_by_row_group(dataset.field(column) > bound)) for bound in (most, most - 1)]\n    \
            print(found.has_min_max, found.min == min(values), found.max == most, *left, sep='\\t')";
    let found = lake.run(&[code]);
    assert_eq!(found[0][..3], ["True", "True", "True"]);
    // Without nulls, which might be anything.
    assert_eq!(found[1], ["True", "True", "True", "0", "1"]);
}

fn check_pyarrow(lake: &Lake) {
    let expected = lake.sql(
        "SELECT player, count(*), sum(wire)::BIGINT FROM 'lake/**/*.parquet' WHERE packet = 'chat' GROUP BY 1",
    );
    let mut answer = lake.answer("With [pyarrow]");
    answer.sort();
    let expected: Vec<[String; 3]> =
        expected.into_iter().map(|row| row.try_into().unwrap()).collect();
    assert_eq!(answer, rows(&expected));
    let first = repository_capture("session-1.8.jsonl")[0].at().0;
    let time = "import pyarrow.parquet as it; t = it.read_table('lake/host=host0/part-0.parquet', columns=['time'])\n\
        print(t.schema.field('time').type, t['time'][0].value, sep='\\t')";
    assert_eq!(lake.run(&[time]), [["timestamp[ns, tz=UTC]".to_owned(), first.to_string()]]);
}

#[test]
fn the_bloom_filter_excludes_packets_that_a_row_group_does_not_have() {
    let lake = Lake::new();
    let excludes = |packet: &str| {
        lake.sql(&format!(
            "SELECT bloom_filter_excludes FROM parquet_bloom_probe('lake/host=host0/part-0.parquet', 'packet', '{packet}')"
        ))
    };
    assert_eq!(excludes("chat"), [["False"]]);
    // Between `abilities` and `world_particles`, so that minimum and maximum say nothing.
    assert_eq!(excludes("explosion"), [["True"]]);
}

#[test]
fn a_file_with_fewer_columns_is_read_together_with_others_and_back() {
    let lake = Lake::new();
    let old = lake.folder.join("lake/host=host0/old.parquet");
    let copy = "import pyarrow.parquet as it\n\
        rows = it.ParquetFile('lake/host=host0/part-0.parquet').read()\n\
        it.write_table(rows.drop(['limit', 'meaning', 'raw_bytes']), 'lake/host=host0/old.parquet', compression='zstd')";
    lake.run(&[copy]);
    let query = "SELECT count(*), count(DISTINCT session), count(meaning) \
        FROM read_parquet(['lake/host=host0/old.parquet', 'lake/host=host0/part-0.parquet'], union_by_name = true) \
        WHERE event IS NULL";
    let rows = repository_capture("session-1.8.jsonl").iter().filter_map(|it| it.record()).count();
    assert_eq!(lake.sql(query), [[(2 * rows).to_string(), "1".into(), "0".into()]]);
    let back = scratch_file("old.jsonl");
    let new = scratch_file("new.jsonl");
    convert(&[text(&old), text(&back)]);
    convert(&[text(&lake.captures[0]), text(&new)]);
    assert!(fs::read(&back).unwrap() == fs::read(&new).unwrap());
}

#[test]
fn a_table_has_the_types_of_the_fields() {
    let lake = Lake::new();
    let from = root().join("captures/session-1.8.jsonl");
    let table = |spec: &str| {
        let file = scratch_file("table.parquet");
        convert(&["--table", spec, text(&from), text(&file)]);
        let columns = lake.sql(&format!("DESCRIBE SELECT * FROM '{}'", text(&file)));
        let types = columns.iter().map(|row| format!("{} {}", row[0], row[1])).collect::<Vec<_>>();
        (types.join(", "), lake.sql(&format!("SELECT * FROM '{}'", text(&file))))
    };
    let (types, rows) = table("chat: time, session.player, dir, message");
    let expected =
        "time TIMESTAMP WITH TIME ZONE, session.player VARCHAR, dir VARCHAR, message VARCHAR";
    assert_eq!(types, expected);
    assert_eq!(rows.len(), 6);
    assert!(rows[0][1..] == ["Tester", "serverbound", "hello from a real client"], "{rows:?}");
    let (types, rows) = table("position and clientbound: x, yaw, flags, pkt.body, len(pkt.name)");
    assert_eq!(types, "x DOUBLE, yaw DOUBLE, flags VARCHAR, pkt.body BLOB, len(pkt.name) BIGINT");
    assert_eq!(rows.len(), 1);
    let (types, rows) = table("window_items: items, items[0].blockId, windowId, session");
    assert_eq!(types, "items VARCHAR, items[0].blockId BIGINT, windowId BIGINT, session VARCHAR");
    assert!(
        rows[0][0].starts_with("[{") && rows[0][3].starts_with("2026-11-21T02:20:01."),
        "{rows:?}"
    );
}

#[test]
fn the_lake_of_a_proxy_has_its_date_and_host_as_columns() {
    let folder = scratch_file("growing");
    let lake = folder.join("lake");
    let upstream = Upstream::answering();
    for host in ["eu1", "eu2"] {
        let options = ["--lake", text(&lake), "--lake-host", host];
        let mut proxy = Program::proxy(&upstream.address, &options);
        let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
        client.write_all(&hello(2)).unwrap();
        first_body(&mut client);
        proxy.interrupt();
        proxy.succeed();
    }
    let query = "SELECT host, packet, count(*), count(DISTINCT date = strftime(time, '%Y-%m-%d')) \
        FROM read_parquet('lake/**/*.parquet', hive_partitioning = true, hive_types_autocast = false) \
        WHERE packet IS NOT NULL AND verdict <> 'send' GROUP BY host, packet ORDER BY host, packet";
    let expected: Vec<Vec<String>> = ["eu1", "eu2"]
        .into_iter()
        .flat_map(|host| {
            ["login_start", "set_protocol", "success"]
                .map(|packet| [host, packet, "1", "1"].map(str::to_owned).to_vec())
        })
        .collect();
    assert_eq!(python(&folder, "tests/real/venv", &[DUCKDB, query]), expected);
}
