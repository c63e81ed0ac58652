// The menu of versions. The folders of the versions lie side by side, and next to them a file `versions.js` with a line
// like `window.sparselinVersions = ["1.1.0", "1.0.0"];`, the newest first. It is a script, because browsers read no other
// files for pages on the disk. Without this file, or with one version in it, there is no menu.
const root = document.documentElement.dataset.content_root;

function fill(menu) {
  const versions = window.sparselinVersions;
  for (const version of versions) {
    const here = version === menu.dataset.version;
    menu.add(new Option(version === versions[0] ? `${version} (newest)` : version, version, here, here));
  }
  menu.hidden = versions.length < 2;
  menu.addEventListener("change", async () => {
    const folder = `${root}../${menu.value}/`;
    const page = `${folder}${menu.dataset.page}.html`;
    // a page that the other version lacks: its start page; on the disk one cannot ask
    const exists = location.protocol === "file:" || (await fetch(page, { method: "HEAD" })).ok;
    location.href = exists ? page : `${folder}index.html`;
  });
}

const list = document.createElement("script");
list.src = `${root}../versions.js`;
list.addEventListener("load", () => document.querySelectorAll("select.versions").forEach(fill));
document.head.append(list);
