use super::{Flow, Leaf, Name, Scalar, Visitor};
use crate::wire::json::{
    write_json_base64, write_json_f32, write_json_f64, write_json_int, write_json_str,
};

/// A [`Visitor`] that writes the fields of a packet as JSON, without building a
/// [`Value`](super::Value).
///
/// Integers have all their digits, NaN and infinities are strings, byte buffers and lists of single
/// bytes are base64, NBT keeps its types, and absent fields are omitted. After a decode error, [`finish`](Self::finish) closes what
/// is open, so that everything before the error remains.
#[derive(Debug)]
pub struct JsonVisitor<'o> {
    out: &'o mut Vec<u8>,
    /// Closing brackets still to be written, innermost last.
    open: Vec<u8>,
    /// `true` if the next value or key needs a comma before it.
    comma: bool,
    /// The offset in `out` of the name whose value comes next: if that is absent, the name is removed.
    name_at: Option<usize>,
    /// `true` if a list of single bytes is an array of numbers.
    bytes_as_numbers: bool,
}

impl<'o> JsonVisitor<'o> {
    /// Creates a visitor that appends to `out`.
    #[must_use]
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, open: Vec::new(), comma: false, name_at: None, bytes_as_numbers: false }
    }

    /// Writes lists of single bytes as arrays of numbers instead of base64.
    #[must_use]
    pub fn with_bytes_as_numbers(self) -> Self {
        Self { bytes_as_numbers: true, ..self }
    }

    /// Closes the objects and arrays that a decode error left open.
    pub fn finish(mut self) {
        self.remove_name();
        self.out.extend(self.open.iter().rev());
    }

    /// Begins a value.
    fn begin(&mut self) {
        if self.name_at.take().is_none() && self.comma {
            self.out.push(b',');
        }
        self.comma = true;
    }

    /// Removes the name that has no value. Returns `false` if there is none.
    fn remove_name(&mut self) -> bool {
        let name_at = self.name_at.take();
        if let Some(at) = name_at {
            self.out.truncate(at);
        }
        name_at.is_some()
    }

    fn open(&mut self, bracket: u8, closing: u8) -> Flow {
        self.begin();
        self.out.push(bracket);
        self.open.push(closing);
        self.comma = false;
        Flow::Continue(())
    }
}

impl Visitor for JsonVisitor<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if matches!(leaf.value, Scalar::Absent) && self.remove_name() {
            return Flow::Continue(());
        }
        self.begin();
        match leaf.value {
            Scalar::Absent => self.out.extend_from_slice(b"null"),
            Scalar::Bool(bool) => {
                self.out.extend_from_slice(if bool { b"true" } else { b"false" });
            }
            Scalar::Int(int) => write_json_int(self.out, int),
            Scalar::Unsigned(int) => self.out.extend_from_slice(int.to_string().as_bytes()),
            Scalar::Float32(float) => write_json_f32(self.out, float),
            Scalar::Float64(float) => write_json_f64(self.out, float),
            Scalar::Text(bytes, encoding) => {
                write_json_str(self.out, &encoding.decode_lossy(bytes));
            }
            Scalar::Name(name, _) => write_json_str(self.out, name),
            Scalar::Uuid(uuid) => write_json_str(self.out, &super::format_uuid(uuid)),
            Scalar::Bytes(bytes) => write_json_base64(self.out, bytes),
            Scalar::Nbt { bytes, .. } | Scalar::CompressedNbt(bytes) => match leaf.value.nbt() {
                Some(nbt) => nbt.write_json(self.out),
                None => write_json_base64(self.out, bytes),
            },
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.remove_name();
        self.name_at = Some(self.out.len());
        if self.comma {
            self.out.push(b',');
        }
        write_json_str(self.out, name);
        self.out.push(b':');
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.open(b'{', b'}')
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.open(b'[', b']')
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.remove_name();
        self.out.extend(self.open.pop());
        self.comma = true;
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, bytes: &[u8]) -> Option<Flow> {
        if self.bytes_as_numbers {
            return None;
        }
        self.begin();
        write_json_base64(self.out, bytes);
        Some(Flow::Continue(()))
    }
}
