//! Signatures in the simple-signing form of cosign, with a static key (ECDSA, P-256, SHA-256): the payload
//! names the digest of an artefact's manifest, and is a layer of another artefact, whose tag is made of that
//! digest.

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::reference::{Digest, Reference};

/// Media type of a payload.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The layer's annotation with the signature, in base64.
pub(crate) const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// Longest payload that is read, in bytes.
pub(crate) const MAX_PAYLOAD: u64 = 64 << 10;
/// The payload's type of signature.
const SIGNATURE_TYPE: &str = "cosign container image signature";
/// What stands before the point in a SubjectPublicKeyInfo of P-256 (RFC 5480).
const P256_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A public key that artefacts are signed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    point: Vec<u8>,
    id: String,
}

/// A private key.
pub struct SigningKey(EcdsaKeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

/// The payload of a signature (containers/image, "signature").
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    critical: Critical,
    optional: Option<serde_json::Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Critical {
    identity: Identity,
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Identity {
    #[serde(rename = "docker-reference")]
    reference: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

impl PublicKey {
    /// A key in PEM: the block `PUBLIC KEY` of a P-256 key, as cosign and openssl write it.
    ///
    /// # Errors
    /// Any other text.
    pub fn from_pem(text: &str) -> Result<Self> {
        let der = block(text, "PUBLIC KEY")?;
        let point = der
            .strip_prefix(&P256_HEAD[..])
            .filter(|point| point.len() == 65);
        let point = point.context("the public key is not of ECDSA with the curve P-256")?;
        Ok(Self {
            point: point.to_vec(),
            id: hex::encode(Sha256::digest(&der)),
        })
    }

    /// SHA-256 of the key, in hexadecimal.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether a payload says that this artefact is signed, and the signature is of this key.
    pub(crate) fn has_signed(&self, payload: &[u8], signature: &str, digest: &Digest) -> bool {
        let Ok(signature) = STANDARD.decode(signature.trim()) else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point);
        // Nothing of a payload is believed before this.
        if key.verify(payload, &signature).is_err() {
            return false;
        }
        serde_json::from_slice::<Payload>(payload).is_ok_and(|payload| {
            let Critical { image, kind, .. } = payload.critical;
            kind == SIGNATURE_TYPE && image.digest == digest.as_str()
        })
    }
}

impl SigningKey {
    /// A key in PEM: the block `PRIVATE KEY` (PKCS #8) of a P-256 key, not encrypted, as
    /// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes it.
    ///
    /// # Errors
    /// Any other text.
    pub fn from_pem(text: &str) -> Result<Self> {
        let der = block(text, "PRIVATE KEY")?;
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random);
        match key {
            Ok(key) => Ok(Self(key)),
            Err(why) => {
                bail!("the private key is not PKCS #8 of ECDSA with the curve P-256: {why}")
            }
        }
    }

    /// The payload about an artefact, and its signature in base64.
    ///
    /// # Errors
    /// If there are no random numbers.
    pub(crate) fn sign(&self, reference: &Reference, digest: &Digest) -> Result<(Vec<u8>, String)> {
        let payload = Payload {
            critical: Critical {
                identity: Identity {
                    reference: format!("{}/{}", reference.host, reference.repository),
                },
                image: Image {
                    digest: digest.to_string(),
                },
                kind: SIGNATURE_TYPE.to_owned(),
            },
            optional: None,
        };
        let payload = serde_json::to_vec(&payload)?;
        let signature = self.0.sign(&SystemRandom::new(), &payload);
        let Ok(signature) = signature else {
            bail!("cannot sign: the system gives no random numbers");
        };
        Ok((payload, STANDARD.encode(signature)))
    }
}

/// The tag of the artefact with the signatures of another one.
pub(crate) fn tag(digest: &Digest) -> String {
    format!("sha256-{}.sig", digest.hex())
}

/// The content of a block of a PEM text.
fn block(text: &str, label: &str) -> Result<Vec<u8>> {
    let begin = format!("-----BEGIN {label}-----");
    let end = format!("-----END {label}-----");
    let inside = text
        .split_once(&begin)
        .and_then(|(_, rest)| rest.split_once(&end))
        .map(|(inside, _)| inside);
    let inside = inside.with_context(|| format!("the key is no PEM text with a block {label}"))?;
    let digits: String = inside.split_whitespace().collect();
    STANDARD
        .decode(digits)
        .with_context(|| format!("the block {label} is not base64"))
}

#[cfg(test)]
mod tests {
    use ring::signature::KeyPair as _;

    use super::*;

    fn pem(label: &str, der: &[u8]) -> String {
        let text = STANDARD.encode(der);
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    }

    /// A new private key and its public key, in PEM.
    fn keys() -> (String, String) {
        let (random, form) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let private = EcdsaKeyPair::generate_pkcs8(form, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(form, private.as_ref(), &random).unwrap();
        let public = [&P256_HEAD[..], key.public_key().as_ref()].concat();
        (
            pem("PRIVATE KEY", private.as_ref()),
            pem("PUBLIC KEY", &public),
        )
    }

    #[test]
    fn a_signature_is_of_one_key_and_one_artefact() {
        let reference: Reference = "oci://a.example/b:1".parse().unwrap();
        let digest = Digest::of(b"manifest");
        let (private, public) = keys();
        let signing = SigningKey::from_pem(&private).unwrap();
        let (payload, signature) = signing.sign(&reference, &digest).unwrap();
        let key = PublicKey::from_pem(&public).unwrap();
        assert!(key.has_signed(&payload, &signature, &digest));
        assert!(!key.has_signed(&payload, &signature, &Digest::of(b"another")));
        let other = PublicKey::from_pem(&keys().1).unwrap();
        assert_ne!(other.id(), key.id());
        assert!(!other.has_signed(&payload, &signature, &digest));
        let mut changed = payload.clone();
        changed.push(b' ');
        assert!(!key.has_signed(&changed, &signature, &digest));
        assert!(!key.has_signed(&payload, "AAAA", &digest));
        assert!(!key.has_signed(&payload, "?", &digest));
    }

    #[test]
    fn a_signed_text_that_is_no_signature_of_an_artefact_counts_for_nothing() {
        let digest = Digest::of(b"manifest");
        let (private, public) = keys();
        let signing = SigningKey::from_pem(&private).unwrap();
        let key = PublicKey::from_pem(&public).unwrap();
        let text = format!(
            r#"{{"critical":{{"identity":{{"docker-reference":""}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"another type"}},"optional":null}}"#
        );
        for payload in [text.as_str(), digest.as_str(), "{}"] {
            let signature = signing
                .0
                .sign(&SystemRandom::new(), payload.as_bytes())
                .unwrap();
            let signature = STANDARD.encode(signature);
            assert!(
                !key.has_signed(payload.as_bytes(), &signature, &digest),
                "{payload}"
            );
        }
    }

    #[test]
    fn only_keys_of_p256_are_read() {
        let (private, public) = keys();
        for text in [
            "",
            &private,
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        ] {
            assert!(PublicKey::from_pem(text).is_err());
        }
        assert!(SigningKey::from_pem(&public).is_err());
    }
}
