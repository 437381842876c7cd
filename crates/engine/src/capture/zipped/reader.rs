use std::collections::HashSet;
use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::ZipFault;
use mitmcraft_protocol::wire::Escaped;

/// Reads the members of a zip archive one after the other, from its beginning to its end, so that the intact part of
/// a truncated archive is read, too.
///
/// Nothing that the archive says is believed. It has at most 1,000 members, each of which inflates to at most 250
/// times its size from 16 MiB on. Names serve to choose a member and for messages: nothing is ever
/// written under them.
///
/// [`Read`] returns the bytes of the current member, and 0 at its end, where it has been checked. A fault is an
/// [`io::Error`] with a [`ZipFault`] inside.
#[derive(Debug)]
pub struct ZipReader<R> {
    inner: R,
    /// Offset of the next byte of `inner`.
    at: u64,
    names: HashSet<Vec<u8>>,
    member: Option<Member>,
    /// `true` once nothing more can be found.
    ended: bool,
}

/// The member that is read.
#[derive(Debug)]
struct Member {
    name: String,
    body: Body,
    /// The number of compressed bytes that were read.
    taken: u64,
    /// What the archive says of the bytes; `None` if it says so behind them.
    says: Option<Says>,
    /// `true` if numbers behind the bytes have eight bytes.
    is_wide: bool,
    crc: Crc,
    /// The number of inflated bytes.
    length: u64,
    phase: Phase,
}

#[derive(Debug)]
enum Body {
    Stored,
    Deflated(Decompress),
}

#[derive(Debug, Clone, Copy)]
struct Says {
    crc: u32,
    packed: u64,
    length: u64,
}

/// How far a member has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Bytes,
    /// The compressed bytes have ended, and what follows them has not been read.
    Ended,
    /// All has been read.
    Checked,
    /// It has a fault, and only its end matters.
    Faulty,
}

impl<R: BufRead> ZipReader<R> {
    /// Reads an archive from its first byte on.
    pub fn new(inner: R) -> Self {
        Self { inner, at: 0, names: HashSet::new(), member: None, ended: false }
    }

    /// Goes on to the next member and returns its name; `None` at the end. The rest of the one before is skipped.
    ///
    /// # Errors
    /// [`ZipFault`] if a member cannot be read. The next call goes on behind it, if its end can be found.
    pub fn next_member(&mut self) -> Result<Option<&str>, ZipFault> {
        if self.ended {
            return Ok(None);
        }
        if let Some(member) = self.member.take()
            && let Err(fault) = self.skip(member)
        {
            self.ended = true;
            return Err(fault);
        }
        let found = self.header();
        if let Err(ZipFault::CutOff(_) | ZipFault::Header { .. } | ZipFault::Io(_)) = found {
            self.ended = true;
        }
        match found? {
            Some(member) => Ok(Some(&self.member.insert(member).name)),
            None => {
                self.ended = true;
                Ok(None)
            }
        }
    }

    /// Reads the rest of the current member, and checks it.
    ///
    /// # Errors
    /// [`ZipFault`] if it is not what the archive says.
    pub fn check(&mut self) -> Result<(), ZipFault> {
        let mut buffer = [0; CHUNK];
        while self.fill(&mut buffer)? > 0 {}
        Ok(())
    }

