/// Returns a number with its noun: `1 packet`, `2 packets`.
pub(super) fn count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
