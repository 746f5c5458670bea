"""Extensions of files that are not text."""

from __future__ import annotations

from typing import Final

# Images, sound, video, archives, office documents, parts of pages, programs.  Omitted: extensions that are also
# top-level domains (".ai", ".au", ".pub"), because pages about domains exist; and text (".py", ".rss"), which is read.
_NON_TEXT = """
avif bmp cdr cur drw dwg dxf eps gif heic heif ico jp2 jpe jpeg jpg jxl mng pct pcx png psd psp svg svgz tga tif
tiff webp
aac aif aiff amr flac kar m3u m4a mid midi mka mp3 oga ogg opus ra ram wav weba wma
3gp 3gpp asf asx avi divx f4v flv m2ts m4v mkv mov mp4 mpe mpeg mpg ogv qt rm rmvb swf vob webm wmv
7z 7zip ace arj bz2 cab cpio deb dmg gz img iso jar lz lzma lzo pst rar rpm sit tar tbz tbz2 tgz txz war whl xpi xz zip
zst
doc docb docm docx dot dotm dotx epub mobi odf odg odp ods odt ott pdf pot potm potx pps ppsx ppt pptm pptx ps rtf
vsd vsdx xls xlsb xlsm xlsx xlt xltm xltx
css eot js mjs otf ttf wasm woff woff2
apk appx bat bin cpl dll exe hta ipa msi msp pyc scr
"""
NON_TEXT_EXTENSIONS: Final = frozenset(_NON_TEXT.split())