    /// Reads the header of a member. Returns `None` at the directory, which is read to its end.
    fn header(&mut self) -> Result<Option<Member>, ZipFault> {
        let at = self.at;
        let signature: [u8; 4] = self.bytes()?;
        if signature != MEMBER {
            return self.directory(at, signature).map(|()| None);
        }
        if self.names.len() == MOST_MEMBERS {
            self.ended = true;
            return Err(ZipFault::TooMany { limit: MOST_MEMBERS });
        }
        // Version, flags, method, time, date, checksum, sizes, and the lengths of the name and of what follows it.
        let [_, _, f0, f1, m0, m1, _, _, _, _, sizes @ .., n0, n1, e0, e1]: [u8; 26] =
            self.bytes()?;
        let [c0, c1, c2, c3, p0, p1, p2, p3, l0, l1, l2, l3]: [u8; 12] = sizes;
        let [flags, method] = [[f0, f1], [m0, m1]].map(u16::from_le_bytes);
        let [crc, packed, length] =
            [[c0, c1, c2, c3], [p0, p1, p2, p3], [l0, l1, l2, l3]].map(u32::from_le_bytes);
        let raw = self.vec(u16::from_le_bytes([n0, n1]))?;
        let extra = self.vec(u16::from_le_bytes([e0, e1]))?;
        let name = shown(&raw);
        // Numbers that need more than four bytes are there, in this order.
        let mut wide = wide_numbers(&extra);
        let is_wide = wide.is_some();
        let mut number = |short: u32| match &mut wide {
            Some(wide) if short == u32::MAX => wide.next().unwrap_or(u64::MAX),
            _ => u64::from(short),
        };
        let length = number(length);
        let packed = number(packed);
        let is_before = flags & BEHIND == 0;
        let mut fault = match method {
            _ if flags & ENCRYPTED != 0 => Some(ZipFault::Encrypted(name.clone())),
            0 if !is_before => Some(ZipFault::Endless(name.clone())),
            0 | 8 if !is_inside(&raw) => Some(ZipFault::Name(name.clone())),
            0 | 8 if self.names.contains(&raw) => Some(ZipFault::Twice(name.clone())),
            0 | 8 => None,
            method => Some(ZipFault::Method { member: name.clone(), method }),
        };
        self.names.insert(raw);
        let is_deflated = method == 8 && flags & ENCRYPTED == 0;
        let member = Member {
            name,
            body: if is_deflated { Body::Deflated(Decompress::new(false)) } else { Body::Stored },
            taken: 0,
            says: is_before.then_some(Says { crc, packed, length }),
            is_wide,
            crc: Crc::new(),
            length: 0,
            phase: Phase::Bytes,
        };
        let Some(fault) = fault.take() else { return Ok(Some(member)) };
        if is_before {
            self.member = Some(Member { phase: Phase::Faulty, ..member });
        } else if is_deflated {
            // Its end is where its compressed bytes end.
            self.member = Some(member);
        } else {
            self.ended = true;
        }
        Err(fault)
    }

    /// Reads the directory, which begins at `at`. Only its end matters: the archive was not cut off.
    fn directory(&mut self, mut at: u64, mut signature: [u8; 4]) -> Result<(), ZipFault> {
        // The entries, and three records about them.
        for _ in 0..MOST_MEMBERS + 3 {
            match &signature {
                b"PK\x01\x02" => {
                    let _: [u8; 24] = self.bytes()?;
                    let [n0, n1, e0, e1, c0, c1, ..]: [u8; 18] = self.bytes()?;
                    let lengths = [[n0, n1], [e0, e1], [c0, c1]].map(u16::from_le_bytes);
                    self.pass(lengths.into_iter().map(u64::from).sum())?;
                }
                b"PK\x06\x06" => {
                    let length = u64::from_le_bytes(self.bytes()?);
                    self.pass(length)?;
                }
                b"PK\x06\x07" => self.pass(16)?,
                b"PK\x05\x06" => {
                    let _: [u8; 16] = self.bytes()?;
                    let comment = u16::from_le_bytes(self.bytes()?);
                    return self.pass(comment.into());
                }
                _ => break,
            }
            at = self.at;
            signature = self.bytes()?;
        }
        Err(ZipFault::Header { at })
    }

    /// Skips the rest of a member.
    fn skip(&mut self, member: Member) -> Result<(), ZipFault> {
        let Some(Says { packed, .. }) = member.says else {
            if member.phase == Phase::Checked {
                return Ok(());
            }
            let name = member.name.clone();
            self.member = Some(member);
            let checked = self.check();
            let is_faulty = self.member.take().is_some_and(|it| it.phase == Phase::Faulty);
            return match checked {
                Ok(()) if is_faulty => Err(ZipFault::Endless(name)),
                checked => checked,
            };
        };
        self.pass(packed.saturating_sub(member.taken)).map_err(|fault| match fault {
            ZipFault::CutOff(_) => ZipFault::CutOff(Some(member.name)),
            fault => fault,
        })
    }

