use std::str::FromStr;

/// A number of bytes as users write it: `65536`, `64k`, `2M`, `2MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            _ => return Err(format!("unknown unit `{unit}`: want k, M or G")),
        };
        let number: usize = number.parse().map_err(|_| "want a number of bytes such as `2M`")?;
        number.checked_mul(factor).map(Self).ok_or_else(|| "too large".to_owned())
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => write!(f, "{}M", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => write!(f, "{}k", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_sizes() {
        for (text, bytes, printed) in [
            ("0", 0, "0"),
            ("64k", 65536, "64k"),
            ("2MiB", 2 << 20, "2M"),
            ("1g", 1 << 30, "1024M"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, printed));
        }
        for text in ["", "k", "2x", "-1", "99999999999999999999"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
