/// Returns a filter that leaves packets with this name out of those that `filter` selects, or selects only packets
/// with this name.
#[must_use]
pub fn by_type(filter: &str, name: &str, only: bool) -> String {
    let is_named = format!("pkt.name == \"{name}\"");
    match filter.trim() {
        _ if only => is_named,
        "" => format!("not {is_named}"),
        filter => format!("({filter}) and not {is_named}"),
    }
}
