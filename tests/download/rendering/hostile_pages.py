"""Pages whose scripts try to reach what the crawl may not contact: name -> (body of the page, its headers).

``TARGET`` stands for a forbidden server (host:port), ``PORT`` for its port, ``PUBLIC`` for the allowed one.
"""

from __future__ import annotations

#: Run as scripts.
SCRIPTS = {
    "fetch": "fetch('http://TARGET/')",
    "fetch no-cors": "fetch('http://TARGET/', {mode: 'no-cors'})",
    "fetch post": "fetch('http://TARGET/', {method: 'POST', body: 'x', mode: 'no-cors'})",
    "fetch keepalive": "fetch('http://TARGET/', {keepalive: true, mode: 'no-cors'})",
    "fetch https": "fetch('https://TARGET/', {mode: 'no-cors'})",
    "fetch with target address space": "fetch('http://TARGET/', {mode: 'no-cors', targetAddressSpace: 'loopback'})",
    "fetch with user": "fetch('http://TARGET/', {mode: 'no-cors', credentials: 'include'})",
    "xhr": "x = new XMLHttpRequest(); x.open('GET', 'http://TARGET/'); x.send()",
    "xhr waiting": "x = new XMLHttpRequest(); x.open('GET', 'http://TARGET/', false); try { x.send() } catch (e) {}",
    "localhost": "fetch('http://localhost:PORT/', {mode: 'no-cors'})",
    "a.localhost": "fetch('http://a.localhost:PORT/', {mode: 'no-cors'})",
    "number": "fetch('http://2130706433:PORT/', {mode: 'no-cors'})",
    "hexadecimal": "fetch('http://0x7f.1:PORT/', {mode: 'no-cors'})",
    "unspecified": "fetch('http://0.0.0.0:PORT/', {mode: 'no-cors'})",
    "ipv6": "fetch('http://[::1]:PORT/', {mode: 'no-cors'})",
    "mapped": "fetch('http://[::ffff:127.0.0.1]:PORT/', {mode: 'no-cors'})",
    "mapped hexadecimal": "fetch('http://[::ffff:7f00:1]:PORT/', {mode: 'no-cors'})",
    "compatible": "fetch('http://[::7f00:1]:PORT/', {mode: 'no-cors'})",
    "unspecified ipv6": "fetch('http://[::]:PORT/', {mode: 'no-cors'})",
    "nat64": "fetch('http://[64:ff9b::7f00:1]:PORT/', {mode: 'no-cors'})",
    "6to4": "fetch('http://[2002:7f00:1::]:PORT/', {mode: 'no-cors'})",
    "octal": "fetch('http://0177.0.0.1:PORT/', {mode: 'no-cors'})",
    "short": "fetch('http://127.1:PORT/', {mode: 'no-cors'})",
    "wide digits": "fetch('http://\uff11\uff12\uff17.0.0.1:PORT/', {mode: 'no-cors'})",
    "localhost with a dot": "fetch('http://localhost.:PORT/', {mode: 'no-cors'})",
    "local name": "fetch('http://printer.local:PORT/', {mode: 'no-cors'})",
    "debugging ports": "for (const p of [9222, 9229, 22, 25, 80, 631])"
    "fetch(`http://127.0.0.1:${p}/json`, {mode: 'no-cors'}).catch(() => 0)",
    "credentials in the url": "new Image().src = 'http://a:b@TARGET/'",
    "blob page": "location = URL.createObjectURL(new Blob(['<title>tried</title><script>fetch(`http://TARGET/`)'"
    "+ '<\\/script>'], {type: 'text/html'}))",
    "blob frame": "f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob(["
    "'<script>new WebSocket(`ws://TARGET/`)<\\/script>'], {type: 'text/html'})); document.body.append(f)",
    "data frame": "f = document.createElement('iframe'); f.src = 'data:text/html,<script>fetch(`http://TARGET/`,"
    "{mode: `no-cors`})<\\/script>'; document.body.append(f)",
    "blank frame": "f = document.createElement('iframe'); document.body.append(f);"
    "f.contentWindow.fetch('http://TARGET/', {mode: 'no-cors'})",
    "browser's pages": "for (const u of ['chrome://settings', 'devtools://devtools/bundled/inspector.html?ws=TARGET',"
    "'chrome-extension://x/', 'about:blank#x']) add(`<iframe src=${u}></iframe>`); window.open('chrome://version')",
    "other programs": "for (const u of ['mailto:x', 'ssh://TARGET', 'ftp://TARGET/', 'gopher://TARGET/'])"
    "add(`<iframe src=${u}></iframe>`)",
    "location of another program": "location = 'ssh://TARGET'",
    "paint worklet": "CSS.paintWorklet && CSS.paintWorklet.addModule('http://TARGET/x.js').catch(() => 0)",
    "transformation": "p = new XSLTProcessor(); d = new DOMParser().parseFromString('<!DOCTYPE x SYSTEM"
    "\"http://TARGET/x.dtd\"><x/>', 'text/xml'); add('<iframe src=/transformed.xml></iframe>')",
    "shared worker websocket": "new SharedWorker(URL.createObjectURL(new Blob([\"new WebSocket('ws://TARGET/')\"])))",
    "worker in a worker": "new Worker(URL.createObjectURL(new Blob(['new Worker(URL.createObjectURL(new Blob(["
    '`fetch("http://TARGET/", {mode: "no-cors"})`])))\'])))',
    "on leaving": "for (const e of ['pagehide', 'unload', 'beforeunload', 'visibilitychange']) addEventListener(e,"
    "() => { navigator.sendBeacon('http://TARGET/', e); fetch('http://TARGET/', {mode: 'no-cors', keepalive: true}) })",
    "print": "addEventListener('beforeprint', () => fetch('http://TARGET/', {mode: 'no-cors'})); print()",
    "file chosen": "add('<input type=file>'); document.querySelector('input').click()",
    "name": "fetch('http://evil.test:PORT/', {mode: 'no-cors'})",
    "name of ipv6": "fetch('http://evil6.test:PORT/', {mode: 'no-cors'})",
    "alias": "fetch('http://alias.test:PORT/', {mode: 'no-cors'})",
    "rebinding": "fetch('http://rebinding.test:PORT/close', {mode: 'no-cors'}).finally("
    "() => fetch('http://rebinding.test:PORT/2', {mode: 'no-cors'}))",
    "rebinding of the page": "fetch('http://rebinding.test:PORT/close', {mode: 'no-cors'}).finally("
    "() => { location = 'http://rebinding.test:PORT/2' })",
    "redirect": "fetch('/redirect', {mode: 'no-cors'})",
    "redirect of a script": "s = document.createElement('script'); s.src = '/redirect'; document.head.append(s)",
    "the proxy itself": "for (let p = 30000; p < 30020; p++) fetch(`http://127.0.0.1:${p}/`, {mode: 'no-cors'});"
    "fetch('http://TARGET/', {mode: 'no-cors', headers: {'Proxy-Connection': 'x'}})",
    "script": "s = document.createElement('script'); s.src = 'http://TARGET/'; document.head.append(s)",
    "module": "import('http://TARGET/x.js').catch(() => 0)",
    "image": "new Image().src = 'http://TARGET/'",
    "audio": "new Audio('http://TARGET/').play().catch(() => 0)",
    "beacon": "navigator.sendBeacon('http://TARGET/', 'x')",
    "events": "new EventSource('http://TARGET/')",
    "websocket": "new WebSocket('ws://TARGET/')",
    "secure websocket": "new WebSocket('wss://TARGET/')",
    "websocket by name": "new WebSocket('ws://evil.test:PORT/')",
    "websocket stream": "if (window.WebSocketStream) new WebSocketStream('ws://TARGET/').opened.catch(() => 0)",
    "webrtc stun": "rtc([{urls: 'stun:TARGET'}])",
    "webrtc stun by name": "rtc([{urls: 'stun:evil.test:PORT'}])",
    "webrtc turn udp": "rtc([{urls: 'turn:TARGET?transport=udp', username: 'u', credential: 'p'}])",
    "webrtc turn tcp": "rtc([{urls: 'turn:TARGET?transport=tcp', username: 'u', credential: 'p'}])",
    "webrtc turn tls": "rtc([{urls: 'turns:TARGET?transport=tcp', username: 'u', credential: 'p'}])",
    "webrtc peer": "rtc([], 'candidate:1 1 udp 2122260223 127.0.0.1 PORT typ host')",
    "webrtc peer tcp": "rtc([], 'candidate:1 1 tcp 1518280447 127.0.0.1 PORT typ host tcptype passive')",
    "worker": "new Worker(URL.createObjectURL(new Blob([\"fetch('http://TARGET/', {mode: 'no-cors'})\"])))",
    "worker imports": "new Worker(URL.createObjectURL(new Blob([\"importScripts('http://TARGET/')\"])))",
    "worker websocket": "new Worker(URL.createObjectURL(new Blob([\"new WebSocket('ws://TARGET/')\"])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([\"fetch('http://TARGET/', {mode: 'no-cors'})\"]"
    ")))",
    "location": "location = 'http://TARGET/'",
    "location replaced": "location.replace('http://TARGET/')",
    "location file": "location = 'file:///etc/passwd'",
    "location view-source": "location = 'view-source:http://TARGET/'",
    "pop-up": "window.open('http://TARGET/')",
    "pop-up without opener": "window.open('http://TARGET/', '_blank', 'noopener')",
    "frame": "add('<iframe src=http://TARGET/></iframe>')",
    "frame in a frame": "add('<iframe srcdoc=\"<iframe src=http://TARGET/></iframe>\"></iframe>')",
    "frame redirected": "add('<iframe src=/redirect></iframe>')",
    "frame of a file": "add('<iframe src=file:///etc/passwd></iframe>')",
    "frame that posts": "add('<iframe name=f></iframe><form target=f method=post action=http://TARGET/></form>');"
    "document.forms[0].submit()",
    "sandboxed frame": "add('<iframe sandbox=allow-scripts srcdoc=\"<script>new WebSocket(`ws://TARGET/`);"
    "fetch(`http://TARGET/`, {mode: `no-cors`})<\\/script>\"></iframe>')",
    "form": "add('<form action=http://TARGET/></form>'); document.forms[0].submit()",
    "form by post": "add('<form method=post action=http://TARGET/></form>'); document.forms[0].submit()",
    "ping": "add('<a href=#x ping=http://TARGET/>x</a>'); document.querySelector('a').click()",
    "download": "add('<a href=http://TARGET/x download>x</a>'); document.querySelector('a').click()",
    "file read": "fetch('file:///etc/passwd').then(r => r.text()).then(t => add(t))",
    "file by xhr": "x = new XMLHttpRequest(); x.onload = () => add(x.responseText); x.open('GET', 'file:///etc/passwd');"
    "try { x.send() } catch (e) {}",
    "local network scan": "for (const h of ['10.0.0.1', '192.168.1.1', '169.254.169.254', '172.16.0.1', '100.64.0.1'])"
    "fetch(`http://${h}/`, {mode: 'no-cors'})",
    "ideographic stops": "fetch('http://127。0。0。1:PORT/',{mode:'no-cors'})",
    "circled digits": "fetch('http://①②⑦.0.0.1:PORT/',{mode:'no-cors'})",
    "percent host": "fetch('http://%31%32%37.0.0.1:PORT/',{mode:'no-cors'})",
    "userinfo with at": "new Image().src='http://good0.test@127.0.0.1:PORT/'",
    "scheme relative": "new Image().src='//127.0.0.1:PORT/x'",
    "translated": "fetch('http://[::ffff:0:127.0.0.1]:PORT/',{mode:'no-cors'})",
    "teredo": "fetch('http://[2001:0:7f00:1::80ff:fffe]:PORT/',{mode:'no-cors'})",
    "module worker import": "new Worker(URL.createObjectURL(new Blob(['import \"http://TARGET/x.js\"'],{t"
    "ype:'text/javascript'})),{type:'module'})",
    "nested data worker": 'new Worker(\'data:text/javascript,fetch("http://TARGET/",{mode:"no-cors"});'
    'new WebSocket("ws://TARGET/")\')',
    "worker eventsource": "new Worker(URL.createObjectURL(new Blob(['new EventSource(\"http://TARGET/\")'])))",
    "worker redirect import": 'new Worker(URL.createObjectURL(new Blob([`importScripts("${location.origin'
    '}/redirect")`])))',
    "javascript frame": "f=document.createElement('iframe');f.src=\"javascript:fetch('http://TARGET/"
    "',{mode:'no-cors'});new WebSocket('ws://TARGET/')\";document.body.append(f)",
    "popup document write": "w=window.open('');w&&w.document.write('<img src=http://TARGET/p>')",
    "popup data": "window.open('data:text/html,<img src=http://TARGET/>')",
    "popup blob": "window.open(URL.createObjectURL(new Blob(['<img src=http://TARGET/>'],{type:'text/html'})))",
    "navigation api": "window.navigation&&navigation.navigate('http://TARGET/')",
    "form in popup": "add('<form target=_blank method=post action=http://TARGET/></form>');document.forms[0].submit()",
    "connect ports": "for(const p of [22,25,6379,5432,11211,PORT])fetch(`https://127.0.0.1:${p}/"
    "`,{mode:'no-cors'}).catch(()=>0)",
    "host header": "fetch('/x',{headers:{'Host':'TARGET','Forwarded':'host=TARGET','Proxy-Auth"
    "orization':'Basic eDp5'}})",
    "streaming upload": "fetch('http://TARGET/',{method:'POST',duplex:'half',mode:'no-cors',body:ne"
    "w ReadableStream({start(c){c.enqueue(new Uint8Array([1]));c.close()}})}).c"
    "atch(()=>0)",
    "websocket scan": "for(let p=PORT-5;p<PORT+5;p++){try{new WebSocket(`ws://127.0.0.1:${p}/`)}catch(e){}}",
    "webrtc mdns": "rtc([],'candidate:1 1 udp 2122260223 0e1b2c3d-1111-2222-3333-444455556666.local PORT typ host')",
    "webrtc relay only": "p=new RTCPeerConnection({iceServers:[{urls:['turn:TARGET?transport=udp','t"
    "urn:TARGET?transport=tcp','turns:TARGET'],username:'u',credential:'p'}],ic"
    "eTransportPolicy:'relay'});p.createDataChannel('x');p.createOffer().then(o"
    "=>p.setLocalDescription(o))",
    "webrtc ipv6": "rtc([{urls:'stun:[::1]:PORT'}],'candidate:1 1 udp 2122260223 ::1 PORT typ host')",
    "webrtc in a frame": "add('<iframe srcdoc=\"<script>p=new RTCPeerConnection({iceServers:[{urls:`s"
    "tun:TARGET`}]});p.createDataChannel(`x`);p.createOffer().then(o=>p.setLoca"
    "lDescription(o))<\\/script>\"></iframe>')",
    "constructed sheet": "s=new CSSStyleSheet();s.replace('@import url(http://TARGET/);body{backgrou"
    "nd:url(http://TARGET/b)}').catch(()=>0);document.adoptedStyleSheets=[s]",
    "font face api": "new FontFace('x','url(http://TARGET/f)').load().catch(()=>0)",
    "filters and masks": "document.body.style.filter='url(http://TARGET/f.svg#f)';document.body.styl"
    "e.maskImage='url(http://TARGET/m)';document.body.style.clipPath='url(http:"
    "//TARGET/c.svg#c)'",
    "download via blob name": "add('<a id=a href=/redirect download=x>x</a>');document.getElementById('a').click()",
}

