//! What users get wrong: where it is, what it is, how to mend it.

use fairwind_machine::Machine;

const X5570: &str = include_str!("../../../machines/x5570.toml");

fn error(file: &str, text: &str) -> String {
    Machine::from_text(file, text).unwrap_err().to_string()
}

/// Line of the only place where `what` is in `text`.
fn line_of(text: &str, what: &str) -> usize {
    let found: Vec<usize> = (1..)
        .zip(text.lines())
        .filter(|(_, l)| l.contains(what))
        .map(|(n, _)| n)
        .collect();
    assert_eq!(found.len(), 1, "{what} is on lines {found:?}");
    found[0]
}

#[test]
fn unknown_names_list_what_there_is() {
    let text = Machine::load("x5571").unwrap_err().to_string();
    assert!(
        text.contains("no machine 'x5571'") && text.contains("x5570, wsm-ex"),
        "{text}"
    );
    let text = Machine::load("x5571@x5570").unwrap_err().to_string();
    assert!(text.contains("no machine 'x5571'"), "{text}");
    let text = Machine::load("2x4").unwrap_err().to_string();
    assert!(
        text.contains("2 numbers; write SOCKETSxCORESxTHREADS"),
        "{text}"
    );
}

#[test]
fn a_wrong_number_of_smt_speeds() {
    let text = X5570.replace("threads_per_core = 2", "threads_per_core = 4");
    let line = line_of(&text, "speed_per_1024");
    let message = error("my.toml", &text);
    let start = format!("my.toml:{line}:28: 2 speeds for 4 threads per core; give one for each");
    assert!(message.starts_with(&start), "{message}");
}

#[test]
fn a_matrix_of_the_wrong_size() {
    let text = X5570.replace("sockets = 2", "sockets = 3");
    let line = line_of(&text, "node_distance =");
    let message = error("my.toml", &text);
    assert!(
        message.starts_with(&format!("my.toml:{line}:17: node_distance is not 3 x 3")),
        "{message}"
    );
}

#[test]
fn an_unknown_key_and_a_missing_one() {
    let text = X5570.replace("wakeup_ns = {", "wake_up_ns = {");
    let line = line_of(&text, "wake_up_ns");
    let message = error("my.toml", &text);
    assert!(
        message.starts_with(&format!("my.toml:{line}:1: unknown field `wake_up_ns`")),
        "{message}"
    );
    let message = error("my.toml", "name = \"a\"\ndescription = \"b\"\n");
    assert!(message.contains("missing field `topology`"), "{message}");
    let message = error("my.toml", "name = \n");
    assert!(message.starts_with("my.toml:1:8: "), "{message}");
}

#[test]
fn numbers_that_make_no_machine() {
    for (from, to, what) in [
        (
            "cores_per_llc = 4",
            "cores_per_llc = 0",
            "every number must be at least 1",
        ),
        (
            "cores_per_llc = 4",
            "cores_per_llc = 4\ncores_per_cluster = 3",
            "must divide",
        ),
        (
            "sockets = 2",
            "sockets = 2\nsockets_per_node = 3",
            "sockets_per_node must divide sockets",
        ),
        (
            "sockets = 2",
            "sockets = 2\nsockets_per_node = 2\nnodes_per_socket = 2",
            "either a node has several sockets",
        ),
        (
            "[[10, 21], [21, 10]]",
            "[[10, 10], [21, 10]]",
            "not that of an ACPI SLIT",
        ),
        ("[1024, 640]", "[1000, 640]", "speeds must start at 1024"),
        ("[1024, 640]", "[1024, 0]", "speeds must start at 1024"),
        (
            "[[2, 3333000], [4, 3200000]]",
            "[[4, 3333000], [2, 3200000]]",
            "turbo steps are not in order",
        ),
        (
            "invariance_cores = { value = 4",
            "invariance_cores = { value = 5",
            "no turbo for 5 active cores",
        ),
        (
            "target_residency_ns = 6000,",
            "target_residency_ns = 60000,",
            "out of order",
        ),
        ("{ value = [106000]", "{ value = []", "0 remote distances"),
        (
            "{ value = 64, source = \"Intel SDM",
            "{ value = 0, source = \"Intel SDM",
            "line_bytes is 0",
        ),
        ("{ value = 2933000", "{ value = 0", "base_khz is 0"),
        ("{ value = 70, ", "{ value = -70, ", "invalid value"),
        (
            "{ value = 70, source = \"typical of this class: lmbench",
            "{ source = \"",
            "missing field `value`",
        ),
    ] {
        assert!(X5570.contains(from), "{from}");
        let message = error("my.toml", &X5570.replace(from, to));
        assert!(message.contains(what), "{to}: {message}");
    }
}

