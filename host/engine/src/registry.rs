//! Maps names, roles and domains to plugins. A registry is immutable: a change replaces it, and
//! calls in progress keep the plugins they started with.
//!
//! A lookup is made for a project, or for nobody in particular. A project's own plugins come
//! first, then those of the instance; those of other projects are never found. An own plugin that
//! could not be loaded stands in the way of the instance's: nothing is found.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;

use crate::error::PluginError;
use crate::host::work::HostWork;
use crate::journal::{Caller, project_of};
use crate::kind::Kind;
use crate::manifest::{FetcherInfo, Manifest};
use crate::output::shape::is_built_in;
use crate::plugin::{Plugin, PluginInfo, Source};
use crate::unloaded::Unloaded;

/// Identity of a plugin: (kind, name).
pub(crate) type Id = (Kind, String);

/// A fetcher that lists the same domain as another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Its name.
    pub name: String,
    /// The domain, or pattern of domains.
    pub domain: String,
    /// Whether it is the one that serves the domain, and not the other one.
    pub serves: bool,
}

/// All plugins at one time.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    slots: BTreeMap<Id, Slot>,
    roles: HashMap<String, Arc<Plugin>>,
    projects: HashMap<ProjectId, Arc<ProjectPlugins>>,
}

/// The plugins of one project.
#[derive(Clone, Default)]
struct ProjectPlugins {
    plugins: BTreeMap<Id, Arc<Plugin>>,
    /// Those that could not be loaded; none of them is among `plugins`.
    unloaded: BTreeMap<Id, Unloaded>,
    roles: HashMap<String, Id>,
}

impl ProjectPlugins {
    /// Maps roles to plugins: the one with the role's name, else the first by name. A project has
    /// no configuration of roles, so every role that a manifest lists is taken.
    fn index(&mut self) {
        let loaded = self.plugins.iter();
        let loaded = loaded.map(|(id, plugin)| (id, &plugin.manifest.roles));
        let unloaded = self.unloaded.iter().map(|(id, one)| (id, &one.roles));
        let by_name: BTreeMap<&Id, &Vec<String>> = loaded.chain(unloaded).collect();
        let mut roles: HashMap<String, Id> = HashMap::new();
        for (id, listed) in by_name {
            for role in listed {
                if id.1 == *role || !roles.contains_key(role) {
                    roles.insert(role.clone(), id.clone());
                }
            }
        }
        self.roles = roles;
    }

    /// The fetcher that matches a host name most exactly, or the id of one that could not be loaded.
    fn fetcher(&self, domain: &str) -> Option<Result<&Arc<Plugin>, &Id>> {
        let unloaded = self.unloaded.iter();
        let unloaded =
            unloaded.filter_map(|(id, one)| Some((id.1.as_str(), one.fetcher.as_ref()?, Err(id))));
        let loaded = fetchers(self.plugins.values());
        let loaded = loaded.map(|(name, info, plugin)| (name, info, Ok(plugin)));
        most_exact(loaded.chain(unloaded), domain)
    }
}

/// The program's own plugin, the folder's, which overrides it, and the upload, which overrides both.
#[derive(Clone, Default)]
struct Slot {
    embedded: Option<Arc<Plugin>>,
    folder: Option<Arc<Plugin>>,
    upload: Option<Arc<Plugin>>,
    /// Why the newest file of the folder failed to load.
    problem: Option<String>,
}

/// The plugins that one project sees: its own before those of the instance.
#[derive(Clone, Copy)]
pub(crate) struct Visible<'a> {
    registry: &'a Registry,
    /// `None`: the instance's alone.
    caller: &'a Caller,
    /// What their calls are spent on.
    account: Option<&'a HostWork>,
}

impl<'a> Visible<'a> {
    pub const fn new(registry: &'a Registry, caller: &'a Caller) -> Self {
        Self {
            registry,
            caller,
            account: None,
        }
    }

    /// The same; what their calls take is spent on this.
    pub const fn spending(self, account: Option<&'a HostWork>) -> Self {
        Self { account, ..self }
    }

