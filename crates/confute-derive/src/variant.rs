//! Variants: the attributes and fields of one kind of message.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Fields, Ident, LitStr, Meta, Result, Type, Variant};

use crate::template::{self, Piece};

/// The direction of a kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Request,
    Response,
    Push,
    Unreadable,
}

/// One kind of message.
pub(crate) struct KindOf<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) role: Role,
    /// `true` for a request that changes nothing.
    pub(crate) reads: bool,
    /// `true` for a request that may be answered only once others have come, or never.
    pub(crate) waits: bool,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) fields: &'a Fields,
    /// Names of the fields; those of a tuple are numbers.
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<&'a Type>,
}

impl<'a> KindOf<'a> {
    pub(crate) fn of(variant: &'a Variant) -> Result<Self> {
        let ident = &variant.ident;
        let mut found = None;
        for attribute in &variant.attrs {
            let role = match attribute.path().get_ident().map(ToString::to_string).as_deref() {
                Some("request") => Role::Request,
                Some("response") => Role::Response,
                Some("push") => Role::Push,
                Some("unreadable") => Role::Unreadable,
                _ => continue,
            };
            if found.replace((role, attribute)).is_some() {
                let why = format!(
                    "`{ident}` has several directions; keep one, and make two variants if it travels both ways"
                );
                return Err(Error::new_spanned(attribute, why));
            }
        }
        let Some((role, attribute)) = found else {
            return Err(Error::new_spanned(
                ident,
                format!(
                    "`{ident}` has no direction: put `#[request(\"…\")]` above a message that the tester sends, \
                     `#[response(\"…\")]` above one that the server sends, `#[push(\"…\")]` if no request asks for it"
                ),
            ));
        };
        let names: Vec<String> = (variant.fields.iter().enumerate())
            .map(|(place, field)| field.ident.as_ref().map_or_else(|| place.to_string(), ToString::to_string))
            .collect();
        let Arguments { text, reads, waits } = arguments(attribute, role)?;
        let pieces = match text {
            Some(text) => template::parse(&text, &names)?,
            None => template::plain(&ident.to_string(), names.len()),
        };
        let types = variant.fields.iter().map(|field| &field.ty).collect();
        if role == Role::Unreadable && (names.len() != 1 || !matches!(variant.fields, Fields::Unnamed(_))) {
            return Err(Error::new_spanned(
                ident,
                format!("`{ident}` holds bytes that nobody can read: declare it as `{ident}(String)`"),
            ));
        }
        Ok(Self { ident, role, reads, waits, pieces, fields: &variant.fields, names, types })
    }
}

/// The arguments of the attribute of a variant.
#[derive(Default)]
struct Arguments {
    text: Option<LitStr>,
    reads: bool,
    waits: bool,
}

fn arguments(attribute: &Attribute, role: Role) -> Result<Arguments> {
    let mut found = Arguments::default();
    if matches!(attribute.meta, Meta::Path(_)) {
        return Ok(found);
    }
    attribute.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        while !input.is_empty() {
            if input.peek(LitStr) && found.text.is_none() {
                found.text = Some(input.parse::<LitStr>()?);
            } else {
                let word: Ident = input.parse().map_err(|error| unknown(&error))?;
                match &*word.to_string() {
                    "reads" if role == Role::Request => found.reads = true,
                    "waits" if role == Role::Request => found.waits = true,
                    _ => return Err(unknown(&Error::new_spanned(&word, ""))),
                }
            }
            if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

fn unknown(error: &Error) -> Error {
    let known = "an attribute takes a template, as in `#[request(\"GET {}\")]`, and a request that changes nothing also \
                 takes `reads`, one that may be answered later or never `waits`: `#[request(\"GET {}\", reads)]`";
    Error::new(error.span(), known)
}

/// Settings of the whole enum.
#[derive(Default)]
pub(crate) struct Settings {
    /// Path of `confute-service`.
    pub(crate) path: Option<syn::Path>,
    /// Traits that the author implements.
    pub(crate) by_hand: Vec<String>,
}

impl Settings {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut settings = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("message")) {
            attribute.parse_nested_meta(|meta| settings.note(&meta))?;
        }
        Ok(settings)
    }

    fn note(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("crate") {
            self.path = Some(meta.value()?.parse()?);
            return Ok(());
        }
        if !meta.path.is_ident("by_hand") {
            return Err(meta.error("known are `crate = path` and `by_hand(Display, Serde)`"));
        }
        meta.parse_nested_meta(|one| {
            let name = one.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if !matches!(&*name, "Display" | "Serde") {
                return Err(one.error("by hand can be `Display` and `Serde` (Serialize and Deserialize)"));
            }
            self.by_hand.push(name);
            Ok(())
        })
    }
}
