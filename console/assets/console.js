// Pages work without this. With it, their live parts follow the store, and keys work.
const body = document.body, $ = (id) => document.getElementById(id);
const stamp = $("stamp"), pause = $("pause"), prefix = body.dataset.prefix;
let held = false, seen = -1, last = Date.now(), shown = stamp ? stamp.textContent.replace(/^\D*/, "") : "", asking = false;

function say(kind, word, time) {
  stamp.className = kind;
  if (stamp.dataset.said !== kind) stamp.innerHTML = '<span class="word"></span> <span class="time" aria-hidden="true"></span>';
  stamp.dataset.said = kind;
  stamp.firstChild.textContent = word;
  stamp.lastChild.textContent = time;
}

// refresh asks for the page again, and takes over the live parts that changed. Forms
// are no live parts, and who has the focus keeps it.
async function refresh() {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Live": "1" } });
    if (!answer.ok) throw answer.status;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = next.getElementById(part.id);
      if (!other || other.innerHTML === part.innerHTML) continue;
      const focus = part.contains(document.activeElement) ? document.activeElement : null;
      const open = [...part.querySelectorAll("details[open]")].map((d) => d.id);
      part.innerHTML = other.innerHTML;
      for (const id of open) if (id && $(id)) $(id).open = true;
      if (focus) (focus.id ? $(focus.id) : part.querySelector(`a[href="${CSS.escape(focus.getAttribute("href") || "")}"]`))?.focus();
    }
    return true;
  } catch { return false; } finally { asking = false; }
}

if (body.dataset.follow) {
  const events = new EventSource(body.dataset.follow);
  events.addEventListener("tick", async (e) => {
    const [number, ...time] = e.data.split(" ");
    last = Date.now();
    if (held) return;
    if (seen >= 0 && number !== seen || stamp.dataset.said === "lost" || Date.now() - drawn > 15000) {
      if (!await refresh()) return;
      drawn = Date.now();
    }
    seen = number;
    shown = time.join(" ");
    say("live", "Live", shown);
  });
  let drawn = Date.now();
  setInterval(() => {
    if (!held && Date.now() - last > 3000) say("lost", "Connection lost, showing data from", shown);
  }, 1000);
  pause.hidden = false;
  pause.onclick = () => {
    held = !held;
    pause.textContent = held ? "Go on" : "Pause";
    if (held) say("held", "Held at", shown); else seen = "";
  };
}

const keys = $("keys"), help = $("help");
if (help) { help.hidden = false; help.onclick = () => keys.showModal(); }
for (const command of document.querySelectorAll(".copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.onclick = async () => { await navigator.clipboard.writeText(command.querySelector("code").textContent); button.textContent = "Copied"; };
  command.append(button);
}

let go = 0;
const pages = { o: "", c: "connectors", p: "providers", r: "runs", g: "gaps", a: "audit", s: "settings" };
addEventListener("keydown", (e) => {
  if (!("keys" in body.dataset) || e.ctrlKey || e.metaKey || e.altKey || keys?.open || e.target.closest("input, textarea, select")) return;
  const rows = [...document.querySelectorAll(".rows tbody tr")], at = rows.findIndex((r) => r.contains(document.activeElement));
  const row = (i) => { rows.forEach((r) => r.classList.remove("here")); rows[i]?.classList.add("here"); rows[i]?.querySelector("a")?.focus(); };
  if (go && Date.now() - go < 1500 && e.key in pages) location.href = prefix + pages[e.key];
  else if (e.key === "g") { go = Date.now(); return; }
  else if (e.key === "/") (document.querySelector("[data-filter]"))?.focus();
  else if (e.key === "j") row(Math.min(at + 1, rows.length - 1));
  else if (e.key === "k") row(Math.max(at - 1, 0));
  else if (e.key === "." && pause) pause.click();
  else if (e.key === "t") $("theme").click();
  else if (e.key === "?" && keys) keys.showModal();
  else return;
  go = 0;
  e.preventDefault();
});
