"""Five small single-page applications: their links and records exist only after their scripts ran.

The frameworks come from npm.  React and Vue are served as they are published; Angular's and Svelte's applications are
bundled, as their own tools do it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.crawl.scripted_site import Answer

PACKAGES = [
    "react@18.3.1",
    "react-dom@18.3.1",
    "vue@3.5.13",
    "svelte@4.2.19",
    "@angular/core@18.2.13",
    "@angular/common@18.2.13",
    "@angular/compiler@18.2.13",
    "@angular/platform-browser@18.2.13",
    "rxjs@7.8.1",
    "zone.js@0.14.10",
    "esbuild@0.24.2",
]

#: Path -> what the API tells about it.
RECORDS = {
    "/": {"title": "All items", "links": ["/item/1", "/item/2", "/item/3"], "price": ""},
    "/item/1": {"title": "Anvil", "links": ["/"], "price": "11.50 EUR"},
    "/item/2": {"title": "Bellows", "links": ["/item/4"], "price": "22.75 EUR"},
    "/item/3": {"title": "Crucible", "links": [], "price": "33.25 EUR"},
    "/item/4": {"title": "Drill", "links": [], "price": "44.00 EUR"},
}

REACT = """
const e = React.createElement;
function App() {
    const [record, setRecord] = React.useState(null);
    React.useEffect(() => { fetch('/api' + location.pathname).then(r => r.json()).then(setRecord); }, []);
    if (!record) return e('p', null, '...');
    return e('main', null, e('h1', null, record.title), e('p', null, record.price),
             e('ul', null, record.links.map(link => e('li', {key: link}, e('a', {href: link}, link)))));
}
ReactDOM.createRoot(document.getElementById('root')).render(e(App));
"""

VUE = """
Vue.createApp({
    data: () => ({record: null}),
    async mounted() { this.record = await (await fetch('/api' + location.pathname)).json(); },
    template: `<main v-if="record"><h1>{{ record.title }}</h1><p>{{ record.price }}</p>
               <a v-for="link in record.links" :href="link" :key="link">{{ link }}</a></main>`,
}).mount('#app');
"""

SVELTE = """
<script>
    const loaded = fetch('/api' + location.pathname).then(r => r.json());
</script>
{#await loaded then record}
    <main><h1>{record.title}</h1><p>{record.price}</p>
    {#each record.links as link}<a href={link}>{link}</a>{/each}</main>
{/await}
"""

ANGULAR = """
import '@angular/compiler';
import 'zone.js';
import {Component} from '@angular/core';
import {CommonModule} from '@angular/common';
import {bootstrapApplication} from '@angular/platform-browser';
class App {
    constructor() { fetch('/api' + location.pathname).then(r => r.json()).then(record => { this.record = record; }); }
}
const Root = Component({
    selector: 'app-root', standalone: true, imports: [CommonModule],
    template: `<main *ngIf="record"><h1>{{ record.title }}</h1><p>{{ record.price }}</p>
               <a *ngFor="let link of record.links" [href]="link">{{ link }}</a></main>`,
})(App);
bootstrapApplication(Root || App);
"""

FETCH = """
fetch('/api' + location.pathname).then(answer => answer.json()).then(record => {
    const main = document.createElement('main');
    main.innerHTML = `<h1>${record.title}</h1><p>${record.price}</p>`;
    for (const link of record.links) {
        const a = document.createElement('a');
        a.href = link;
        a.textContent = link;
        main.append(a);
    }
    document.body.append(main);
});
"""


def _shell(root: str, *scripts: str) -> str:
    tags = "".join(f'<script src="{script}"></script>' for script in scripts)
    return f"<!doctype html><html><head><title>shop</title></head><body>{root}{tags}</body></html>"


#: Name -> the HTML of each of its pages.
SHELLS = {
    "react": _shell(
        '<div id="root"></div>',
        "/npm/react/umd/react.production.min.js",
        "/npm/react-dom/umd/react-dom.production.min.js",
        "/app.js",
    ),
    "vue": _shell('<div id="app"></div>', "/npm/vue/dist/vue.global.prod.js", "/app.js"),
    "svelte": _shell("", "/vendor.js", "/app.js"),
    "angular": _shell("<app-root></app-root>", "/app.js"),
    "fetch": _shell("<noscript>Please enable JavaScript.</noscript>", "/app.js"),
}

_COMPILE = """
const {compile} = require(process.argv[1] + '/svelte/compiler.cjs');
process.stdout.write(compile(require('fs').readFileSync(0, 'utf8'), {name: 'App'}).js.code
    + "\\nnew App({target: document.body});");
"""


def installed(folder: Path) -> Path:
    """``node_modules`` with the packages; skips where npm is missing or has no network."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm is not installed: apt-get install npm")
    (folder / "package.json").write_text('{"private": true}')
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")
    done = subprocess.run(
        [npm, "install", *options, *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        pytest.skip(f"npm cannot install the frameworks: {done.stderr[-300:]}")
    return folder / "node_modules"


class Application(dict[str, Answer]):
    """The script of a site that serves the application ``name``."""

    def __init__(self, name: str, packages: Path) -> None:
        super().__init__()
        self._packages = packages
        self._shell = Answer(SHELLS[name], headers={"Content-Type": "text/html; charset=utf-8"})
        sources = {"react": REACT, "vue": VUE, "angular": ANGULAR, "fetch": FETCH, "svelte": ""}
        code = sources[name]
        if name == "svelte":
            code = _output(["node", "-e", _COMPILE, str(packages)], SVELTE)
        if name in ("svelte", "angular"):
            options = ("--bundle", "--minify", "--format=iife", "--log-level=error", "--keep-names")
            code = _output([*map(str, packages.glob("@esbuild/*/bin/esbuild")), *options], code, packages.parent)
        self["/app.js"] = _script(code)
        self["/vendor.js"] = _script("window.dataLayer = [];")

    def get(self, place: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        """The answer to a path; of a place with its server's number None."""
        if not place.startswith("/"):
            return None
        if place in self:
            return self[place]
        if place.startswith("/api/"):
            record = RECORDS.get(place.removeprefix("/api"))
            return record and Answer(json.dumps(record), headers={"Content-Type": "application/json"})
        if place.startswith("/npm/") and (file := self._packages / place.removeprefix("/npm/")).is_file():
            return _script(file.read_bytes())
        return self._shell if place in RECORDS else default


def _output(command: list[str], text: str, folder: Path | None = None) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=folder).stdout


def _script(code: str | bytes) -> Answer:
    return Answer(code, headers={"Content-Type": "text/javascript", "Cache-Control": "max-age=3600"})