    /// Reads bytes of the current member. Returns 0 at its end.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, ZipFault> {
        let Some(mut member) = self.member.take() else { return Ok(0) };
        let read = match member.phase {
            _ if out.is_empty() => Ok(0),
            Phase::Bytes | Phase::Ended => self.advance(&mut member, out),
            Phase::Checked | Phase::Faulty => Ok(0),
        };
        if read.is_err() && member.phase != Phase::Checked {
            member.phase = Phase::Faulty;
        }
        self.ended |= matches!(read, Err(ZipFault::CutOff(_) | ZipFault::Io(_)));
        self.member = Some(member);
        read
    }

    fn advance(&mut self, member: &mut Member, out: &mut [u8]) -> Result<usize, ZipFault> {
        while member.phase == Phase::Bytes {
            let count = match member.body {
                Body::Stored => self.copy(member, out)?,
                Body::Deflated(_) => self.inflate(member, out)?,
            };
            if count == 0 {
                continue;
            }
            member.crc.update(out.get(..count).unwrap_or_default());
            member.length += count as u64;
            if member.length > FREE && member.length / MOST_RATIO > member.taken {
                return Err(ZipFault::Ratio { member: member.name.clone(), ratio: MOST_RATIO });
            }
            return Ok(count);
        }
        let says = match member.says {
            Some(says) => says,
            None => self.behind(member.is_wide)?,
        };
        member.phase = Phase::Checked;
        member.compare(says).map(|()| 0)
    }

    fn copy(&mut self, member: &mut Member, out: &mut [u8]) -> Result<usize, ZipFault> {
        let packed = member.says.map_or(0, |says| says.packed);
        let left = usize::try_from(packed - member.taken).unwrap_or(usize::MAX);
        if left == 0 {
            member.phase = Phase::Ended;
            return Ok(0);
        }
        let most = left.min(out.len());
        let count = self.inner.read(out.get_mut(..most).unwrap_or_default())?;
        if count == 0 {
            return Err(ZipFault::CutOff(Some(member.name.clone())));
        }
        self.at += count as u64;
        member.taken += count as u64;
        Ok(count)
    }

    /// Inflates the next bytes of a member. A count of 0 is not the end of the member: more may follow.
    fn inflate(&mut self, member: &mut Member, out: &mut [u8]) -> Result<usize, ZipFault> {
        let Body::Deflated(decompress) = &mut member.body else { return Ok(0) };
        let read = self.inner.fill_buf()?;
        let left = member.says.map_or(u64::MAX, |says| says.packed.saturating_sub(member.taken));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(read.len());
        let read = read.get(..most).unwrap_or_default();
        let is_empty = read.is_empty();
        let before = (decompress.total_in(), decompress.total_out());
        let status = decompress.decompress(read, out, FlushDecompress::None);
        let taken = decompress.total_in() - before.0;
        let count = usize::try_from(decompress.total_out() - before.1).unwrap_or(out.len());
        self.inner.consume(usize::try_from(taken).unwrap_or(most));
        self.at += taken;
        member.taken += taken;
        match status {
            Ok(Status::StreamEnd) => member.phase = Phase::Ended,
            Ok(_) if count > 0 || taken > 0 => {}
            Ok(_) if is_empty && left > 0 => {
                return Err(ZipFault::CutOff(Some(member.name.clone())));
            }
            Ok(_) | Err(_) => return Err(ZipFault::Deflate(member.name.clone())),
        }
        Ok(count)
    }

    /// Reads what the archive says of a member behind its bytes, often after a signature.
    fn behind(&mut self, is_wide: bool) -> Result<Says, ZipFault> {
        let mut first: [u8; 4] = self.bytes()?;
        if &first == b"PK\x07\x08" {
            first = self.bytes()?;
        }
        let mut number = || match is_wide {
            true => self.bytes().map(u64::from_le_bytes),
            false => self.bytes().map(|it| u64::from(u32::from_le_bytes(it))),
        };
        Ok(Says { crc: u32::from_le_bytes(first), packed: number()?, length: number()? })
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ZipFault> {
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes).map_err(cut_off)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn vec(&mut self, length: u16) -> Result<Vec<u8>, ZipFault> {
        let mut bytes = vec![0; length.into()];
        self.inner.read_exact(&mut bytes).map_err(cut_off)?;
        self.at += u64::from(length);
        Ok(bytes)
    }

    /// Passes over bytes.
    fn pass(&mut self, count: u64) -> Result<(), ZipFault> {
        let passed = io::copy(&mut (&mut self.inner).take(count), &mut io::sink())?;
        self.at += passed;
        if passed == count { Ok(()) } else { Err(ZipFault::CutOff(None)) }
    }
}

