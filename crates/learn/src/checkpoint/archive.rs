//! [`Archive`]: named arrays and a JSON text in one safetensors file, with a checksum, written so that a crash at any
//! moment leaves the old file or the new one.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::LearnError;

/// The one metadata key of the safetensors header: the checksum in hex, a blank, the JSON text. One, because the header
/// keeps no order among several and equal archives must be equal files.
const KEY: &str = "gigabar";

/// One array: its type, dimensions and little-endian bytes.
#[derive(Debug, Clone, PartialEq)]
struct Array {
    dtype: Dtype,
    dims: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    fn view(&self) -> Result<TensorView<'_>, safetensors::SafeTensorError> {
        TensorView::new(self.dtype, self.dims.clone(), &self.bytes)
    }
}

/// Named arrays and a JSON text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Archive {
    /// The small state.
    pub(crate) json: String,
    arrays: BTreeMap<String, Array>,
}

/// A number an archive can hold.
pub(crate) trait Element: Copy {
    const DTYPE: Dtype;
    const SIZE: usize;
    fn append(self, out: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($type:ty, $dtype:expr) => {
        impl Element for $type {
            const DTYPE: Dtype = $dtype;
            const SIZE: usize = size_of::<$type>();

            fn append(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$type>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    };
}

element!(f32, Dtype::F32);
element!(f64, Dtype::F64);
element!(u32, Dtype::U32);
element!(u8, Dtype::U8);

impl Archive {
    /// No arrays yet.
    pub(crate) fn new(json: String) -> Self {
        Self { json, arrays: BTreeMap::new() }
    }

    /// Adds an array; its length is the product of `dims`.
    pub(crate) fn put<T: Element>(&mut self, name: &str, dims: &[usize], values: &[T]) {
        debug_assert_eq!(dims.iter().product::<usize>(), values.len());
        let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
        values.iter().for_each(|v| v.append(&mut bytes));
        self.arrays.insert(name.to_string(), Array { dtype: T::DTYPE, dims: dims.to_vec(), bytes });
    }

    /// An array's values; `dims` is what they must be, `None` for any length in one dimension.
    pub(crate) fn get<T: Element>(&self, name: &str, dims: Option<&[usize]>) -> Result<Vec<T>, String> {
        let array = self.arrays.get(name).ok_or_else(|| format!("array {name} is missing"))?;
        if array.dtype != T::DTYPE {
            return Err(format!("array {name} holds {:?}, expected {:?}", array.dtype, T::DTYPE));
        }
        if dims.is_some_and(|dims| dims != array.dims) {
            return Err(format!("array {name} has shape {:?}, expected {dims:?}", array.dims));
        }
        Ok(array.bytes.chunks_exact(T::SIZE).map(T::read).collect())
    }

    /// Over the text and all arrays with their names.
    pub(crate) fn checksum(&self) -> u32 {
        let start = crc32c::crc32c(self.json.as_bytes());
        self.arrays.iter().fold(start, |crc, (name, array)| {
            crc32c::crc32c_append(crc32c::crc32c_append(crc, name.as_bytes()), &array.bytes)
        })
    }

    /// Writes the file durably; see [`write_durably`].
    pub(crate) fn write(&self, path: &Path) -> Result<(), LearnError> {
        let metadata = HashMap::from([(KEY.to_string(), format!("{:08x} {}", self.checksum(), self.json))]);
        let views: Result<Vec<_>, _> = self.arrays.iter().map(|(name, array)| Ok((name, array.view()?))).collect();
        let bytes = views.and_then(|views| safetensors::serialize(views, Some(metadata)));
        let bytes = bytes.map_err(|e| LearnError::corrupt(path, e))?;
        write_durably(path, &bytes)
    }

    /// Reads and checks a file that [`Archive::write`] wrote.
    pub(crate) fn read(path: &Path) -> Result<Self, LearnError> {
        let bytes = fs::read(path).map_err(LearnError::io("read", path))?;
        Self::parse(&bytes).map_err(|reason| LearnError::corrupt(path, reason))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let text = metadata.get(KEY).and_then(|text| text.split_once(' '));
        let (want, json) = text.ok_or_else(|| format!("its header has no `{KEY}`"))?;
        let array = |(name, view): (&str, TensorView<'_>)| {
            let array = Array { dtype: view.dtype(), dims: view.shape().to_vec(), bytes: view.data().to_vec() };
            (name.to_string(), array)
        };
        let archive = Self { json: json.to_owned(), arrays: file.iter().map(array).collect() };
        let got = format!("{:08x}", archive.checksum());
        if want != got {
            return Err(format!("its contents have checksum {got}, its header says {want}"));
        }
        Ok(archive)
    }
}

/// Writes `bytes` to a hidden neighbour, flushes it to the disk, and renames it over `path`: whoever opens `path` sees
/// the old contents or the new ones, whenever the process or the machine dies. Creates missing folders.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), LearnError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(LearnError::io("create", folder))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.partial"));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(LearnError::io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(LearnError::io("replace", path))?;
    sync_folder(folder)
}

/// Makes a rename survive a power cut. Windows has no handle on a folder to flush.
fn sync_folder(folder: &Path) -> Result<(), LearnError> {
    if cfg!(unix) {
        let sync = File::open(folder).and_then(|f| f.sync_all());
        return sync.map_err(LearnError::io("flush", folder));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn archive() -> Archive {
        let mut archive = Archive::new(r#"{"a":1}"#.into());
        archive.put("x", &[2, 2], &[1.0f32, f32::NAN, f32::NEG_INFINITY, -0.0]);
        archive.put("y", &[3], &[1u32, 2, u32::MAX]);
        archive.put("z", &[0], &[] as &[f64]);
        archive
    }

    #[test]
    fn round_trips_bit_for_bit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/er/file.safetensors");
        archive().write(&path).unwrap();
        let read = Archive::read(&path).unwrap();
        assert_eq!(read, archive());
        let x: Vec<f32> = read.get("x", Some(&[2, 2])).unwrap();
        assert!(x[1].is_nan() && x[3].is_sign_negative());
        assert!(read.get::<f32>("x", Some(&[4])).is_err() && read.get::<f64>("x", None).is_err());
        assert!(read.get::<f32>("w", None).unwrap_err().contains("missing"));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "a partial file is left behind");
        let again = dir.path().join("again.safetensors");
        archive().write(&again).unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap(), "equal archives are equal files");
    }

    /// Every truncation and every flipped byte is noticed, by name.
    #[test]
    fn damage_is_noticed_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.safetensors");
        archive().write(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        let assert_refused = |bytes: &[u8], what: &str| {
            fs::write(&path, bytes).unwrap();
            let error =
                Archive::read(&path).err().map(|e| e.to_string()).unwrap_or_else(|| panic!("{what} was not noticed"));
            assert!(error.contains("file.safetensors"), "{error}");
        };
        for n in 0..whole.len() {
            assert_refused(&whole[..n], &format!("cut to {n} bytes"));
        }
        for i in (0..whole.len()).rev().take(40) {
            let mut flipped = whole.clone();
            flipped[i] ^= 0x10;
            assert_refused(&flipped, &format!("byte {i} flipped"));
        }
    }

    /// A crash between writing the neighbour and the rename leaves the old file, and the next write succeeds.
    #[test]
    fn a_partial_neighbour_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.safetensors");
        archive().write(&path).unwrap();
        fs::write(dir.path().join(".file.safetensors.partial"), b"half").unwrap();
        assert_eq!(Archive::read(&path).unwrap(), archive());
        let mut newer = archive();
        newer.json = "{}".into();
        newer.write(&path).unwrap();
        assert_eq!(Archive::read(&path).unwrap(), newer);
    }
}
