use serde_json::Value as Json;

use super::Compiler;
use crate::schema::SchemaError;
use crate::schema::text_forms::{TextForm, TextForms, TextPart};

impl<'j> Compiler<'j> {
    pub(super) fn text_forms(&mut self, options: &'j Json) -> Result<TextForms, SchemaError> {
        let whole = self.text(options, "name")?;
        let whole = self.name(whole);
        let encoding = self.encoding(options)?;
        let bytes = |compiler: &Self, form: &'j Json, key: &str| {
            compiler.text(form, key).map(|text| Box::from(encoding.encode(text)))
        };
        let mut forms = Vec::new();
        for form in items(options, "forms") {
            let mut parts = Vec::new();
            for part in items(form, "parts") {
                let name = self.text(part, "name")?;
                let number = match self.text(part, "type")? {
                    "number" => true,
                    "text" => false,
                    other => return Err(self.fault(format!("unknown type `{other}` of a part"))),
                };
                parts.push(TextPart { name: self.name(name), number });
            }
            let separator: Box<[u8]> = bytes(self, form, "separator")?;
            self.distinct(parts.iter().map(|it| &it.name).chain([&whole]))?;
            if separator.is_empty() || parts.is_empty() {
                return Err(self.fault("a form has a `separator` and `parts`"));
            }
            forms.push(TextForm {
                starts: match form.get("startsWith") {
                    Some(_) => bytes(self, form, "startsWith")?,
                    None => Box::default(),
                },
                separator,
                from_right: form.get("fromRight").and_then(Json::as_bool) == Some(true),
                parts: parts.into(),
            });
        }
        let count = self.count(options)?;
        Ok(TextForms { whole, count, encoding, forms: forms.into() })
    }
}

fn items<'j>(options: &'j Json, key: &str) -> impl Iterator<Item = &'j Json> {
    options.get(key).and_then(Json::as_array).into_iter().flatten()
}
