"use strict";
// Keys, and conversations as they go on. Texts that come from elsewhere are put down as text, never as HTML.
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  let chosen = null;

  function choose(row) {
    rows().forEach((r) => r.classList.toggle("chosen", r === row));
    chosen = row ? row.dataset.row : null;
    if (row) row.querySelector("a.what").focus();
  }

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((r) => r.dataset.row === chosen);
    choose(all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))]);
  }

  function open(part) {
    const row = rows().find((r) => r.dataset.row === chosen);
    if (row) location.assign(row.querySelector("a.what").getAttribute("href") + part);
  }

  const on = (id, act) => { const e = document.getElementById(id); if (e) act(e); return Boolean(e); };
  const focus = (id) => on(id, (e) => { e.focus(); e.scrollIntoView({ block: "nearest" }); });
  const edit = () => on("edit-part", (e) => { e.open = true; }) && focus("arguments");

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => focus("approve") || open("#do-approve"),
    d: () => focus("feedback") || open("#do-deny"),
    e: () => edit() || open("#do-edit"),
    u: () => on("back", (e) => e.click()),
    "/": () => focus("q"),
    "?": () => on("help", (e) => (e.open ? e.close() : e.showModal())),
  };

  // A page's own keys: a part that names a key is pressed, or written in.
  // A key that is held doesn't answer for the next page.
  function press(key, held) {
    const e = [...document.querySelectorAll("[data-key]")].find((part) => part.dataset.key === key);
    if (!e) return false;
    if (held) return true;
    if (e.matches("input, textarea")) e.focus(); else e.click();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const t = event.target;
    if (t.matches("input, textarea, select")) {
      if (event.key === "Escape") t.blur();
      return;
    }
    if (press(event.key, event.repeat)) { event.preventDefault(); return; }
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    if (row && row.dataset.row !== chosen) choose(row);
  });

  document.addEventListener("htmx:afterSwap", () => {
    const row = rows().find((r) => r.dataset.row === chosen);
    if (row) row.classList.add("chosen");
  });

  if (location.hash === "#do-approve") focus("approve");
  if (location.hash === "#do-deny") focus("feedback");
  if (location.hash === "#do-edit") edit();

  // The log as it is written, the newest first.
  const log = document.getElementById("log");
  if (log && log.dataset.tail) {
    const part = (tag, kind, text) => {
      const e = document.createElement(tag);
      e.className = kind;
      e.textContent = text;
      return e;
    };
    const follow = new EventSource(log.dataset.tail);
    follow.onmessage = (m) => {
      const e = JSON.parse(m.data);
      if (rows().some((r) => r.dataset.row === e.id)) return;
      const row = part("li", "row fresh", "");
      row.dataset.row = e.id;
      const what = part("a", "what", "");
      what.id = "row-" + e.id;
      what.href = "/log/" + encodeURIComponent(e.id);
      what.append(part("strong", "", e.head));
      const badges = part("span", "badges", "");
      if (e.outcome) badges.append(part("span", "badge state-" + e.outcome, e.outcome), " ");
      if (e.kind) badges.append(part("span", "badge", e.kind));
      const who = part("span", "for", (e.user ? "for " + e.user : "") + (e.agent ? ", by " + e.agent : ""));
      for (const [kind, text] of [["dim", e.gate], ["code", e.code], ["dim", e.reason]]) if (text) who.append(" ", part("span", kind, text));
      row.append(what, badges, who, part("span", "when", e.at));
      log.prepend(row);
      on("none", (none) => none.remove());
      while (log.children.length > 500) log.lastChild.remove();
    };
  }

  const live = document.getElementById("live");
  if (!live) return;
  const path = "/chat/" + encodeURIComponent(live.dataset.chat);
  const steps = document.getElementById("steps");
  const answer = document.getElementById("answer");
  let last = null;

  function line(parts, link) {
    const li = document.createElement("li");
    for (const [kind, text] of parts) {
      if (!text) continue;
      const s = document.createElement("span");
      s.className = kind;
      s.textContent = text;
      li.append(s, " ");
    }
    if (link) {
      const a = document.createElement("a");
      a.href = "/approvals/" + encodeURIComponent(link);
      a.textContent = "Look at it";
      li.append(a);
    }
    steps.append(li);
    while (steps.children.length > 200) steps.firstChild.remove();
    return li;
  }

  function clear() {
    steps.replaceChildren();
    answer.textContent = "";
    answer.hidden = true;
  }

  function reload() {
    htmx.ajax("GET", path + "/messages", { target: "#turns", swap: "outerHTML" }).then(clear);
  }

  const answered = (request) => [...document.querySelectorAll("[data-answered]")].some((e) => e.dataset.answered === request);

  const shown = {
    text: (e) => { answer.hidden = false; answer.textContent += e.text; },
    withdrawn: () => { answer.textContent = ""; answer.hidden = true; },
    agent: (e) => line([["who", e.agent], ["badge", e.state], ["dim", e.why]]),
    call: (e) => line([["who", e.agent], ["code", e.skill], ["badge state-" + e.outcome, e.outcome], ["dim", e.why]]),
    outcome: (e) => line([["who", e.agent], ["code", e.skill], ["badge state-" + e.outcome, e.outcome]]),
    approval: (e) => line([["who", e.agent], ["code", e.skill], ["badge state-pending", e.outcome === "ask" ? "waits for a person" : e.outcome]], e.approval),
    reply: reload,
    error: reload,
    gap: reload,
  };

  const source = new EventSource(path + "/events");
  source.onmessage = (m) => {
    const e = JSON.parse(m.data);
    if (e.request && answered(e.request)) return;
    if (e.request && e.request !== last) { last = e.request; clear(); }
    if (shown[e.kind]) shown[e.kind](e);
  };
})();
