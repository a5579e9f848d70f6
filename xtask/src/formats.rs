//! Tables of the fields of every record, from the doc comments of the types that are written and read:
//! `docs/reference/format-*.md`.

mod pages;
mod types;

use anyhow::{Context, Result, bail};
use pages::PAGES;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use syn::{Field, Fields, GenericArgument, PathArguments, Variant};
use types::{Serde, Shape, Type, Types, doc};

/// A page: what records of a subject hold.
struct Page {
    file: &'static str,
    title: &'static str,
    /// For whom it is, and what they can do after it.
    about: &'static str,
    records: &'static [Record],
}

/// A record: its heading, and its type as `file:Type` below `crates`.
struct Record {
    title: &'static str,
    of: &'static str,
}

/// Types that are written otherwise than they are made.
const PLAIN: &[(&str, &str)] = &[
    ("String", "text"),
    ("str", "text"),
    ("SharedText", "text"),
    ("MachineId", "text"),
    ("char", "text"),
    ("bool", "true or false"),
    ("f64", "number"),
    ("CpuId", "CPU"),
    ("CoreId", "core"),
    ("CpuSet", "list of CPUs"),
    ("Value", "anything"),
    ("ParamValue", "number or text"),
    ("Params", "object of numbers or texts"),
    ("Facts", "object of texts"),
    ("Options", "object: `policy`, and a number for each parameter"),
];

const NOTE: &str = "Written by `cargo xtask docs` from the doc comments of the types that are written and \
                    read; `cargo xtask tidy` fails where it is old. What holds for all records is in \
                    [FORMAT.md](../../FORMAT.md).";

/// Every page with its path, from the sources of the crates.
pub(crate) fn pages<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<(String, String)>> {
    of(PAGES, sources)
}

fn of<'a>(
    pages: &[Page],
    sources: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<(String, String)>> {
    let of_crates = sources.filter(|(path, text)| {
        let is_source = path.starts_with("crates/") && path.contains("/src/");
        is_source && path.ends_with(".rs") && text.contains("Serialize")
    });
    let types = Types::read(of_crates)?;
    let mut places = Places { types: &types, at: BTreeMap::new() };
    let mut found = Vec::new();
    // Where each type is explained must be known before the first link is written.
    for page in pages {
        places.place(page)?;
    }
    for page in pages {
        found.push((format!("docs/reference/{}", page.file), places.page(page)?));
    }
    Ok(found)
}

/// Where each type is explained, by its file and name: page and heading.
struct Places<'a> {
    types: &'a Types,
    at: BTreeMap<(&'a str, &'a str), (&'static str, String)>,
}

