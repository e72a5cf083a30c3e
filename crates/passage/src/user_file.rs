//! The user's own file: what holds for one person in all repositories. Flags and the environment win over it; nothing of
//! what a trunk says about its check, its strategy or its lines can stand in it.

use crate::end::{End, exit, naming};
use crate::settings::{self, BadSettings};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What may stand in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserFile {
    /// Who lands, as others see it.
    pub label: Option<String>,
    /// Whom this person acts for: whose holds are no obstacle.
    pub owner: Option<String>,
}

/// Where it is: `signalbox/config.toml` in the user's configuration folder (`$XDG_CONFIG_HOME`, else `~/.config`).
fn path() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
    config.filter(|config| config.is_absolute()).map(|config| config.join("signalbox").join("config.toml"))
}

/// Reads it. Where there is none, nothing stands in it.
///
/// # Errors
/// It cannot be read or used.
pub fn read() -> Result<UserFile, End> {
    let Some(path) = path() else { return Ok(UserFile::default()) };
    let read =
        settings::read(&path).and_then(|text| text.map_or(Ok(UserFile::default()), |text| parse(&text)));
    read.map_err(|error| {
        let line = naming("{} cannot be used; mend what the next lines name", [&path.display().to_string()]);
        End::new(exit::SETUP, "bad_settings", line).more(error.to_string())
    })
}

fn parse(text: &[u8]) -> Result<UserFile, BadSettings> {
    let text = std::str::from_utf8(text)
        .map_err(|_| BadSettings("it is no UTF-8 text; save it as UTF-8".to_owned()))?;
    let file: UserFile =
        toml::from_str(text).map_err(|error| BadSettings(error.to_string().trim_end().to_owned()))?;
    for (name, value) in [("label", &file.label), ("owner", &file.owner)] {
        if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
            return Err(BadSettings(format!("{name} is empty; write a name, or leave it out")));
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_who_lands_and_nothing_about_the_check() {
        let file = parse(b"label = 'Ann'\nowner = 'team'\n").unwrap();
        assert_eq!((file.label.as_deref(), file.owner.as_deref()), (Some("Ann"), Some("team")));
        for (text, word) in
            [("[check]\nnone = true", "check"), ("label = ' '", "label"), ("label = 1", "label")]
        {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
