use std::cell::Cell;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

/// A log by its place: a file, or standard input, which is written `-`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Place {
    /// The place that an argument names.
    pub fn new(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Self::Stdin } else { Self::File(argument.into()) }
    }

    /// What it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "standard input".into(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Its bytes as they are stored, if that is known beforehand.
    pub fn size(&self) -> Option<u64> {
        let metadata = self.metadata()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Whether it can be read more than once; a pipe can't.
    pub fn is_rereadable(&self) -> bool {
        self.metadata().is_some_and(|metadata| metadata.is_file())
    }

    fn metadata(&self) -> Option<std::fs::Metadata> {
        match self {
            Self::Stdin => None,
            Self::File(path) => path.metadata().ok(),
        }
    }

    /// Opens it. What gzip or zstd wrote is unpacked; what was read is counted as it is stored.
    ///
    /// # Errors
    /// If it can't be opened or its begin can't be read.
    pub fn open(&self, read: &Rc<Cell<u64>>) -> io::Result<Box<dyn Read>> {
        let stored: Box<dyn Read> = match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => Box::new(File::open(path)?),
        };
        unpack(Counted { from: stored, read: Rc::clone(read) })
    }
}

/// What a file holds, unpacked if its first bytes say that it is packed.
fn unpack(mut stored: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut begin = Vec::with_capacity(MAGIC);
    stored.by_ref().take(MAGIC as u64).read_to_end(&mut begin)?;
    let is = |magic: &[u8]| begin.starts_with(magic);
    let is_skippable = matches!(*begin, [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
    let (is_gzip, is_zstd) = (is(&GZIP), is(&ZSTD) || is_skippable);
    let whole = Cursor::new(begin).chain(stored);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(zstd::Decoder::new(whole)?)
    } else {
        Box::new(whole)
    })
}

/// Counts what is read.
struct Counted<R> {
    from: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(room)?;
        self.read.set(self.read.get() + length as u64);
        Ok(length)
    }
}

/// RFC 1952, section 2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// RFC 8878, section 3.1.1. Before it there may be a frame to skip (section 3.1.2), as parallel packers write.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const MAGIC: usize = 4;
