//! The generated implementations.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

use crate::template::Piece;
use crate::variant::{KindOf, Role, Settings};

/// Returns the implementations for an enum of messages.
pub(crate) fn message(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let Data::Enum(data) = &input.data else {
        let why =
            format!("`{name}` is no enum: messages are one enum, with a variant for each kind of message");
        return Err(Error::new_spanned(name, why));
    };
    if !input.generics.params.is_empty() {
        let why = "an enum of messages has no parameters: name the types";
        return Err(Error::new_spanned(&input.generics, why));
    }
    let settings = Settings::of(&input.attrs)?;
    let service =
        settings.path.as_ref().map_or_else(|| quote!(::confute_test::service), |path| quote!(#path));
    let kinds = data.variants.iter().map(KindOf::of).collect::<Result<Vec<_>>>()?;
    let Some(unreadable) = kinds.iter().find(|kind| kind.role == Role::Unreadable) else {
        let why = format!(
            "`{name}` has no variant for bytes that are no message: add `#[unreadable] Odd(String)`, which no model ever sends"
        );
        return Err(Error::new_spanned(name, why));
    };
    let unreadable = unreadable.ident;
    let listed = kinds.iter().map(|kind| listed(kind, &service));
    let numbers = kinds.iter().enumerate().map(|(number, kind)| {
        let ident = kind.ident;
        quote!(Self::#ident { .. } => #number)
    });
    let each = kinds.iter().map(visited);
    let each_mut = kinds.iter().map(visited);
    let unify = kinds.iter().map(|kind| unified(kind, &service));
    let build = kinds.iter().enumerate().map(|(number, kind)| built(number, kind));
    // A bound has the span of the type, so that the compiler points there if it does not know the type; and as the bodies may assume
    // it, the compiler says so once.
    let types = kinds.iter().flat_map(|kind| &kind.types);
    let bounds: TokenStream = types
        .map(|one| {
            let service = spanned(&service, one.span());
            quote_spanned!(one.span()=> #one: #service::Field,)
        })
        .collect();
    let others = others(name, &settings, &service, &bounds);
    Ok(quote! {
        #[allow(trivial_bounds)]
        impl #service::Message for #name where #bounds {
            const KINDS: &'static [#service::Kind] = &[#(#listed),*];
            fn kind(&self) -> usize {
                match self { #(#numbers),* }
            }
            fn each(&self, visit: &mut dyn FnMut(&dyn #service::Field)) {
                match self { #(#each),* }
            }
            fn each_mut(&mut self, visit: &mut dyn FnMut(&mut dyn #service::Field)) {
                match self { #(#each_mut),* }
            }
            fn unify(
                &self,
                seen: &Self,
                facts: &mut #service::Knowledge,
            ) -> ::std::result::Result<(), #service::Mismatch> {
                match (self, seen) { #(#unify,)* _ => Err(#service::Mismatch) }
            }
            fn build(kind: usize, source: &mut impl #service::Source) -> Option<Self> {
                match kind { #(#build,)* _ => None }
            }
            fn unreadable(text: String) -> Self {
                Self::#unreadable(text)
            }
        }
        #others
    })
}

/// Returns the tokens of a path with this span.
fn spanned(path: &TokenStream, span: Span) -> TokenStream {
    let respanned = path.clone().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    respanned.collect()
}

fn listed(kind: &KindOf<'_>, service: &TokenStream) -> TokenStream {
    let name = kind.ident.to_string();
    let role = format_ident!("{}", format!("{:?}", kind.role));
    let (reads, waits, fields) = (kind.reads, kind.waits, &kind.names);
    let pieces = kind.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => quote!(#service::Piece::Text(#text)),
        Piece::Field(place) => quote!(#service::Piece::Field(#place)),
    });
    quote!(#service::Kind {
        name: #name,
        role: #service::Role::#role,
        reads: #reads,
        waits: #waits,
        pieces: &[#(#pieces),*],
        fields: &[#(#fields),*],
    })
}

/// Returns names for the fields of a variant that collide with nothing.
fn bound(kind: &KindOf<'_>, prefix: &str) -> Vec<Ident> {
    (0..kind.names.len()).map(|place| format_ident!("{prefix}_{place}")).collect()
}

/// Returns the pattern, or the expression, of a variant with these fields.
fn shape(kind: &KindOf<'_>, fields: &[TokenStream]) -> TokenStream {
    let ident = kind.ident;
    match kind.fields {
        Fields::Unit => quote!(Self::#ident),
        Fields::Unnamed(_) => quote!(Self::#ident(#(#fields),*)),
        Fields::Named(named) => {
            let names = named.named.iter().map(|field| &field.ident);
            quote!(Self::#ident { #(#names: #fields),* })
        }
    }
}

fn pattern(kind: &KindOf<'_>, names: &[Ident]) -> TokenStream {
    let fields: Vec<_> = names.iter().map(|name| quote!(#name)).collect();
    shape(kind, &fields)
}

fn visited(kind: &KindOf<'_>) -> TokenStream {
    let names = bound(kind, "one");
    let pattern = pattern(kind, &names);
    quote!(#pattern => { #(visit(#names);)* })
}

fn unified(kind: &KindOf<'_>, service: &TokenStream) -> TokenStream {
    let (ours, theirs) = (bound(kind, "ours"), bound(kind, "theirs"));
    let (left, right) = (pattern(kind, &ours), pattern(kind, &theirs));
    quote!((#left, #right) => {
        #(#service::Field::unify(#ours, #theirs, facts)?;)*
        Ok(())
    })
}

fn built(number: usize, kind: &KindOf<'_>) -> TokenStream {
    let fields: Vec<_> = (0..kind.names.len()).map(|place| quote!(source.take(#place)?)).collect();
    let made = shape(kind, &fields);
    quote!(#number => Some(#made))
}

/// Returns the implementations of the traits of other crates.
fn others(name: &Ident, settings: &Settings, service: &TokenStream, bounds: &TokenStream) -> TokenStream {
    let is_by_hand = |one: &str| settings.by_hand.iter().any(|named| named == one);
    let display = (!is_by_hand("Display")).then(|| {
        quote! {
            #[allow(trivial_bounds)]
            impl ::std::fmt::Display for #name where #bounds {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    #service::show(self, f)
                }
            }
        }
    });
    let serde = (!is_by_hand("Serde")).then(|| {
        quote! {
            #[allow(trivial_bounds)]
            impl #service::serde::Serialize for #name where #bounds {
                fn serialize<S: #service::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> ::std::result::Result<S::Ok, S::Error> {
                    #service::serde::Serialize::serialize(&#service::to_json(self), serializer)
                }
            }
            #[allow(trivial_bounds)]
            impl<'de> #service::serde::Deserialize<'de> for #name where #bounds {
                fn deserialize<D: #service::serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::std::result::Result<Self, D::Error> {
                    let value = #service::serde::Deserialize::deserialize(deserializer)?;
                    #service::from_json(&value).map_err(#service::serde::de::Error::custom)
                }
            }
        }
    });
    quote!(#display #serde)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(source: &str) -> String {
        message(&syn::parse_str(source).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn each_mistake_has_a_next_step() {
        for (source, said) in [
            ("struct Line;", "`Line` is no enum: messages are one enum"),
            ("enum Line<T> { Get(T) }", "has no parameters: name the types"),
            ("enum Line { Get(Name) }", "`Get` has no direction: put `#[request(\"…\")]` above"),
            ("enum Line { #[request] #[response] Get(Name) }", "`Get` has several directions"),
            ("enum Line { #[request] Get(Name) }", "add `#[unreadable] Odd(String)`"),
            ("enum Line { #[unreadable] Odd }", "declare it as `Odd(String)`"),
            ("enum Line { #[request(\"GET {key}\")] Get(Name) }", "no field `key`; it has 0"),
            (
                "enum Line { #[request(writes)] Get(Name) }",
                "a request that changes nothing also takes `reads`",
            ),
            (
                "enum Line { #[response(\"x\", reads)] Get(Name) }",
                "a request that changes nothing also takes `reads`",
            ),
            (
                "enum Line { #[push(\"x\", waits)] Get(Name) }",
                "one that may be answered later or never `waits`",
            ),
            ("#[message(by_hand(Clone))] enum Line { }", "by hand can be `Display` and `Serde`"),
        ] {
            assert!(fails(source).contains(said), "{source}: {}", fails(source));
        }
    }
}
