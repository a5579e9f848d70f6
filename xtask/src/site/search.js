// PAGES: [where, page, heading, text], written before this.
const root = document.documentElement;
const up = document.body.dataset.up;
const kept = (() => { try { return localStorage.theme; } catch { return undefined; } })();
if (kept) root.dataset.theme = kept;
document.getElementById("theme").onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.theme = root.dataset.theme; } catch { /* not kept */ }
};
const found = document.getElementById("found");
const box = document.getElementById("search");
function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  found.hidden = words.length === 0;
  if (found.hidden) return;
  const hits = [];
  for (const [to, page, heading, text] of PAGES) {
    const head = (page + " " + heading).toLowerCase(), body = text.toLowerCase();
    if (!words.every((word) => head.includes(word) || body.includes(word))) continue;
    hits.push([words.filter((word) => head.includes(word)).length, to, page, heading, text, body.indexOf(words[0])]);
  }
  hits.sort((a, b) => b[0] - a[0]);
  for (const [, to, page, heading, text, at] of hits.slice(0, 30)) {
    const item = document.createElement("li"), link = document.createElement("a"), title = document.createElement("b");
    link.href = up + to;
    title.textContent = page === heading ? page : page + " · " + heading;
    link.append(title);
    item.append(link, text.slice(Math.max(0, at - 60), at + 120));
    found.append(item);
  }
  if (hits.length === 0) found.append("nothing found");
}
box.oninput = search;
box.onkeydown = (event) => {
  if (event.key === "Escape") { box.value = ""; search(); }
  if (event.key === "Enter" && !found.hidden) found.querySelector("a")?.click();
};
const asked = new URLSearchParams(location.search).get("q");
if (asked) { box.value = asked; search(); }
