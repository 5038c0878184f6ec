//! Signatures in the simple-signing form of cosign, with a static key (ECDSA, P-256, SHA-256): the payload
//! names the repository of an artefact and the digest of its manifest, and is a layer of another artefact,
//! whose tag is made of that digest.

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

    /// What a payload with a signature says of this artefact.
    pub(crate) fn verify(
        &self,
        payload: &[u8],
        signature: &str,
        (reference, digest): (&Reference, &Digest),
    ) -> Signed {
        let Ok(signature) = STANDARD.decode(signature.trim()) else {
            return Signed::No;
        };
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point);
        // Nothing of a payload is believed before this.
        if key.verify(payload, &signature).is_err() {
            return Signed::No;
        }
        let Ok(payload) = serde_json::from_slice::<Payload>(payload) else {
            return Signed::No;
        };
        let Critical {
            identity,
            image,
            kind,
        } = payload.critical;
        if kind != SIGNATURE_TYPE || image.digest != digest.as_str() {
            return Signed::No;
        }
        let named = identity.reference;
        if named.is_empty() || identities(reference).contains(&named) {
            Signed::Yes
        } else {
            Signed::ForAnother(named)
        }
    }
}

/// What a signature says of an artefact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    /// It is signed.
    Yes,
    /// It is signed as that of another repository, which may be another plugin.
    ForAnother(String),
    /// The signature is of another key or another artefact, or none.
    No,
}

/// The signer of an artefact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer<'a> {
    /// This key has.
    Key(&'a PublicKey),
    /// One of the keys has, but as an artefact of this other repository.
    ForAnother(String),
    /// None of the keys has.
    Nobody,
}

/// The name of a reference's repository in signatures.
pub fn identity(reference: &Reference) -> String {
    format!("{}/{}", reference.host, reference.repository)
}

/// All names of a reference's repository in signatures: cosign writes docker's own registry and the default
/// folder of its repositories out.
fn identities(reference: &Reference) -> Vec<String> {
    let mut names = vec![identity(reference)];
    if reference.host == "docker.io" {
        let repository = &reference.repository;
        let folder = if repository.contains('/') {
            ""
        } else {
            "library/"
        };
        for host in ["docker.io", "index.docker.io"] {
            names.push(format!("{host}/{folder}{repository}"));
        }
    }
    names
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
                    reference: identity(reference),
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
        let here = (&reference, &digest);
        assert_eq!(key.verify(&payload, &signature, here), Signed::Yes);
        let another = Digest::of(b"another");
        let verified = key.verify(&payload, &signature, (&reference, &another));
        assert_eq!(verified, Signed::No);
        let other = PublicKey::from_pem(&keys().1).unwrap();
        assert_ne!(other.id(), key.id());
        assert_eq!(other.verify(&payload, &signature, here), Signed::No);
        let mut changed = payload.clone();
        changed.push(b' ');
        assert_eq!(key.verify(&changed, &signature, here), Signed::No);
        assert_eq!(key.verify(&payload, "AAAA", here), Signed::No);
        assert_eq!(key.verify(&payload, "?", here), Signed::No);
    }

    #[test]
    fn a_signature_is_for_one_repository_if_it_names_one() {
        let digest = Digest::of(b"manifest");
        let (private, public) = keys();
        let signing = SigningKey::from_pem(&private).unwrap();
        let key = PublicKey::from_pem(&public).unwrap();
        let verify = |named: &str, installed: &str| {
            let payload = format!(
                r#"{{"critical":{{"identity":{{"docker-reference":"{named}"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"{SIGNATURE_TYPE}"}},"optional":null}}"#
            );
            let signature = signing.0.sign(&SystemRandom::new(), payload.as_bytes());
            let signature = STANDARD.encode(signature.unwrap());
            let installed: Reference = installed.parse().unwrap();
            key.verify(payload.as_bytes(), &signature, (&installed, &digest))
        };
        for (named, installed) in [
            ("a.example/b", "oci://a.example/b:1"),
            ("a.example/b", "oci://a.example/b:2"),
            ("", "oci://a.example/b"),
            ("docker.io/b", "oci://docker.io/b"),
            ("index.docker.io/library/b", "oci://docker.io/b"),
            ("index.docker.io/a/b", "oci://docker.io/a/b"),
        ] {
            assert_eq!(
                verify(named, installed),
                Signed::Yes,
                "{named}, {installed}"
            );
        }
        for (named, installed) in [
            ("a.example/b", "oci://a.example/c"),
            ("a.example/b", "oci://mirror.example/b"),
            ("a.example:5000/b", "oci://a.example/b"),
            ("index.docker.io/b", "oci://docker.io/a/b"),
            ("index.docker.io/library/b", "oci://a.example/b"),
        ] {
            let another = Signed::ForAnother(named.to_owned());
            assert_eq!(verify(named, installed), another, "{named}, {installed}");
        }
    }

    #[test]
    fn a_signed_text_that_is_no_signature_of_an_artefact_counts_for_nothing() {
        let reference: Reference = "oci://a.example/b:1".parse().unwrap();
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
            assert_eq!(
                key.verify(payload.as_bytes(), &signature, (&reference, &digest)),
                Signed::No,
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
