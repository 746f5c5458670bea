"""The seen-set: the known URLs, so that none is fetched twice, in any spelling.

    URL -> fingerprint -> cache -> exact store; or a Bloom filter alone, with losses

A store in memory is as fast as a cache: that is for stores on disk.
"""
