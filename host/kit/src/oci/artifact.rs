//! Artefacts: a component as a manifest, a config and a layer.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use orbweaver_engine::Inspection;
use orbweaver_fetch::{Method, Response};
use serde::{Deserialize, Serialize};

use super::reference::{Digest, Reference};
use super::registry::{Access, Call, MAX_MANIFEST, Registry, message};
use super::signature::{self, PublicKey, Signed, Signer, SigningKey};

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
const LAYER_TYPE: &str = "application/wasm";
/// The config of artefacts with signatures, which nobody reads.
const IMAGE_CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
/// Largest component, in bytes.
const MAX_COMPONENT: u64 = 128 << 20;
/// Signatures of one artefact that are read.
const MAX_SIGNATURES: usize = 32;

/// An image manifest (OCI image specification 1.1), as far as it matters here.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// The config of a component.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WasmConfig<'a> {
    created: &'static str,
    author: Option<&'a str>,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [&'a str; 1],
    component: WasmComponent<'a>,
}

#[derive(Debug, Serialize)]
struct WasmComponent<'a> {
    exports: &'a [String],
    imports: &'a [String],
    target: Option<&'a str>,
}

/// A component that was fetched.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Digest of the component.
    pub component_digest: Digest,
    /// The component.
    pub component: Bytes,
}

/// A component that was stored.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// Digest of the manifest.
    pub digest: Digest,
}

impl Descriptor {
    fn new(media_type: &str, content: &[u8]) -> (Self, Digest) {
        let digest = Digest::of(content);
        let descriptor = Self {
            media_type: media_type.to_owned(),
            digest: digest.to_string(),
            size: content.len() as u64,
            annotations: BTreeMap::new(),
        };
        (descriptor, digest)
    }
}

impl Manifest {
    fn new(config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: Some(MANIFEST_TYPE.to_owned()),
            config,
            layers,
            annotations: BTreeMap::new(),
        }
    }

    /// The layer with the component.
    fn component(&self) -> Result<&Descriptor> {
        if self.config.media_type != CONFIG_TYPE {
            bail!("not a component: its config is {}", self.config.media_type);
        }
        let [layer] = self.layers.as_slice() else {
            bail!("not a component: it has {} layers", self.layers.len());
        };
        if layer.media_type != LAYER_TYPE {
            bail!("not a component: its layer is {}", layer.media_type);
        }
        if layer.size > MAX_COMPONENT {
            bail!(
                "its component has {} bytes, more than {MAX_COMPONENT}",
                layer.size
            );
        }
        Ok(layer)
    }
}

impl Registry {
    /// Fetches a component. A reference with a digest gets that artefact or fails.
    ///
    /// # Errors
    /// A registry that cannot be reached, an artefact that is not there, is no component, or is not what its
    /// digests say.
    pub async fn pull(&self, reference: &Reference) -> Result<Pulled> {
        let Some((digest, manifest)) = self.manifest(reference).await? else {
            bail!("{reference}: the registry has no such artefact");
        };
        let layer = manifest
            .component()
            .with_context(|| reference.to_string())?;
        let component_digest: Digest = layer.digest.parse()?;
        let component = self.blob(reference, &component_digest, layer.size).await?;
        Ok(Pulled {
            digest,
            component_digest,
            component,
        })
    }

    /// Stores a component under the reference's tag. The same component makes the same artefact.
    ///
    /// # Errors
    /// A registry that cannot be reached, or refuses it.
    pub async fn push(
        &self,
        reference: &Reference,
        component: Bytes,
        found: &Inspection,
    ) -> Result<Pushed> {
        let Some(tag) = reference
            .tag
            .as_ref()
            .filter(|_| reference.digest.is_none())
        else {
            bail!("{reference}: must have a tag, and no digest, to store an artefact");
        };
        let (layer, layer_digest) = Descriptor::new(LAYER_TYPE, &component);
        let config = serde_json::to_vec(&WasmConfig {
            // The same component is the same artefact, whenever it is stored.
            created: "1970-01-01T00:00:00Z",
            author: None,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [layer_digest.as_str()],
            component: WasmComponent {
                exports: &found.exports,
                imports: &found.imports,
                target: None,
            },
        })?;
        let (config_descriptor, config_digest) = Descriptor::new(CONFIG_TYPE, &config);
        self.put_blob(reference, &layer_digest, component).await?;
        self.put_blob(reference, &config_digest, config.into())
            .await?;
        let mut manifest = Manifest::new(config_descriptor, vec![layer]);
        let about = &found.manifest;
        for (name, value) in [
            ("title", about.name.as_str()),
            ("version", about.version.as_str()),
            ("description", about.description.as_str()),
        ] {
            let name = format!("org.opencontainers.image.{name}");
            manifest.annotations.insert(name, value.to_owned());
        }
        let digest = self.put_manifest(reference, tag, &manifest).await?;
        Ok(Pushed { digest })
    }

