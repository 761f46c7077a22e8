"""The lab's kernel has what a script of a networking course needs; the lab's own experiments see none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.lab import GuestFailed, VirtualLab
from env.lab.kernels import lab_kernel
from tests.support.guest import shell
from tests.support.scripts import PAIR, run, write
from tests.support.tools import find_tool

# each is a kind of device, and its options
DEVICES = """
vxlan id 42 remote 10.9.0.2 dstport 4789 dev d0
geneve id 7 remote 10.9.0.2
gre remote 10.9.0.2
gretap remote 10.9.0.2
ipip remote 10.9.0.2
sit remote 10.9.0.2
ip6tnl remote fd00::2
ip6gre remote fd00::2
macvlan mode bridge
macvtap
ipvlan mode l2
bond mode active-backup
team
wireguard
vrf table 10
vlan id 5
nlmon
bridge vlan_filtering 1 mcast_snooping 1
"""
UPON_A_DEVICE = ("macvlan", "macvtap", "ipvlan", "vlan")
QDISCS = """
drr
choke limit 1000 bandwidth 10mbit
fq_pie
sfb
gred setup DPs 3 default 2
qfq
ets bands 3
hhf
plug
cbs idleslope 98688 sendslope -901312 hicredit 153 locredit -1389
skbprio
sfq
red limit 1000000 avpkt 1000 bandwidth 10mbit
pie
cake
fq
codel
hfsc default 1
htb
"""
FILTERS = """
protocol ip handle 5 fw action ok
handle 1 flow hash keys dst divisor 16 baseclass 1:1
basic match 'meta(priority eq 1)' action ok
basic match 'u32(u32 0 0xf at 0)' action ok
protocol ip route from 1 action ok
u32 match mark 5 0xff action ok
matchall action skbedit mark 3
matchall action vlan push id 9
matchall action nat ingress 10.9.0.1 10.9.0.2
matchall action csum ip
matchall action connmark
matchall action ct
matchall action gact ok random determ drop 2
matchall action skbmod swap mac
matchall action simple sdata x
matchall action sample rate 9 group 1
matchall action mpls push label 7 protocol mpls_uc
matchall action tunnel_key set id 3 src_ip 10.9.0.1 dst_ip 10.9.0.2
protocol ip u32 match u32 0 0 action pedit munge ip ttl set 9
"""
IPTABLES = """
-m conntrack --ctstate NEW
-m state --state NEW
-m limit --limit 5/s
-m recent --set
-m mac --mac 00:01:02:03:04:05
-m mark --mark 1
-m cpu --cpu 0
-m hashlimit --hashlimit 9/s --hashlimit-name h
-p tcp -m multiport --ports 1,2
-p tcp -m tcpmss --mss 1:9
-p tcp -m connlimit --connlimit-above 3
-m statistic --mode random --probability 0.1
-m string --algo bm --string x
-m time --timestart 10:00
-m dscp --dscp 1
-m tos --tos 8
-m length --length 100
-m u32 --u32 0=1
-m connbytes --connbytes 9 --connbytes-dir both --connbytes-mode bytes
-m connmark --mark 1
-m quota --quota 9
-m pkttype --pkt-type unicast
-m addrtype --dst-type LOCAL
-m comment --comment x
-m helper --helper ftp
-m devgroup --src-group 1
-m socket
-m rpfilter
-j MARK --set-mark 1
-j CONNMARK --save-mark
-j DSCP --set-dscp 1
-j TOS --set-tos 8
-j LOG
-j NFQUEUE
-j NFLOG
-p tcp -j TPROXY --on-port 1
-p tcp -j TCPOPTSTRIP --strip-options sack-permitted
"""
IPV4 = """
POSTROUTING -j CLASSIFY --set-class 1:1
FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu
PREROUTING -m ttl --ttl-eq 3
PREROUTING -j TTL --ttl-set 3
PREROUTING -m ecn --ecn-ip-ect 1
PREROUTING -p tcp -j ECN --ecn-tcp-remove
PREROUTING -j TEE --gateway 10.9.0.2
INPUT -t filter -j REJECT
POSTROUTING -t nat -j SNAT --to 10.9.0.1
POSTROUTING -t nat -j MASQUERADE
PREROUTING -t nat -j NETMAP --to 10.9.1.0/24
PREROUTING -t nat -j DNAT --to 10.9.0.1
PREROUTING -t nat -p tcp -j REDIRECT
PREROUTING -t raw -j CT --notrack
PREROUTING -t raw -j TRACE
PREROUTING -t raw -p tcp -j CT --helper ftp
"""
IPV6 = """
PREROUTING -m hl --hl-eq 3
PREROUTING -j HL --hl-set 3
PREROUTING -m rt
PREROUTING -m frag
PREROUTING -m ipv6header --header frag
INPUT -t filter -j REJECT
POSTROUTING -t nat -j MASQUERADE
"""
OTHERS = """
ip -6 addr add fd00::1/64 dev d0 nodad
ip -6 route add fd01::/64 via fd00::2
ip -6 route add fd02::/64 encap seg6 mode encap segs fd00::3 dev d0
ip route add 10.8.0.0/16 nexthop via 10.9.0.2 weight 1 nexthop via 10.9.0.3 weight 2
ip nexthop add id 1 via 10.9.0.2 dev d0
ip route add 10.7.0.0/16 encap mpls 100 via 10.9.0.2
sysctl net.mpls.platform_labels=1000 && ip -f mpls route add 100 via inet 10.9.0.2
ip mptcp limits set subflow 2
ip mptcp endpoint add 10.9.0.1 dev d0 subflow
ip addr add 239.1.1.1 dev d0 autojoin
ls /proc/net/igmp /proc/net/ip_mr_vif /proc/net/ip6_mr_vif /sys/kernel/debug/tracing/events
ss -tuxw0
ss --kill state time-wait
zcat /proc/config.gz
sysctl net.ipv4.tcp_syncookies net.netfilter.nf_conntrack_max
ebtables -A FORWARD -p arp --arp-op Request -j DROP
arptables -A INPUT -s 10.9.0.7 -j DROP
iptables-legacy -A INPUT -j ACCEPT
ip6tables-legacy -A INPUT -j ACCEPT
ipcmk -M 1
for c in bic htcp highspeed hybla scalable lp veno yeah; do sysctl net.ipv4.tcp_congestion_control=$c || exit; done
python3 -c 'import socket; socket.socket(2, 1, 262), socket.socket(2, 1, 132)'
! ip -o link | grep -E 'tunl0|gre0|sit0|bond0|teql0|ip6tnl0|gretap0'
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def commands() -> list[str]:
    """Return shell commands that succeed in a kernel that has everything."""
    return [
        *("ip link add d0 type dummy", "ip link set d0 up", "ip addr add 10.9.0.1/24 dev d0"),
        *(
            f"ip link add {'link d0' if kind.startswith(UPON_A_DEVICE) else ''} name n0 type {kind} && ip link del n0"
            for kind in lines(DEVICES)
        ),
        *(f"tc qdisc replace dev d0 root handle 1: {qdisc} && tc qdisc del dev d0 root" for qdisc in lines(QDISCS)),
        "tc qdisc replace dev d0 clsact",
        *(f"tc filter add dev d0 ingress {rule}" for rule in lines(FILTERS)),
        *lines(OTHERS),
        *(f"{tool} -t mangle -A PREROUTING {rule}" for tool in ("iptables", "ip6tables") for rule in lines(IPTABLES)),
        *(f"iptables {'' if ' -t ' in rule else '-t mangle'} -A {rule}" for rule in lines(IPV4)),
        *(f"ip6tables {'' if ' -t ' in rule else '-t mangle'} -A {rule}" for rule in lines(IPV6)),
    ]