#[test]
fn xml_that_is_no_topology() {
    let message = error(
        "a.xml",
        "<topology>\n  <object type=\"PU\" os_index=\"0\">\n</topology>",
    );
    assert!(message.starts_with("a.xml:3:"), "{message}");
    let message = error("a.xml", "<html/>");
    assert!(
        message.contains("a.xml:1:1: the root element is <html>, not <topology>"),
        "{message}"
    );
    let message = error("a.xml", "<topology>\n</topology>");
    assert!(message.contains("a.xml:1:1: no online CPU"), "{message}");
    let message = error(
        "a.xml",
        "<topology>\n <object type=\"PU\" os_index=\"x\"/>\n</topology>",
    );
    assert!(
        message.starts_with("a.xml:2:2: os_index=\"x\" is not a whole number"),
        "{message}"
    );
    let message = error(
        "a.xml",
        "<topology><object type=\"NUMANode\" os_index=\"0\"\n cpuset=\"0xf...f\">\n\
         <object type=\"PU\" os_index=\"0\"/></object></topology>",
    );
    assert!(
        message.starts_with("a.xml:2:2: cpuset: '0xf...f' is not a 32-bit"),
        "{message}"
    );
    let twice = "<topology><object type=\"PU\" os_index=\"0\"/><object type=\"PU\" os_index=\"0\"/></topology>";
    assert!(error("a.xml", twice).contains("CPU 0 is there twice"));
}

#[test]
fn json_that_lscpu_did_not_write() {
    let message = error("a.json", "{\n  \"cpus\": [\n}");
    assert!(
        message.starts_with("a.json:3:1: not well-formed JSON"),
        "{message}"
    );
    let message = error("a.json", "{\"x\": 1}");
    assert!(message.contains("without a list"), "{message}");
    let message = error("a.json", "{\"cpus\": [{\"cpu\": 0, \"core\": \"a\"}]}");
    assert!(message.contains("CPU 0: \"core\" is \"a\""), "{message}");
    let message = error(
        "a.json",
        "{\"lscpu\": [{\"field\": \"Socket(s):\", \"data\": \"0\"}, {\"field\": \"CPU(s):\", \"data\": \"4\"}]}",
    );
    assert!(
        message.contains("'Socket(s)' is '0', not a count"),
        "{message}"
    );
    let message = error("a.json", "{\"cpus\": []}");
    assert!(message.contains("no online CPU"), "{message}");
}

/// Cut or changed anywhere, a file gives a machine or an error, and no panic.
#[test]
fn damaged_files_never_panic() {
    let samples = [
        include_str!("data/hwloc-v1.xml"),
        include_str!("data/hwloc-v2.xml"),
        include_str!("data/lscpu-table.json"),
        include_str!("data/lscpu-summary.json"),
        X5570,
    ];
    let mut random = 1u64;
    for sample in samples {
        for _ in 0..400 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (random >> 33) as usize % sample.len();
            let byte = b"0179-x,\"<{[ "[(random >> 20) as usize % 12];
            let mut bytes = sample.as_bytes().to_vec();
            bytes[at] = byte;
            _ = Machine::from_text("damaged", &String::from_utf8_lossy(&bytes));
            bytes.truncate(at);
            _ = Machine::from_text("cut", &String::from_utf8_lossy(&bytes));
        }
    }
}