    pub const fn account(self) -> Option<&'a HostWork> {
        self.account
    }

    pub fn project(self) -> Option<ProjectId> {
        project_of(self.caller)
    }

    pub const fn caller(self) -> &'a Caller {
        self.caller
    }

    /// Same as [`Registry::role`].
    pub fn role<'r>(self, role: &'r str) -> Option<(&'r Arc<Plugin>, &'r str)>
    where
        'a: 'r,
    {
        self.registry.role(self.project(), role)
    }

    /// Same as [`Registry::missing_role`].
    pub fn missing_role(self, role: &str) -> PluginError {
        self.registry.missing_role(self.project(), role)
    }
}

impl Slot {
    fn serving(&self) -> Option<&Arc<Plugin>> {
        self.upload
            .as_ref()
            .or(self.folder.as_ref())
            .or(self.embedded.as_ref())
    }
}

impl Registry {
    /// The plugin of this name.
    pub fn get(&self, project: Option<ProjectId>, kind: Kind, name: &str) -> Option<&Arc<Plugin>> {
        let id = (kind, name.to_owned());
        let own = self.of_project(project);
        match own.and_then(|own| own.plugins.get(&id)) {
            Some(plugin) => Some(plugin),
            None if own.is_some_and(|own| own.unloaded.contains_key(&id)) => None,
            None => self.slots.get(&id)?.serving(),
        }
    }

    /// Why [`get`](Self::get) finds nothing.
    pub fn missing(&self, project: Option<ProjectId>, kind: Kind, name: &str) -> PluginError {
        let id = (kind, name.to_owned());
        self.not_loaded(project, &id)
            .unwrap_or_else(|| PluginError::NotFound {
                kind: kind.as_str(),
                name: id.1,
            })
    }

    /// Why [`role`](Self::role) finds nothing.
    pub fn missing_role(&self, project: Option<ProjectId>, role: &str) -> PluginError {
        let own = self.of_project(project);
        let error = own
            .and_then(|own| own.roles.get(role))
            .and_then(|id| self.not_loaded(project, id));
        error.unwrap_or_else(|| self.missing(project, Kind::Extractor, role))
    }

    /// Why [`fetcher`](Self::fetcher) finds nothing.
    pub fn missing_fetcher(&self, project: Option<ProjectId>, domain: &str) -> PluginError {
        let own = self.of_project(project);
        let unloaded = own.and_then(|own| own.fetcher(domain)?.err());
        let error = unloaded.and_then(|id| self.not_loaded(project, id));
        error.unwrap_or_else(|| PluginError::NotFound {
            kind: Kind::Fetcher.as_str(),
            name: domain.to_owned(),
        })
    }

    fn not_loaded(&self, project: Option<ProjectId>, id: &Id) -> Option<PluginError> {
        let unloaded = self.of_project(project)?.unloaded.get(id)?;
        Some(unloaded.error(id.0, &id.1))
    }

    fn of_project(&self, project: Option<ProjectId>) -> Option<&ProjectPlugins> {
        self.projects.get(&project?).map(Arc::as_ref)
    }

