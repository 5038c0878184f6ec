//! The instance's own secret. It encrypts texts that wait in the database, and signs tokens
//! that are given to clients.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use sha2::Sha256;

use crate::random;
use crate::secret::Secret;

const FILE: &str = "secret.key";

/// Encrypts and signs with keys derived from the secret, one key per purpose.
pub struct Seal {
    sealing: LessSafeKey,
    signing: [u8; 32],
    id: String,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({})", self.id)
    }
}

impl Seal {
    /// Uses the configured secret, or the one in the data folder, which is created on first use.
    ///
    /// # Errors
    /// When the file cannot be read or written, or the system has no random source.
    pub fn load(configured: Option<&Secret>, data_dir: &Path) -> anyhow::Result<Self> {
        match configured {
            Some(secret) => Self::new(secret.expose().as_bytes()),
            None => Self::new(&read_or_make(data_dir)?),
        }
    }

    fn new(secret: &[u8]) -> anyhow::Result<Self> {
        let sealing = UnboundKey::new(&CHACHA20_POLY1305, &derive(secret, "seal")?)
            .map_err(|_| anyhow::anyhow!("cannot derive a key from the secret"))?;
        let id = hex::encode(derive(secret, "id")?);
        Ok(Self {
            sealing: LessSafeKey::new(sealing),
            signing: derive(secret, "sign")?,
            id: id.get(..16).unwrap_or_default().to_owned(),
        })
    }

    /// Identifies the secret without revealing it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Encrypts a text. The same `purpose` is needed to open it.
    ///
    /// # Errors
    /// When the system has no random source.
    pub fn seal(&self, text: &str, purpose: &str) -> anyhow::Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = random::bytes()?;
        let mut sealed = text.as_bytes().to_vec();
        self.sealing
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(purpose.as_bytes()),
                &mut sealed,
            )
            .map_err(|_| anyhow::anyhow!("sealing failed"))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts what [`seal`](Self::seal) made; `None` if another secret or purpose was used.
    pub fn open(&self, sealed: &[u8], purpose: &str) -> Option<String> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = sealed.to_vec();
        let text = self
            .sealing
            .open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut text)
            .ok()?;
        String::from_utf8(text.to_vec()).ok()
    }

    /// Signs a message: 64 hexadecimal digits.
    pub fn sign(&self, message: &str) -> String {
        self.mac(message)
            .map(|mac| hex::encode(mac.finalize().into_bytes()))
            .unwrap_or_default()
    }

    /// Whether this is the message's signature; compares in constant time.
    pub fn verify(&self, message: &str, signature: &str) -> bool {
        let (Ok(signature), Some(mac)) = (hex::decode(signature), self.mac(message)) else {
            return false;
        };
        mac.verify_slice(&signature).is_ok()
    }

    fn mac(&self, message: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.signing).ok()?;
        mac.update(message.as_bytes());
        Some(mac)
    }
}

/// Derives a key for one purpose: HKDF-SHA-256 (RFC 5869) with the purpose as `info`.
///
/// # Errors
/// Never for 32 bytes; the library's type has the error for longer keys.
fn derive(secret: &[u8], purpose: &str) -> anyhow::Result<[u8; 32]> {
    let mut key = [0; 32];
    Salt::new(HKDF_SHA256, b"orbweaver")
        .extract(secret)
        .expand(&[purpose.as_bytes()], HKDF_SHA256)
        .and_then(|expanded| expanded.fill(&mut key))
        .map_err(|_| anyhow::anyhow!("cannot derive a key from the secret"))?;
    Ok(key)
}

/// The file's content, created if missing. Two processes that start together get the same
/// secret: the file appears complete, and the first one wins.
fn read_or_make(folder: &Path) -> anyhow::Result<Vec<u8>> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = folder.join(FILE);
    if !file.exists() {
        let secret: [u8; 32] = random::bytes()?;
        let draft = folder.join(format!("{FILE}.{}", hex::encode(&secret[..4])));
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut out| out.write_all(hex::encode(secret).as_bytes()))
            .with_context(|| format!("cannot write {}", draft.display()))?;
        // Fails if another process was first; its secret is used then.
        let _ = std::fs::hard_link(&draft, &file);
        let _ = std::fs::remove_file(&draft);
    }
    let secret = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    if secret.len() < 32 {
        bail!(
            "{} is damaged: restore it from a backup, or remove it if the projects' secrets and waiting mails \
             may be lost, which only it can read",
            file.display()
        );
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_secret_and_purpose_open() {
        let (ours, other) = (Seal::new(b"one").unwrap(), Seal::new(b"two").unwrap());
        let sealed = ours.seal("orb_hidden", "mail").unwrap();
        assert_eq!(ours.open(&sealed, "mail").as_deref(), Some("orb_hidden"));
        assert_eq!(ours.open(&sealed, "other"), None);
        assert_eq!(other.open(&sealed, "mail"), None);
        assert_eq!(ours.open(&sealed[..20], "mail"), None);
        assert_eq!(ours.open(b"", "mail"), None);
        assert!(!sealed.windows(4).any(|part| part == b"orb_"));
        assert_ne!(ours.id(), other.id());
        assert_ne!(sealed, ours.seal("orb_hidden", "mail").unwrap());
    }

    #[test]
    fn a_signature_is_valid_for_one_message() {
        let seal = Seal::new(b"one").unwrap();
        let signature = seal.sign("intent:1");
        assert!(seal.verify("intent:1", &signature));
        assert!(!seal.verify("intent:2", &signature));
        assert!(!seal.verify("intent:1", "no hex"));
        assert!(!seal.verify("intent:1", ""));
    }

    #[test]
    fn the_file_is_created_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = read_or_make(folder.path()).unwrap();
        assert_eq!(read_or_make(folder.path()).unwrap(), first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