def test_what_courses_use_is_there(tmp_path: Path) -> None:
    find_tool("iptables", "scripts")
    script = write(
        tmp_path,
        "import subprocess\n"
        f"for line in {commands()!r}:\n"
        "    done = subprocess.run(line, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)\n"
        "    if done.returncode:\n"
        "        print(line, done.stderr)\n",
    )
    assert run(tmp_path, "run", "--quiet", script)[0] == ""


def test_two_hosts_speak_ipv6(tmp_path: Path) -> None:
    find_tool("ping", "scripts")
    addresses = "for i, h in enumerate((h1, h2)):\n    h.cmd(f'ip -6 addr add fd00::{i}/64 dev h{i + 1}-eth0 nodad')\n"
    script = write(tmp_path, f"{PAIR}{addresses}print(h1.cmd('ping -6 -c 3 fd00::1'))\nnet.stop()\n")
    assert "3 packets transmitted, 3 received" in run(tmp_path, "run", script)[0]


def test_the_labs_own_experiments_have_no_ipv6() -> None:
    with VirtualLab(seed=1) as lab:
        assert shell(lab, "ip -6 addr; ls -d /proc/net/if_inet6 2>/dev/null || echo none") == "none"


def test_a_module_of_another_kernel_is_refused(tmp_path: Path) -> None:
    kernel = lab_kernel()
    release, other = kernel.release.encode(), tmp_path / "tcp_nv.ko"
    content = (kernel.modules / "tcp_nv.ko").read_bytes()
    other.write_bytes(content.replace(b"vermagic=" + release, b"vermagic=5" + release[1:]))
    _, errors = run(tmp_path, "run", "--module", str(other), write(tmp_path, ""), status=2)
    assert errors.startswith(f"error: {other} is built for 5")
    assert errors.count("\n") == 1
    with VirtualLab(seed=1) as lab:
        with pytest.raises(GuestFailed, match="version magic"):
            lab.load(other)
        lab.load("tcp_nv")
