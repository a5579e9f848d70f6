//! Rows as a Parquet file, column by column: typed, every column nullable, not compressed beyond the
//! format's own dictionaries.
//!
//! Source: the Parquet format, <https://parquet.apache.org/docs/file-format/>.

use coretwin_base::column::{Column, Values};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Rows of a row group: what is in memory twice, at most.
const GROUP_ROWS: usize = 1 << 16;

pub(crate) fn write<Row>(file: File, columns: &[Column<Row>], rows: &[Row]) -> io::Result<()> {
    write_groups(file, columns, rows).map_err(|error| match error {
        // So that a full file system is known as one.
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    })
}

fn write_groups<Row>(
    file: File,
    columns: &[Column<Row>],
    rows: &[Row],
) -> Result<(), ParquetError> {
    let declared: Vec<String> = columns.iter().map(declared).collect();
    let schema = parse_message_type(&format!("message coretwin {{ {} }}", declared.concat()))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("coretwin ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    for rows in rows.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for column in columns {
            let Some(mut out) = group.next_column()? else {
                return Err(ParquetError::General("fewer columns than declared".to_owned()));
            };
            write_column(&mut out, column, rows)?;
            out.close()?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn declared<Row>(column: &Column<Row>) -> String {
    let name = column.name;
    match column.values {
        Values::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING); "),
        Values::Count(_) => format!("OPTIONAL INT64 {name}; "),
        Values::Number(_) => format!("OPTIONAL DOUBLE {name}; "),
        Values::Flag(_) => format!("OPTIONAL BOOLEAN {name}; "),
        Values::Time(_) => format!("OPTIONAL INT64 {name} (TIMESTAMP(MICROS,true)); "),
    }
}

fn write_column<Row>(
    out: &mut SerializedColumnWriter<'_>,
    column: &Column<Row>,
    rows: &[Row],
) -> Result<(), ParquetError> {
    match column.values {
        Values::Text(value) => {
            let bytes = |row| value(row).map(|text| ByteArray::from(&*text));
            write_values::<ByteArrayType>(out, rows.iter().map(bytes))
        }
        Values::Count(value) => {
            let whole = |row| value(row).and_then(|count| i64::try_from(count).ok());
            write_values::<Int64Type>(out, rows.iter().map(whole))
        }
        Values::Number(value) => {
            let finite = |row| value(row).filter(|number| number.is_finite());
            write_values::<DoubleType>(out, rows.iter().map(finite))
        }
        Values::Flag(value) => write_values::<BoolType>(out, rows.iter().map(value)),
        Values::Time(value) => write_values::<Int64Type>(out, rows.iter().map(value)),
    }
}

/// Values that are there, and for each row whether it has one.
fn write_values<Type: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<Type::T>>,
) -> Result<(), ParquetError> {
    let mut present = Vec::new();
    let mut levels = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    out.typed::<Type>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}