#: Run as scripts of https pages, which may do more.
SECURE = {
    "webtransport": "t = new WebTransport('https://TARGET/'); t.ready.catch(() => 0); t.closed.catch(() => 0)",
    "webtransport by hash": "t = new WebTransport('https://TARGET/', {serverCertificateHashes: [{algorithm: 'sha-256',"
    "value: new Uint8Array(32)}]}); t.ready.catch(() => 0); t.closed.catch(() => 0)",
    "worker webtransport": "new Worker(URL.createObjectURL(new Blob([\"new WebTransport('https://TARGET/')\"])))",
    "service worker": "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js').catch(() => 0)",
    "fetch by https": "fetch('https://TARGET/', {mode: 'no-cors'})",
    "fetch later": "if (window.fetchLater) fetchLater('https://TARGET/', {activateAfter: 0})",
    "local network": "fetch('http://TARGET/', {mode: 'no-cors', targetAddressSpace: 'loopback'})",
    "wss": "new WebSocket('wss://TARGET/')",
    "direct socket": "if (window.TCPSocket) new TCPSocket('127.0.0.1', PORT).opened.catch(() => 0)",
    "payment": "if (window.PaymentRequest) new PaymentRequest([{supportedMethods: 'https://TARGET/'}],"
    "{total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).canMakePayment().catch(() => 0)",
    "credentials": "navigator.credentials.get({identity: {providers: [{configURL: 'https://TARGET/c', clientId: 'x'}]}}"
    ").catch(() => 0)",
    "passkey of another site": "navigator.credentials.create({publicKey: {rp: {id: 'evil.test', name: 'x'}, user: {id:"
    "new Uint8Array(8), name: 'x', displayName: 'x'}, challenge: new Uint8Array(8), pubKeyCredParams: [{type:"
    "'public-key', alg: -7}]}}).catch(() => 0)",
    "audio worklet": "new AudioContext().audioWorklet.addModule('https://TARGET/x.js').catch(() => 0)",
    "background fetch": "navigator.serviceWorker && navigator.serviceWorker.ready.then(r =>"
    "r.backgroundFetch.fetch('x', ['https://TARGET/']))",
    "file system": "window.showOpenFilePicker && showOpenFilePicker().catch(() => 0)",
    "devices": "for (const d of ['usb', 'serial', 'hid', 'bluetooth']) navigator[d] && navigator[d].getDevices &&"
    "navigator[d].getDevices().catch(() => 0)",
    "protocol handler": "navigator.registerProtocolHandler('web+x', location.origin + '/%s'); location = 'web+x:y'",
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
    "web bundle": '<script type=webbundle>{"source": "http://TARGET/b", "resources": ["http://TARGET/x"]}</script>',
    "attribution": "<img attributionsrc=http://TARGET/ src=x.png><a attributionsrc=http://TARGET/ href=#>x</a>",
    "dictionary": "<link rel=compression-dictionary href=http://TARGET/d>",
    "fenced frame": "<fencedframe src=http://TARGET/></fencedframe><portal src=http://TARGET/></portal>",
    "source set": "<picture><source srcset='http://TARGET/a 1x'><img srcset='http://TARGET/b 2x'></picture>",
    "frames of old": "<applet archive=http://TARGET/ code=x></applet><bgsound src=http://TARGET/>",
    "refresh": "<meta http-equiv=refresh content='0; url=http://TARGET/'>",
    "base": "<base href=http://TARGET/><script src=x.js></script>",
    "svg feimage": "<svg><filter id=f><feImage href=http://TARGET/ /></filter><rect width=9 he"
    "ight=9 filter=url(#f) /></svg>",
    "svg script": "<svg><script href=http://TARGET/x.js></script><a href=http://TARGET/><text>x</text></a></svg>",
    "svg animate href": "<svg><image><animate attributeName=href to=http://TARGET/ begin=0s /></image></svg>",
    "svg as image": "<img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><imag"
    "e href='http://TARGET/'/></svg>\">",
    "xml stylesheet frame": '<iframe src=\'data:text/xml,<?xml-stylesheet href="http://TARGET/x.xsl" typ'
    'e="text/xsl"?><a/>\'></iframe>',
    "xhtml dtd frame": "<iframe src='data:application/xhtml+xml,<!DOCTYPE html SYSTEM \"http://TARG"
    'ET/x.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><body><img src="http:'
    "//TARGET/\"/></body></html>'></iframe>",
    "frameset": "<iframe srcdoc='<frameset><frame src=http://TARGET/></frameset>'></iframe>",
    "refresh in frame": "<iframe srcdoc=\"<meta http-equiv=refresh content='0;url=http://TARGET/'>\"></iframe>",
    "input image": "<input type=image src=http://TARGET/><body background=http://TARGET/b><tab"
    "le background=http://TARGET/t><td background=http://TARGET/d>",
    "preload as all": "<link rel=preload as=script href=http://TARGET/script><link rel=preload as"
    "=style href=http://TARGET/style><link rel=preload as=font href=http://TARG"
    "ET/font><link rel=preload as=image href=http://TARGET/image><link rel=prel"
    "oad as=video href=http://TARGET/video><link rel=preload as=audio href=http"
    "://TARGET/audio><link rel=preload as=track href=http://TARGET/track><link "
    "rel=preload as=document href=http://TARGET/document><link rel=preload as=w"
    "orker href=http://TARGET/worker><link rel=preload as=embed href=http://TAR"
    "GET/embed><link rel=preload as=object href=http://TARGET/object><link rel="
    "preload as=json href=http://TARGET/json>",
    "speculation document rules": '<script type=speculationrules>{"prerender":[{"source":"document","eagernes'
    's":"immediate"}],"prefetch":[{"source":"document","eagerness":"immediate"}'
    "]}</script><a href=http://TARGET/>x</a><a href=/redirect>y</a>",
    "shadow root": "<div><template shadowrootmode=open><link rel=stylesheet href=http://TARGET"
    "/><img src=http://TARGET/><script>new WebSocket('ws://TARGET/')</script></"
    "template></div>",
    "object codebase": "<object codebase=http://TARGET/ data=x classid=http://TARGET/c><param name"
    "=src value=http://TARGET/p></object>",
    "import json css": "<script type=module>import j from 'http://TARGET/j' with {type:'json'}</sc"
    "ript><script type=module>import c from 'http://TARGET/c' with {type:'css'}"
    "</script>",
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
    "rules header": {"Speculation-Rules": '"http://TARGET/rules.json"'},
    "link header of all kinds": {
        "Link": "<http://TARGET/1>; rel=dns-prefetch, <http://TARGET/2>; rel=prefetch, <http://TARGET/3>;"
        " rel=prerender, <http://TARGET/4>; rel=modulepreload, <http://TARGET/5>; rel=compression-dictionary"
    },
    "transport security": {"Strict-Transport-Security": "max-age=9999; includeSubDomains; preload"},
    "alternative": {"Alt-Svc": 'h3="TARGET"; ma=999, h2="TARGET"; ma=999', "Refresh": "9; url=http://TARGET/"},
    "refresh header": {"Refresh": "0; url=http://TARGET/"},
    "document policy report": {
        "Document-Policy-Report-Only": "force-load-at-top; report-to=default",
        "Reporting-Endpoints": 'default="http://TARGET/r"',
        "Cross-Origin-Embedder-Policy": 'require-corp; report-to="default"',
        "Cross-Origin-Opener-Policy": 'same-origin; report-to="default"',
    },
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