impl<'a> Places<'a> {
    fn root(&self, record: &Record) -> Result<&'a Type> {
        let (file, name) = record.of.split_once(':').context("a record is file:Type")?;
        let found = self.types.meant(&format!("crates/{file}"), &[name.to_owned()])?;
        found.with_context(|| format!("there is no {}", record.of))
    }

    /// Gives the page's records, and what they are made of, their places.
    fn place(&mut self, page: &Page) -> Result<()> {
        let mut headings = BTreeSet::new();
        let roots = page.records.iter().map(|one| Ok((self.root(one)?, one.title.to_owned())));
        let mut queue = VecDeque::new();
        for (one, title) in roots.collect::<Result<Vec<_>>>()? {
            headings.insert(slug(&title));
            self.at.insert((&one.path, &one.name), (page.file, title));
            queue.push_back(one);
        }
        while let Some(one) = queue.pop_front() {
            for part in self.parts(one)? {
                let key = (part.path.as_str(), part.name.as_str());
                if self.at.contains_key(&key) {
                    continue;
                }
                let of = part.path.split('/').nth(1).unwrap_or_default();
                let file = part.path.rsplit(['/', '.']).nth(1).unwrap_or_default();
                let names = [
                    part.name.clone(),
                    format!("{} of {of}", part.name),
                    format!("{} of {of}, {file}", part.name),
                ];
                let heading = names.into_iter().find(|name| headings.insert(slug(name)));
                let heading = heading.with_context(|| format!("no heading for {}", part.name))?;
                self.at.insert(key, (page.file, heading));
                queue.push_back(part);
            }
        }
        Ok(())
    }

    /// The types that need a table of their own, of a type's fields.
    fn parts(&self, of: &Type) -> Result<Vec<&'a Type>> {
        let fields: Vec<&Field> = match &of.shape {
            Shape::Struct(fields) => fields.iter().collect(),
            Shape::Enum(variants) => variants.iter().flat_map(|one| &one.fields).collect(),
            Shape::Tuple => Vec::new(),
        };
        let mut found = Vec::new();
        for field in fields {
            let serde = Serde::of(&field.attrs)?;
            if serde.has("skip") {
                continue;
            }
            for part in self.named(&of.path, &field.ty)? {
                match serde.has("flatten") {
                    true => found.extend(self.parts(part)?),
                    false if has_table(part) => found.push(part),
                    false if part.serde.has("untagged") => found.extend(self.parts(part)?),
                    false => {}
                }
            }
        }
        Ok(found)
    }

    /// Types of ours that a type is made of.
    fn named(&self, from: &str, ty: &syn::Type) -> Result<Vec<&'a Type>> {
        Ok(match ty {
            syn::Type::Path(path) => {
                let words: Vec<String> =
                    path.path.segments.iter().map(|part| part.ident.to_string()).collect();
                let last = path.path.segments.last().context("a path has an end")?;
                if let PathArguments::AngleBracketed(inner) = &last.arguments {
                    let mut found = Vec::new();
                    for one in &inner.args {
                        if let GenericArgument::Type(ty) = one {
                            found.extend(self.named(from, ty)?);
                        }
                    }
                    return Ok(found);
                }
                let plain = PLAIN.iter().any(|(name, _)| last.ident == name);
                if plain {
                    Vec::new()
                } else {
                    self.types.meant(from, &words)?.into_iter().collect()
                }
            }
            syn::Type::Reference(of) => self.named(from, &of.elem)?,
            syn::Type::Array(of) => self.named(from, &of.elem)?,
            syn::Type::Slice(of) => self.named(from, &of.elem)?,
            syn::Type::Tuple(of) => {
                let parts = of.elems.iter().map(|one| self.named(from, one));
                parts.collect::<Result<Vec<_>>>()?.concat()
            }
            _ => Vec::new(),
        })
    }

    fn page(&self, page: &Page) -> Result<String> {
        let mut text = format!("# {}\n\n{}\n\n{NOTE}\n", page.title, page.about);
        let mut done = BTreeSet::new();
        for record in page.records {
            let mut queue = VecDeque::from([self.root(record)?]);
            while let Some(one) = queue.pop_front() {
                let key = (one.path.as_str(), one.name.as_str());
                let (file, heading) = &self.at[&key];
                if *file != page.file || !done.insert(key) {
                    continue;
                }
                let level = if heading == record.title { "##" } else { "###" };
                self.section(page, one, level, heading, &mut text)
                    .with_context(|| format!("{}: {}", one.path, one.name))?;
                queue.extend(self.parts(one)?);
            }
        }
        Ok(text)
    }

    fn section(
        &self,
        page: &Page,
        of: &Type,
        level: &str,
        heading: &str,
        to: &mut String,
    ) -> Result<()> {
        write!(to, "\n{level} {heading}\n")?;
        if !of.doc.is_empty() {
            write!(to, "\n{}\n", of.doc)?;
        }
        match &of.shape {
            Shape::Struct(_) => {
                to.push_str("\n| field | type | meaning |\n|---|---|---|\n");
                self.fields(page, of, to)?;
            }
            Shape::Enum(variants) => {
                to.push_str("\n| value | meaning |\n|---|---|\n");
                for variant in variants {
                    let value = self.variant(page, of, variant)?;
                    writeln!(to, "| {value} | {} |", doc(&variant.attrs))?;
                }
            }
            Shape::Tuple => {}
        }
        Ok(())
    }

    fn fields(&self, page: &Page, of: &Type, to: &mut String) -> Result<()> {
        let Shape::Struct(fields) = &of.shape else { bail!("only fields can be flattened") };
        for field in fields {
            let serde = Serde::of(&field.attrs)?;
            if serde.has("skip") {
                continue;
            }
            if serde.has("flatten") {
                for part in self.named(&of.path, &field.ty)? {
                    match &part.shape {
                        Shape::Struct(_) => self.fields(page, part, to)?,
                        _ => writeln!(to, "| … | {} | {} |", part.name, doc(&field.attrs))?,
                    }
                }
                continue;
            }
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = serde.named(&name, None);
            let mut words = self.words(page, &of.path, &field.ty)?;
            if serde.has("skip_serializing_if") {
                words = words.trim_end_matches(" or null").to_owned() + ", or absent";
            }
            writeln!(to, "| `{name}` | {words} | {} |", doc(&field.attrs))?;
        }
        Ok(())
    }

    fn variant(&self, page: &Page, of: &Type, variant: &Variant) -> Result<String> {
        let serde = Serde::of(&variant.attrs)?;
        let name = serde.named(&variant.ident.to_string(), of.serde.rename_all.as_deref());
        let inner = match &variant.fields {
            Fields::Unit => None,
            Fields::Named(fields) => {
                let names = fields.named.iter().filter_map(|one| one.ident.as_ref());
                let names: Vec<String> = names.map(|one| format!("`{one}`")).collect();
                Some(names.join(", "))
            }
            Fields::Unnamed(fields) => {
                let parts = fields.unnamed.iter().map(|one| self.words(page, &of.path, &one.ty));
                Some(parts.collect::<Result<Vec<_>>>()?.join(", "))
            }
        };
        Ok(match (inner, &of.serde.tag, of.serde.has("untagged")) {
            (Some(inner), _, true) => inner,
            (Some(inner), Some(tag), _) => format!("`\"{tag}\": \"{name}\"` and {inner}"),
            (None, Some(tag), _) => format!("`\"{tag}\": \"{name}\"`"),
            (Some(inner), None, _) => format!("`{{\"{name}\": …}}`: {inner}"),
            (None, ..) => format!("`{name}`"),
        })
    }

    /// A type in words, with links to its parts.
    fn words(&self, page: &Page, from: &str, ty: &syn::Type) -> Result<String> {
        Ok(match ty {
            syn::Type::Path(path) => {
                let last = path.path.segments.last().context("a path has an end")?;
                let mut inner = Vec::new();
                if let PathArguments::AngleBracketed(parts) = &last.arguments {
                    for one in &parts.args {
                        if let GenericArgument::Type(ty) = one {
                            inner.push(self.words(page, from, ty)?);
                        }
                    }
                }
                let name = last.ident.to_string();
                match (name.as_str(), inner.as_slice()) {
                    ("Option", [one]) => format!("{one} or null"),
                    ("Vec" | "BTreeSet" | "VecDeque", [one]) => format!("list of {one}"),
                    ("Box" | "Arc" | "Rc" | "Cow", [one]) => one.clone(),
                    ("BTreeMap", [_, one]) => format!("object of {one}"),
                    (_, []) => self.one(page, from, path)?,
                    _ => bail!("a type that has no words: {name}"),
                }
            }
            syn::Type::Reference(of) => self.words(page, from, &of.elem)?,
            syn::Type::Slice(of) => format!("list of {}", self.words(page, from, &of.elem)?),
            syn::Type::Array(of) => {
                let count = match &of.len {
                    syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(count), .. }) => {
                        count.to_string()
                    }
                    _ => "some".to_owned(),
                };
                format!("list of {count}: {}", self.words(page, from, &of.elem)?)
            }
            syn::Type::Tuple(of) => {
                let parts = of.elems.iter().map(|one| self.words(page, from, one));
                format!("list: {}", parts.collect::<Result<Vec<_>>>()?.join(", "))
            }
            _ => bail!("a type that has no words"),
        })
    }

    /// A type without parameters.
    fn one(&self, page: &Page, from: &str, path: &syn::TypePath) -> Result<String> {
        let words: Vec<String> =
            path.path.segments.iter().map(|part| part.ident.to_string()).collect();
        let name = words.last().map(String::as_str).unwrap_or_default();
        if let Some((_, words)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
            return Ok((*words).to_owned());
        }
        let is_whole = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64"];
        if is_whole.contains(&name) {
            return Ok("whole number".to_owned());
        }
        let Some(of) = self.types.meant(from, &words)? else {
            bail!(
                "{from}: there is no {name}; say in PLAIN of xtask/src/formats.rs how it is written"
            )
        };
        if let Some((file, heading)) = self.at.get(&(of.path.as_str(), of.name.as_str())) {
            let file = if *file == page.file { "" } else { file };
            let shown = heading.split(" of ").next().unwrap_or(heading);
            return Ok(format!("[{shown}]({file}#{})", slug(heading)));
        }
        match &of.shape {
            Shape::Enum(variants) if of.derived => {
                let all = of.serde.rename_all.as_deref();
                let names = variants.iter().map(|one| {
                    let serde = Serde::of(&one.attrs)?;
                    Ok(match (&one.fields, of.serde.has("untagged")) {
                        (Fields::Unit, _) | (_, false) => {
                            format!("`{}`", serde.named(&one.ident.to_string(), all))
                        }
                        _ => self.variant(page, of, one)?,
                    })
                });
                Ok(names.collect::<Result<Vec<_>>>()?.join(", "))
            }
            _ => Ok("text".to_owned()),
        }
    }
}