impl Member {
    /// Compares the bytes with what the archive says of them.
    fn compare(&self, says: Says) -> Result<(), ZipFault> {
        if says.length != self.length {
            let (member, declared, found) = (self.name.clone(), says.length, self.length);
            return Err(ZipFault::Length { member, declared, found });
        }
        if says.crc != self.crc.sum() {
            return Err(ZipFault::Checksum(self.name.clone()));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZipReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Ok(self.fill(out)?)
    }
}

fn cut_off(error: io::Error) -> ZipFault {
    match error.kind() {
        ErrorKind::UnexpectedEof => ZipFault::CutOff(None),
        _ => ZipFault::Io(error),
    }
}

/// Returns the numbers of a member that need more than four bytes, if it has any.
fn wide_numbers(mut extra: &[u8]) -> Option<impl Iterator<Item = u64>> {
    while let Some(([i0, i1, n0, n1], rest)) = extra.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes([*n0, *n1])).min(rest.len());
        let (field, rest) = rest.split_at(length);
        if u16::from_le_bytes([*i0, *i1]) == WIDE {
            let numbers = field.as_chunks().0.iter();
            return Some(numbers.map(|bytes| u64::from_le_bytes(*bytes)));
        }
        extra = rest;
    }
    None
}

/// Returns whether a name stays in the folder in which an archive is unpacked, on every system.
fn is_inside(name: &[u8]) -> bool {
    let is_odd = |byte: &u8| matches!(byte, b'\\' | b':' | 0);
    let mut parts = name.strip_suffix(b"/").unwrap_or(name).split(|byte| *byte == b'/');
    !name.iter().any(is_odd) && parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// Returns a name for messages: escaped, and without its middle if it is long. Its ending says what the member is.
fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let count = name.chars().count();
    if count <= MAX_SHOWN {
        return Escaped(&name).to_string();
    }
    let (half, end) = (MAX_SHOWN / 2, count - MAX_SHOWN / 2);
    let start = name.chars().take(half);
    let short: String = start.chain(['…']).chain(name.chars().skip(end)).collect();
    Escaped(&short).to_string()
}

/// The signature of a member.
pub(in crate::capture) const MEMBER: [u8; 4] = *b"PK\x03\x04";

/// The flags of an encrypted member, and of one whose checksum and sizes are behind it.
const ENCRYPTED: u16 = 1;
const BEHIND: u16 = 1 << 3;

/// The kind of the extra field with numbers of eight bytes.
const WIDE: u16 = 1;

/// The most members of an archive.
const MOST_MEMBERS: usize = 1000;

/// How many times its size a member may inflate to, once it has inflated to [`FREE`] bytes. Captures of a quiet
/// server compress to a hundredth; DEFLATE allows 1,032.
const MOST_RATIO: u64 = 250;
const FREE: u64 = 16 << 20;

/// Characters of a name that a message shows.
const MAX_SHOWN: usize = 80;

/// Bytes read at a time to check a member.
const CHUNK: usize = 8 << 10;
