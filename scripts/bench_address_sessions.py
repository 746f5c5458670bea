"""Virtual-time crawl: what a limit on sessions at one address costs. Names -> addresses emulated."""
import heapq, random, sys, math
from collections import Counter
from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, BestPrefix

def web(kind, n, rng):
    """names -> addresses"""
    out=[]
    if kind=="own":  # each its own
        return [f"a{i}" for i in range(n)]
    if kind=="one":
        return ["a0"]*n
    if kind=="four":
        return [f"a{rng.randrange(4)}" for _ in range(n)]
    if kind=="colocated":
        # Hoang et al. 2020: 17.5% alone, 22.5% with up to ten, 60% with more than ten; among these 10% at one address
        # (parking, a site builder), 2.5% at each of three, the rest on machines with 11..200 names
        i=0
        while len(out)<n:
            r=rng.random()
            if r<.175: out.append(f"o{i}"); i+=1
            elif r<.4:
                out.append(f"s{rng.randrange(int(n*.225/5)+1)}")
            elif r<.5: out.append("big")
            elif r<.575: out.append(f"cdn{rng.randrange(3)}")
            else: out.append(f"h{int(rng.paretovariate(.8))%max(1,int(n*.425/30))}")
        return out
    if kind=="hosting":  # one small machine with 35 names of n, all others alone
        return ["small"]*35+[f"a{i}" for i in range(n-35)]
def run(kind, n, most, seed, sessions=64, pages=15):
    rng=random.Random(seed)
    addr=web(kind,n,rng)
    f=Frontier(BestPrefix(), Politeness())
    f.queue.share_sessions(0.125)
    f.queue.addresses.limit(most)
    d=Dispatcher(f,sessions)
    mean={}
    total=0
    for i,a in enumerate(addr):
        key=f"http://h{i}.d{i}.com"
        mean[key]=math.exp(rng.gauss(4.57,1.16))/1000
        s=f.servers.get_or_add(key); s.address=a
        c=max(1,int(rng.lognormvariate(math.log(pages),1.2))); c=min(c,2000)
        total+=c
        f.push(Entry(f"{key}/{j}", rng.lognormvariate(0,1)) for j in range(c))
    now=0.0; ev=[]; done=0; q=0.0; t80=None; allq=sum(0 for _ in ())
    curve=[]
    peak=0
    seq=0
    while True:
        while (st:=d.next(now)) is not None:
            key=st.session.server.key
            setup=0.09 if st.session.requests==1 else 0.0
            ft=mean[key]*math.exp(rng.gauss(0,1.1))
            seq+=1
            heapq.heappush(ev,(now+setup+ft,seq,st,setup,ft))
        d.take_closed()
        c=Counter(s.address for s in d.served()); peak=max(peak,max(c.values(),default=0))
        wake=d.wake_at()
        t=min([x for x in ((ev[0][0] if ev else None),wake) if x is not None],default=None)
        if t is None: break
        now=max(now,t)
        while ev and ev[0][0]<=now:
            _,_,st,setup,ft=heapq.heappop(ev)
            key=st.session.server.key
            f.servers.rest(key,now,ft)
            f.record(Measurement(key,now,status=200,connect_time=setup or None,response_time=ft,fetch_time=ft+setup,connection_requests=st.session.requests,size=6000))
            done+=1; q+=st.entry.quality; curve.append((now,q))
            f.links_known(key)
            d.ended(st.session)
    T=curve[-1][0]
    def at(share):
        return next(t for t,x in curve if x>=share*q)
    return T,at(.5),at(.8),at(.95),peak,done
if __name__=="__main__":
    n=int(sys.argv[2]) if len(sys.argv)>2 else 1000
    for kind in sys.argv[1].split(","):
        for most in (0,1,2,4,8,16):
            rs=[run(kind,n,most,seed) for seed in (1,)]
            avg=[sum(r[i] for r in rs)/len(rs) for i in range(4)]
            print(kind,n,"limit",most,"end %.0f s  50%% %.0f  80%% %.0f  95%% %.0f"%tuple(avg),"peak",max(r[4] for r in rs),"pages",rs[0][5],flush=True)