/// Whether a type needs more than words.
fn has_table(of: &Type) -> bool {
    of.derived
        && match &of.shape {
            Shape::Struct(_) => true,
            Shape::Tuple => !of.doc.is_empty() && !of.serde.has("transparent"),
            Shape::Enum(variants) => {
                let explained = |one: &Variant| {
                    !doc(&one.attrs).is_empty() || !matches!(one.fields, Fields::Unit)
                };
                !of.serde.has("untagged") && variants.iter().any(explained)
            }
        }
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"
use crate::other::{Kind, Part};

/// A record, see [`Part`].
#[derive(Debug, Serialize)]
pub struct Whole {
    /// `None` if a | b.
    #[serde(rename = "first")]
    pub one: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    #[serde(flatten)]
    pub part: Part,
    #[serde(skip)]
    pub hidden: u8,
    pub kind: Kind,
    pub either: Either,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Either {
    NotThis,
    /// Told [`so`](Whole::one).
    That(u32),
}
"#;
    const OTHER: &str = r#"
#[derive(Serialize)]
pub struct Part { pub count: u32 }
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind { OfOne, OfTwo }
"#;
    const ELSEWHERE: &str = "#[derive(Serialize)] pub struct Part { pub wrong: u32 }";

    #[test]
    fn a_record_is_told_as_it_is_written() {
        const PAGE: Page = Page {
            file: "format-x.md",
            title: "X",
            about: "For a test.",
            records: &[Record { title: "`x.json`", of: "a/src/whole.rs:Whole" }],
        };
        let sources = [
            ("crates/a/src/whole.rs", RECORD),
            ("crates/a/src/other.rs", OTHER),
            ("crates/b/src/other.rs", ELSEWHERE),
        ];
        let [(path, page)] =
            of(&[PAGE], sources.into_iter()).expect("pages").try_into().expect("one");
        assert_eq!(path, "docs/reference/format-x.md");
        let (_, told) = page.split_once(NOTE).expect("its head");
        let wanted = "

## `x.json`

A record, see `Part`.

| field | type | meaning |
|---|---|---|
| `first` | number or null | null if a \\| b. |
| `parts` | list of [Part](#part), or absent |  |
| `count` | whole number |  |
| `kind` | `of_one`, `of_two` |  |
| `either` | [Either](#either) |  |

### Part

| field | type | meaning |
|---|---|---|
| `count` | whole number |  |

### Either

| value | meaning |
|---|---|
| `not-this` |  |
| `{\"that\": …}`: whole number | Told `so`. |
";
        assert_eq!(told, wanted);
        let gone = of(&[PAGE], [("crates/a/src/other.rs", OTHER)].into_iter());
        assert!(
            gone.expect_err("no record").to_string().contains("there is no a/src/whole.rs:Whole")
        );
    }
}
