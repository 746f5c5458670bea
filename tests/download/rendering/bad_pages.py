"""Pages that are bad for a browser: name -> what its script does."""

from __future__ import annotations

SCRIPTS = {
    "endless": "while (true) {}",
    "endless later": "setTimeout(() => { while (true) {} }, 50)",
    "endless worker": "new Worker(URL.createObjectURL(new Blob(['while (true) {}'])))",
    "endless promises": "(function again() { Promise.resolve().then(again) })()",
    "endless timers": "(function again() { document.title = Math.random(); setTimeout(again, 0) })()",
    "endless requests": "setInterval(() => fetch('/ping?' + Math.random()), 20)",
    "alerts": "while (true) alert('x')",
    "questions": "while (true) { confirm('x'); prompt('y') }",
    "alerts later": "setInterval(() => alert('x'), 1)",
    "one alert": "alert('x')",
    "leave question": "window.onbeforeunload = () => 'stay'; onunload = () => { while (true) {} }",
    "pop-ups": "for (let i = 0; i < 10000; i++) window.open('/pop?' + i)",
    "pop-ups of frames": "for (let i = 0; i < 50; i++) { f = document.createElement('iframe'); document.body.append(f);"
    "f.contentWindow.open('/pop?' + i) }",
    "frames": "for (let i = 0; i < 3000; i++) { f = document.createElement('iframe'); f.src = '/frame?' + i;"
    "document.body.append(f) }",
    "leave for nothing": "location = 'about:blank'",
    "leave for its own": "location = URL.createObjectURL(new Blob(['<p>x'], {type: 'text/html'}))",
    "redirects": "location = '/redirects?' + Math.random()",
    "redirects to itself": "location.reload()",
    "redirects in a flood": "setInterval(() => { location = '/p?' + Math.random() }, 1)",
    "history": "for (let i = 0; i < 10000; i++) history.pushState({}, '', '/h' + i)",
    "download": "location = '/file.zip'",
    "downloads": "for (let i = 0; i < 100; i++) { a = document.createElement('a'); a.href = 'data:application/zip,x';"
    "a.download = 'x'; document.body.append(a); a.click() }",
    "print": "window.print()",
    "close": "window.close()",
    "write": "document.open(); document.write('<p>x'); ",
    "debugger": "debugger",
    "memory of objects": "a = []; while (true) a.push(new Array(1e6).fill(Math.random()))",
    "memory of buffers": "a = []; while (true) a.push(new Uint8Array(1e8).fill(1))",
    "memory step by step": "a = []; setInterval(() => a.push(new Uint8Array(5e7).fill(1)), 1)",
    "large text": "document.body.append('x'.repeat(5e7))",
    "many elements": "document.body.innerHTML = '<p>x</p>'.repeat(2e6)",
    "deep elements": "e = document.body; for (let i = 0; i < 1e5; i++) { n = document.createElement('div');"
    "e.append(n); e = n }",
    "no dom": "document.documentElement.remove()",
    "no promises": "window.Promise = window.Symbol = window.MutationObserver = window.performance = undefined",
    "liar": "Object.defineProperty(document, 'readyState', {get: () => 'loading'});"
    "performance.now = () => { throw 1 }; Element.prototype.querySelectorAll = null",
    "camera": "navigator.mediaDevices && navigator.mediaDevices.getUserMedia({video: true}).catch(() => 0);"
    "Notification.requestPermission()",
    "fullscreen": "document.documentElement.requestFullscreen().catch(() => 0)",
}


def bad_page(name: str) -> str:
    """The page, with a link that it has without its script."""
    return f"<title>{name}</title><body><a href='/linked'>x</a><script>{SCRIPTS[name]}</script></body>"
