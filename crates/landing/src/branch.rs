//! Which branch names are well formed: the rules of `git check-ref-format refs/heads/NAME` as a plain
//! function (a test of the command line compares it with git).

/// The longest branch name that a call takes, in bytes.
pub const BRANCH_BYTES_MAX: usize = 255;

/// Whether `refs/heads/NAME` is a well-formed ref and the name is not too long.
#[must_use]
pub fn is_branch(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= BRANCH_BYTES_MAX
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.chars().any(|c| c.is_ascii_control() || " ~^:?*[\\".contains(c))
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_of_branches_is_gits() {
        for good in ["main", "a/b", "feature/x-1", "ü", "@", "-x", "a.b", "a.lock.b", "a@b", "x{y}"] {
            assert!(is_branch(good), "{good}");
        }
        for bad in [
            "", "/", "a/", "/a", "a//b", ".a", "a/.b", "a.", "a..b", "a.lock", "a.lock/b", "a b", "a~", "a^",
            "a:b", "a?", "a*", "a[", "a\\b", "a@{b", "a\tb", "a\x7f",
        ] {
            assert!(!is_branch(bad), "{bad}");
        }
        assert!(is_branch(&"x".repeat(BRANCH_BYTES_MAX)));
        assert!(!is_branch(&"x".repeat(BRANCH_BYTES_MAX + 1)));
    }
}