    /// The plugin that serves a role, and the role's name in it. A name that is not a role but an
    /// extractor's name means that extractor's first role, unless it is the name of a built-in role: the
    /// answer would not have its shape.
    pub fn role<'a>(
        &'a self,
        project: Option<ProjectId>,
        role: &'a str,
    ) -> Option<(&'a Arc<Plugin>, &'a str)> {
        if let Some(own) = self.of_project(project)
            && let Some(id) = own.roles.get(role)
        {
            return Some((own.plugins.get(id)?, role));
        }
        if let Some(plugin) = self.roles.get(role) {
            return Some((plugin, role));
        }
        if is_built_in(role) {
            return None;
        }
        let plugin = self.get(project, Kind::Extractor, role)?;
        Some((plugin, plugin.manifest.roles.first()?))
    }

    /// The fetcher that matches a host name most exactly, of several the last by name; any of the project's own comes
    /// first.
    pub fn fetcher(&self, project: Option<ProjectId>, domain: &str) -> Option<&Arc<Plugin>> {
        let own = self.of_project(project);
        match own.and_then(|own| own.fetcher(domain)) {
            Some(own) => own.ok(),
            None => most_exact(fetchers(self.instance()), domain),
        }
    }

    /// Fetchers of the same owner that list a domain of this one, each with the domain, and whether it is the one that
    /// serves it.
    pub fn rivals(&self, project: Option<ProjectId>, name: &str) -> Vec<Rival> {
        let is_it = |plugin: &&Arc<Plugin>| plugin.kind() == Kind::Fetcher && plugin.name() == name;
        let own = self.of_project(project);
        let all: Vec<&Arc<Plugin>> = match own {
            Some(own) if own.plugins.values().any(|plugin| is_it(&plugin)) => {
                own.plugins.values().collect()
            }
            _ => self.instance().collect(),
        };
        let Some(plugin) = all.iter().copied().find(is_it) else {
            return Vec::new();
        };
        let domains = |plugin: &Arc<Plugin>| match &plugin.manifest.fetcher {
            Some(info) => info.domains.clone(),
            None => Vec::new(),
        };
        let mut rivals = Vec::new();
        for domain in domains(plugin) {
            for other in all.iter().filter(|other| !Arc::ptr_eq(other, plugin)) {
                if domains(other).contains(&domain) {
                    rivals.push(Rival {
                        name: other.name().to_owned(),
                        // In the order of `most_exact`.
                        serves: other.name() > name,
                        domain: domain.clone(),
                    });
                }
            }
        }
        rivals
    }

    fn instance(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.slots.values().filter_map(Slot::serving)
    }

    /// Entries for listings, by kind and name: the instance's plugins, each replaced by the
    /// project's own of the same kind and name, and left out if that one could not be loaded.
    pub fn infos(&self, project: Option<ProjectId>) -> Vec<PluginInfo> {
        let info = |(id, slot): (&Id, &Slot)| {
            Some((id.clone(), slot.serving()?.info(slot.problem.as_deref())))
        };
        let mut all: BTreeMap<Id, PluginInfo> = self.slots.iter().filter_map(info).collect();
        if let Some(own) = self.of_project(project) {
            all.retain(|id, _| !own.unloaded.contains_key(id));
            let own = own.plugins.iter();
            all.extend(own.map(|(id, plugin)| (id.clone(), plugin.info(None))));
        }
        all.into_values().collect()
    }

    /// Entries of a project's own plugins, by kind and name.
    pub fn own_infos(&self, project: ProjectId) -> Vec<PluginInfo> {
        let own = self.of_project(Some(project)).into_iter();
        let own = own.flat_map(|own| own.plugins.values());
        own.map(|plugin| plugin.info(None)).collect()
    }

    /// The plugin currently loaded from this file.
    pub fn of_file(&self, path: &Path) -> Option<&Arc<Plugin>> {
        let is_it =
            |plugin: &&Arc<Plugin>| matches!(&plugin.source, Source::Folder(p) if p == path);
        self.slots
            .values()
            .filter_map(|slot| slot.folder.as_ref())
            .find(is_it)
    }

    /// An upload that serves in place of a plugin of the folder, and that one.
    pub fn hidden_by_upload(&self, kind: Kind, name: &str) -> Option<(&Arc<Plugin>, &Arc<Plugin>)> {
        let slot = self.slots.get(&(kind, name.to_owned()))?;
        slot.upload.as_ref().zip(slot.folder.as_ref())
    }

    /// Inserts a plugin, or replaces the one of its name and source.
    pub fn insert(&mut self, plugin: Arc<Plugin>, overrides: &BTreeMap<String, String>) {
        if let Source::Project(project) = plugin.source {
            let own = Arc::make_mut(self.projects.entry(project).or_default());
            let id = (plugin.kind(), plugin.name().to_owned());
            own.unloaded.remove(&id);
            own.plugins.insert(id, plugin);
            own.index();
            return;
        }
        let slot = self
            .slots
            .entry((plugin.kind(), plugin.name().to_owned()))
            .or_default();
        match plugin.source {
            Source::Embedded => slot.embedded = Some(plugin),
            Source::Folder(_) => {
                slot.folder = Some(plugin);
                slot.problem = None;
            }
            Source::Upload => slot.upload = Some(plugin),
            Source::Project(_) => {}
        }
        self.index(overrides);
    }

    /// Records why a file's new content failed to load.
    pub fn note(&mut self, path: &Path, problem: &str) {
        let Some(id) = self.of_file(path).map(|p| (p.kind(), p.name().to_owned())) else {
            return;
        };
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.problem = Some(problem.to_owned());
        }
    }

    /// Removes an upload; the plugin that it overrode serves again. False if there is none.
    pub fn remove_upload(&mut self, id: &Id, overrides: &BTreeMap<String, String>) -> bool {
        let removed = self
            .slots
            .get_mut(id)
            .and_then(|slot| slot.upload.take())
            .is_some();
        self.tidy(overrides);
        removed
    }

    /// Notes why a project's own plugin could not be loaded, and ends its service. Without a manifest it is taken
    /// to serve what it served until now.
    pub fn refuse_own(
        &mut self,
        project: ProjectId,
        id: &Id,
        manifest: Option<&Manifest>,
        reason: &str,
    ) {
        let own = Arc::make_mut(self.projects.entry(project).or_default());
        let served = own.plugins.remove(id);
        let served = served.as_ref().map(|plugin| &plugin.manifest);
        let known = own.unloaded.remove(id);
        let unloaded = match (manifest.or(served), known) {
            (Some(manifest), _) => Unloaded::of(manifest, reason),
            (None, Some(known)) => known.because(reason),
            (None, None) => Unloaded::unknown(id.0, &id.1, reason),
        };
        own.unloaded.insert(id.clone(), unloaded);
        own.index();
    }

    /// Removes a project's own plugin. False if there is none.
    pub fn remove_own(&mut self, project: ProjectId, id: &Id) -> bool {
        let Some(own) = self.projects.get_mut(&project) else {
            return false;
        };
        let own = Arc::make_mut(own);
        let unloaded = own.unloaded.remove(id).is_some();
        let removed = own.plugins.remove(id).is_some() || unloaded;
        own.index();
        if own.plugins.is_empty() && own.unloaded.is_empty() {
            self.projects.remove(&project);
        }
        removed
    }

    /// Removes the plugin loaded from a file. False if there is none.
    pub fn remove_file(&mut self, path: &Path, overrides: &BTreeMap<String, String>) -> bool {
        let Some(id) = self.of_file(path).map(|p| (p.kind(), p.name().to_owned())) else {
            return false;
        };
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.folder = None;
            slot.problem = None;
        }
        self.tidy(overrides);
        true
    }

    fn tidy(&mut self, overrides: &BTreeMap<String, String>) {
        self.slots.retain(|_, slot| slot.serving().is_some());
        self.index(overrides);
    }

    /// Maps roles to plugins: the configured one, else the one with the role's name, else the first
    /// by name.
    fn index(&mut self, overrides: &BTreeMap<String, String>) {
        let mut roles: HashMap<String, Arc<Plugin>> = HashMap::new();
        for plugin in self.instance() {
            for role in &plugin.manifest.roles {
                let named = overrides.get(role).map_or(role.as_str(), String::as_str);
                if plugin.name() == named || !roles.contains_key(role) {
                    roles.insert(role.clone(), Arc::clone(plugin));
                }
            }
        }
        self.roles = roles;
    }
}

/// The fetchers among plugins, with their names and domains.
fn fetchers<'a>(
    plugins: impl Iterator<Item = &'a Arc<Plugin>>,
) -> impl Iterator<Item = (&'a str, &'a FetcherInfo, &'a Arc<Plugin>)> {
    plugins.filter_map(|plugin| Some((plugin.name(), plugin.manifest.fetcher.as_ref()?, plugin)))
}

/// The one that matches a host name most exactly; of several the last by name.
fn most_exact<'a, T>(
    fetchers: impl Iterator<Item = (&'a str, &'a FetcherInfo, T)>,
    domain: &str,
) -> Option<T> {
    let domain = domain.trim_end_matches('.').to_ascii_lowercase();
    let bare = domain.strip_prefix("www.").unwrap_or(&domain);
    fetchers
        .filter_map(|(name, info, found)| {
            let exactness = info.serves(&domain).or_else(|| info.serves(bare))?;
            Some(((exactness, name), found))
        })
        .max_by_key(|(rank, _)| *rank)
        .map(|(_, found)| found)
}