    /// Adds a signature to an artefact.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub async fn sign(
        &self,
        reference: &Reference,
        digest: &Digest,
        key: &SigningKey,
    ) -> Result<()> {
        let (payload, signature) = key.sign(reference, digest)?;
        let (mut layer, payload_digest) = Descriptor::new(signature::PAYLOAD_TYPE, &payload);
        let annotation = signature::ANNOTATION.to_owned();
        layer.annotations.insert(annotation, signature);
        self.put_blob(reference, &payload_digest, payload.into())
            .await?;
        let tag = signature::tag(digest);
        let mut layers = match self.manifest(&at(reference, &tag)).await? {
            Some((_, manifest)) => manifest.layers,
            None => Vec::new(),
        };
        layers.push(layer);
        let diffs: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
        let config = serde_json::to_vec(&serde_json::json!({
            "architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": diffs},
        }))?;
        let (descriptor, config_digest) = Descriptor::new(IMAGE_CONFIG_TYPE, &config);
        self.put_blob(reference, &config_digest, config.into())
            .await?;
        let manifest = Manifest::new(descriptor, layers);
        self.put_manifest(reference, &tag, &manifest).await?;
        Ok(())
    }

    /// Which of the keys has signed an artefact as that of its repository.
    ///
    /// # Errors
    /// A registry that cannot be reached, or whose signatures cannot be read.
    pub async fn signer<'a>(
        &self,
        reference: &Reference,
        digest: &Digest,
        keys: &'a [PublicKey],
    ) -> Result<Signer<'a>> {
        let place = at(reference, &signature::tag(digest));
        let Some((_, manifest)) = self.manifest(&place).await? else {
            return Ok(Signer::Nobody);
        };
        let mut best = Signer::Nobody;
        for layer in manifest.layers.iter().take(MAX_SIGNATURES) {
            let signature = layer.annotations.get(signature::ANNOTATION);
            let is_payload =
                layer.media_type == signature::PAYLOAD_TYPE && layer.size <= signature::MAX_PAYLOAD;
            let Some(signature) = signature.filter(|_| is_payload) else {
                continue;
            };
            let blob = layer.digest.parse()?;
            let payload = self.blob(reference, &blob, layer.size).await?;
            for key in keys {
                match key.verify(&payload, signature, (reference, digest)) {
                    Signed::Yes => return Ok(Signer::Key(key)),
                    Signed::ForAnother(named) => best = Signer::ForAnother(named),
                    Signed::No => {}
                }
            }
        }
        Ok(best)
    }

    /// A manifest and its digest; `None` if there is none.
    async fn manifest(&self, reference: &Reference) -> Result<Option<(Digest, Manifest)>> {
        let answer = self.get_manifest(reference).await?;
        match answer.status {
            200 => {}
            404 => return Ok(None),
            status => bail!("{reference}: {status}{}", message(&answer)),
        }
        let digest = Digest::of(&answer.body);
        if reference
            .digest
            .as_ref()
            .is_some_and(|wanted| *wanted != digest)
        {
            bail!("{reference}: the registry's artefact is {digest}");
        }
        let manifest = serde_json::from_slice(&answer.body);
        let manifest = manifest.with_context(|| format!("{reference}: it is no image manifest"))?;
        Ok(Some((digest, manifest)))
    }

    async fn get_manifest(&self, reference: &Reference) -> Result<Response> {
        let path = format!("manifests/{}", reference.selector());
        self.send(&Call {
            method: Method::GET,
            url: self.url(reference, &path)?,
            reference,
            access: Access::Pull,
            headers: vec![("accept".to_owned(), MANIFEST_TYPE.to_owned())],
            body: None,
            max_bytes: MAX_MANIFEST,
        })
        .await
    }

    async fn put_manifest(
        &self,
        reference: &Reference,
        tag: &str,
        manifest: &Manifest,
    ) -> Result<Digest> {
        let text = serde_json::to_vec(manifest)?;
        let digest = Digest::of(&text);
        let answer = self
            .send(&Call {
                method: Method::PUT,
                url: self.url(reference, &format!("manifests/{tag}"))?,
                reference,
                access: Access::Push,
                headers: vec![("content-type".to_owned(), MANIFEST_TYPE.to_owned())],
                body: Some(text.into()),
                max_bytes: MAX_MANIFEST,
            })
            .await?;
        if answer.status != 201 {
            bail!(
                "{reference}: not stored: {}{}",
                answer.status,
                message(&answer)
            );
        }
        Ok(digest)
    }
}

/// Another tag of the same repository.
fn at(reference: &Reference, tag: &str) -> Reference {
    Reference {
        tag: Some(tag.to_owned()),
        digest: None,
        ..reference.clone()
    }
}
