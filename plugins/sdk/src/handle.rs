//! The host's handle of a page: a resource in the sandbox, empty outside of it.

#[cfg(target_family = "wasm")]
mod imp {
    use orbweaver_dom::Snapshot;

    use crate::bindings::host::orbweaver::plugin::pages;
    use crate::page::{Header, Hop};

    /// A page of the host, owned or borrowed for a call.
    pub enum Handle<'a> {
        Own(pages::Page),
        Lent(&'a pages::Page),
    }

    impl Handle<'_> {
        pub fn raw(&self) -> &pages::Page {
            match self {
                Self::Own(page) => page,
                Self::Lent(page) => page,
            }
        }

        pub fn url(&self) -> String {
            self.raw().url()
        }

        pub fn final_url(&self) -> String {
            self.raw().final_url()
        }

        pub fn status(&self) -> u16 {
            self.raw().status().unwrap_or_default()
        }

        pub fn cost_usd(&self) -> f64 {
            self.raw().cost_usd().unwrap_or_default()
        }

        pub fn headers(&self) -> Vec<Header> {
            let headers = self.raw().headers();
            headers
                .into_iter()
                .map(|h| Header {
                    name: h.name,
                    value: h.value,
                })
                .collect()
        }

        pub fn redirects(&self) -> Vec<Hop> {
            let hops = self.raw().redirects();
            hops.into_iter()
                .map(|hop| Hop {
                    url: hop.url,
                    status: hop.status,
                })
                .collect()
        }

        pub fn size(&self) -> Option<u64> {
            Some(self.raw().size())
        }

        pub fn body(&self) -> Option<Vec<u8>> {
            Some(self.raw().body())
        }

        pub fn read(&self, offset: u64, max: u32) -> Option<Vec<u8>> {
            Some(self.raw().read(offset, max))
        }

        pub fn html(&self) -> String {
            self.raw().html()
        }

        pub fn snapshot(&self) -> Snapshot {
            let snapshot = self.raw().snapshot();
            Snapshot {
                words: snapshot.words,
                text: snapshot.text,
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod imp {
    use std::marker::PhantomData;

    use orbweaver_dom::Snapshot;

    use crate::page::{Header, Hop};

    /// There is no host, so the page has only its own data.
    pub struct Handle<'a>(pub PhantomData<&'a ()>);

    impl Handle<'_> {
        pub fn url(&self) -> String {
            String::new()
        }

        pub fn final_url(&self) -> String {
            String::new()
        }

        pub fn status(&self) -> u16 {
            0
        }

        pub fn cost_usd(&self) -> f64 {
            0.0
        }

        pub fn headers(&self) -> Vec<Header> {
            Vec::new()
        }

        pub fn redirects(&self) -> Vec<Hop> {
            Vec::new()
        }

        pub fn size(&self) -> Option<u64> {
            None
        }

        pub fn body(&self) -> Option<Vec<u8>> {
            None
        }

        pub fn read(&self, _offset: u64, _max: u32) -> Option<Vec<u8>> {
            None
        }

        pub fn html(&self) -> String {
            String::new()
        }

        pub fn snapshot(&self) -> Snapshot {
            Snapshot::default()
        }
    }
}

pub(crate) use imp::Handle;
