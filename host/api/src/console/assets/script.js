// Progress of a run, busy buttons, copying, questions before what can't be undone. Every page works without it.
"use strict";

function follow(box) {
  const bar = document.querySelector("progress.progress");
  const source = new EventSource(box.dataset.events);
  const show = (name, text) => {
    const place = box.querySelector(`[data-show="${name}"]`);
    if (place) place.textContent = text;
  };
  const told = (event) => {
    const run = JSON.parse(event.data);
    for (const name of ["status", "fetched", "failed", "queued", "rate"]) {
      if (run[name] !== undefined) show(name, String(run[name]));
    }
    const done = (run.fetched || 0) + (run.failed || 0);
    const all = done + (run.queued || 0);
    if (bar && all > 0) {
      bar.max = all;
      bar.value = done;
    }
  };
  source.addEventListener("progress", told);
  source.addEventListener("end", (event) => {
    told(event);
    source.close();
    location.reload();
  });
}

document.querySelectorAll("[data-events]").forEach(follow);

document.addEventListener("submit", (event) => {
  const form = event.target;
  const button = event.submitter || form.querySelector("button");
  if (button && button.dataset.confirm && !confirm(button.dataset.confirm)) {
    event.preventDefault();
    return;
  }
  if (form.hasAttribute("data-busy") && button) {
    button.disabled = true;
    button.setAttribute("aria-busy", "true");
    button.textContent += " …";
  }
});

// A page that comes back from the history is not busy any more.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

document.querySelectorAll("pre[data-copy]").forEach((block) => {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy quiet";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(block.querySelector("code").textContent).then(() => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });
  const holder = document.createElement("div");
  holder.className = "copyable";
  block.replaceWith(holder);
  holder.append(block, button);
});
