//! The types of the crates as their sources have them: which are records, what their fields say.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Field, Fields, Item, Lit, Meta, Token, UseTree, Variant};

/// A struct or an enum.
pub(super) struct Type {
    /// Its file, from the root of the workspace.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) serde: Serde,
    /// Whether serde's derive writes it; another is a text.
    pub(super) derived: bool,
    pub(super) shape: Shape,
}

pub(super) enum Shape {
    Struct(Vec<Field>),
    /// Several values without names.
    Tuple,
    Enum(Vec<Variant>),
}

/// What serde's attributes say of a type, a field or a variant.
#[derive(Default)]
pub(super) struct Serde {
    pub(super) rename: Option<String>,
    pub(super) rename_all: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) flags: Vec<String>,
}

impl Serde {
    pub(super) fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|one| one.path().is_ident("serde")) {
            let metas =
                attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            for meta in metas {
                let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
                let text = match &meta {
                    Meta::NameValue(pair) => text_of(&pair.value),
                    _ => None,
                };
                match name.as_str() {
                    "rename" => found.rename = text,
                    "rename_all" => found.rename_all = text,
                    "tag" => found.tag = text,
                    _ => found.flags.push(name),
                }
            }
        }
        Ok(found)
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|one| one == flag)
    }

    /// A name as it is written, where all are renamed in one way.
    pub(super) fn named(&self, name: &str, all: Option<&str>) -> String {
        if let Some(name) = &self.rename {
            return name.clone();
        }
        let separator = match all {
            Some("kebab-case") => "-",
            Some("snake_case") => "_",
            Some("lowercase") => "",
            _ => return name.to_owned(),
        };
        let mut words = String::new();
        for (index, letter) in name.char_indices() {
            if letter.is_uppercase() && index > 0 {
                words += separator;
            }
            words.extend(letter.to_lowercase());
        }
        words
    }
}

fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// A doc comment in one line, for people who do not read Rust.
pub(super) fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|one| match &one.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => text_of(&pair.value),
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace("`None`", "null").replace("[`", "`").replace('|', "\\|");
    // Of a link that names its target, the words.
    let mut parts = text.split("`](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts
        .fold(first, |text, rest| text + "`" + rest.split_once(')').map_or(rest, |(_, rest)| rest));
    text.replace("`]", "`")
}

/// All types of the sources, by name.
pub(super) struct Types {
    by_name: BTreeMap<String, Vec<Type>>,
    /// What each file imports: path and name there, by the name here.
    imports: BTreeMap<String, Vec<(String, Vec<String>)>>,
}

impl Types {
    /// Reads sources, each with its path.
    pub(super) fn read<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut types = Self { by_name: BTreeMap::new(), imports: BTreeMap::new() };
        for (path, text) in sources {
            let file = syn::parse_file(text).with_context(|| format!("reading {path}"))?;
            for item in file.items {
                types.add(path, item).with_context(|| format!("reading {path}"))?;
            }
        }
        Ok(types)
    }

    fn add(&mut self, path: &str, item: Item) -> Result<()> {
        let (name, attributes, shape) = match item {
            Item::Struct(item) => match item.fields {
                Fields::Named(fields) => {
                    (item.ident, item.attrs, Shape::Struct(fields.named.into_iter().collect()))
                }
                _ => (item.ident, item.attrs, Shape::Tuple),
            },
            Item::Enum(item) => {
                (item.ident, item.attrs, Shape::Enum(item.variants.into_iter().collect()))
            }
            Item::Use(item) => {
                let imports = self.imports.entry(path.to_owned()).or_default();
                imported(&item.tree, &mut Vec::new(), imports);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let derived = attributes.iter().filter(|one| one.path().is_ident("derive")).any(|one| {
            let Meta::List(list) = &one.meta else { return false };
            list.tokens.to_string().contains("Serialize")
        });
        let name = name.to_string();
        self.by_name.entry(name.clone()).or_default().push(Type {
            path: path.to_owned(),
            name,
            doc: doc(&attributes),
            serde: Serde::of(&attributes)?,
            derived,
            shape,
        });
        Ok(())
    }

    /// The type that a file means by a path: the one in the module that is most like what it imports,
    /// for a module may only pass on what another one has.
    pub(super) fn meant(&self, from: &str, path: &[String]) -> Result<Option<&Type>> {
        let Some((name, before)) = path.split_last() else { return Ok(None) };
        let first = before.first().unwrap_or(name);
        let import = self.imports.get(from).into_iter().flatten().find(|(here, _)| here == first);
        let full = match import {
            Some((_, full)) => absolute(from, &[full, &path[1..]].concat()),
            None => [&module(from)[..], path].concat(),
        };
        let Some((there, wanted)) = full.split_last() else { return Ok(None) };
        let Some(candidates) = self.by_name.get(there) else { return Ok(None) };
        let unlike = |one: &Type| {
            let module = module(&one.path);
            let common = module.iter().zip(wanted).take_while(|(a, b)| a == b).count();
            (wanted.len() - common, module.len() - common)
        };
        let least = candidates.iter().map(unlike).min();
        let mut of_least = candidates.iter().filter(|one| Some(unlike(one)) == least);
        match (of_least.next(), of_least.next()) {
            (Some(one), Some(other)) => {
                bail!("{from}: {there} may be that of {} or of {}", one.path, other.path)
            }
            (found, _) => Ok(found),
        }
    }
}

/// The module that a file is, its crate first.
fn module(path: &str) -> Vec<String> {
    let parts = path.strip_prefix("crates/").unwrap_or(path).replacen("/src", "", 1);
    let parts = parts.strip_suffix(".rs").unwrap_or(&parts).split('/');
    parts.filter(|part| !["mod", "lib", "main"].contains(part)).map(str::to_owned).collect()
}

/// A path of an import from the crate on.
fn absolute(from: &str, path: &[String]) -> Vec<String> {
    let mut full = module(from);
    for (index, part) in path.iter().enumerate() {
        match part.as_str() {
            "crate" => full.truncate(1),
            "super" => drop(full.pop()),
            "self" => {}
            part => match part.strip_prefix("coretwin_") {
                Some(name) if index == 0 => full = vec![name.to_owned()],
                _ => full.push(part.to_owned()),
            },
        }
    }
    full
}

fn imported(tree: &UseTree, path: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            imported(&part.tree, path, found);
            path.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            found.push((name.clone(), [&path[..], &[name]].concat()));
        }
        UseTree::Rename(both) => {
            let full = [&path[..], &[both.ident.to_string()]].concat();
            found.push((both.rename.to_string(), full));
        }
        UseTree::Group(group) => group.items.iter().for_each(|one| imported(one, path, found)),
        UseTree::Glob(_) => {}
    }
}
