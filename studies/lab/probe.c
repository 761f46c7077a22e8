// SPDX-License-Identifier: GPL-2.0
/*
 * probe: sends numbered UDP packets and captures them, to measure a path without TCP.
 *
 *	probe capture DEVICE END_NS
 *	probe send ADDRESS SIZE COUNT BURST INTERVAL_NS START_NS
 *
 * `send` sends COUNT packets with SIZE bytes of IP each, in bursts of BURST packets, the first at START_NS and the next
 * ones every INTERVAL_NS. A packet carries its number and the time at which it was passed to the kernel. `capture`
 * records the packets that arrive on DEVICE; the kernel stamps each on arrival, before any protocol handles it. At
 * END_NS it prints three int64 per packet: number, time sent, time captured. Times are nanoseconds of CLOCK_REALTIME.
 *
 * Both sleep until the next action is due: the lab's clock stands still while a program computes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 9			/* discard */
#define HEADERS (14 + 20 + 8)	/* Ethernet, IP, UDP */
#define BATCH 256		/* packets per system call */
#define BUFFER (256 << 20)	/* bytes of a socket buffer, large enough that neither end drops */
#define READ_NS 100000000LL	/* between two reads of the capture; a packet due meanwhile is late */
#define NS_PER_S 1000000000LL

struct stamp {
	int64_t number, sent_ns;
};

static void probe_die(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t probe_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void probe_sleep_until(int64_t at_ns)
{
	struct timespec t = { at_ns / NS_PER_S, at_ns % NS_PER_S };

	if (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL))
		probe_die("clock_nanosleep");
}

static void probe_set_option(int fd, int level, int option, int value, const char *name)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		probe_die(name);
}

static void probe_store(struct mmsghdr *message, FILE *record)
{
	unsigned char *frame = message->msg_hdr.msg_iov->iov_base;
	struct cmsghdr *control = CMSG_FIRSTHDR(&message->msg_hdr);
	struct timespec t;
	struct stamp stamp;
	int64_t row[3];

	if (message->msg_len < HEADERS + sizeof(stamp))
		return;
	if (!control || control->cmsg_type != SCM_TIMESTAMPNS) {
		fprintf(stderr, "probe: a packet has no time stamp\n");
		exit(1);
	}
	memcpy(&t, CMSG_DATA(control), sizeof(t));
	memcpy(&stamp, frame + HEADERS, sizeof(stamp));
	row[0] = stamp.number;
	row[1] = stamp.sent_ns;
	row[2] = t.tv_sec * NS_PER_S + t.tv_nsec;
	if (fwrite(row, sizeof(row), 1, record) != 1)
		probe_die("record");
}

static void probe_read_captured(int fd, FILE *record)
{
	static char frames[BATCH][HEADERS + sizeof(struct stamp)], controls[BATCH][64];
	static struct iovec pieces[BATCH];
	static struct mmsghdr messages[BATCH];
	int n;

	do {
		for (int i = 0; i < BATCH; i++) {
			pieces[i] = (struct iovec){ frames[i], sizeof(frames[i]) };
			messages[i].msg_hdr = (struct msghdr){
				.msg_iov = &pieces[i], .msg_iovlen = 1,
				.msg_control = controls[i], .msg_controllen = sizeof(controls[i]),
			};
		}
		n = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
		if (n < 0 && errno != EAGAIN)
			probe_die("recvmmsg");
		for (int i = 0; i < n; i++)
			probe_store(&messages[i], record);
	} while (n == BATCH);
}

/* Without a socket on port 9, the kernel answers every packet with an ICMP error. The socket is never read. */
static void probe_open_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)))
		probe_die("port 9");
	probe_set_option(fd, SOL_SOCKET, SO_RCVBUF, 1, "SO_RCVBUF");
}

static int probe_capture(char **arguments)
{
	/* accept UDP to PORT, and copy the packet up to the end of its stamp */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 9),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 14 + 20 + 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, HEADERS + sizeof(struct stamp)),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	struct sockaddr_ll device = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int64_t end_ns = atoll(arguments[1]);
	struct tpacket_stats statistics;
	socklen_t length = sizeof(statistics);
	FILE *record = tmpfile();
	char copy[1 << 16];
	size_t n;
	int fd;

	probe_open_port();
	/* protocol 0: no packet arrives before the filter is attached */
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		probe_die("packet socket");
	probe_set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER, "SO_RCVBUFFORCE");
	probe_set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
	probe_set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
	device.sll_ifindex = if_nametoindex(arguments[0]);
	if (!device.sll_ifindex || bind(fd, (void *)&device, sizeof(device)))
		probe_die(arguments[0]);
	if (!record)
		probe_die("tmpfile");
	for (int64_t at_ns = probe_now_ns(); at_ns < end_ns; at_ns += READ_NS) {
		probe_sleep_until(at_ns);
		probe_read_captured(fd, record);
	}
	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &length))
		probe_die("PACKET_STATISTICS");
	if (statistics.tp_drops) {
		fprintf(stderr, "probe: the capture lost %u of %u packets\n", statistics.tp_drops, statistics.tp_packets);
		return 1;
	}
	rewind(record);
	while ((n = fread(copy, 1, sizeof(copy), record)) > 0)
		if (fwrite(copy, 1, n, stdout) != n)
			probe_die("write");
	return fflush(stdout) ? 1 : 0;
}

/* Pass the packets with the numbers first to first + count - 1 to the kernel. */
static void probe_send_burst(int fd, int64_t first, int count, size_t payload)
{
	static char data[BATCH][1 << 16];
	static struct iovec pieces[BATCH];
	static struct mmsghdr messages[BATCH];

	for (int done = 0; done < count;) {
		int batch = count - done < BATCH ? count - done : BATCH;
		int64_t sent_ns = probe_now_ns();

		for (int i = 0; i < batch; i++) {
			struct stamp stamp = { first + done + i, sent_ns };

			memcpy(data[i], &stamp, sizeof(stamp));
			pieces[i] = (struct iovec){ data[i], payload };
			messages[i].msg_hdr = (struct msghdr){ .msg_iov = &pieces[i], .msg_iovlen = 1 };
		}
		for (int sent = 0; sent < batch;) {
			int n = sendmmsg(fd, messages + sent, batch - sent, 0);

			if (n < 0)
				probe_die("sendmmsg");
			sent += n;
		}
		done += batch;
	}
}

static int probe_send(char **arguments)
{
	struct sockaddr_in target = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	size_t payload = atoi(arguments[1]) - 28;
	int64_t count = atoll(arguments[2]), interval_ns = atoll(arguments[4]), at_ns = atoll(arguments[5]);
	int burst = atoi(arguments[3]), fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (!inet_aton(arguments[0], &target.sin_addr) || fd < 0 || connect(fd, (void *)&target, sizeof(target)))
		probe_die(arguments[0]);
	probe_set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER, "SO_SNDBUFFORCE");
	for (int64_t number = 0; number < count; number += burst, at_ns += interval_ns) {
		probe_sleep_until(at_ns);
		probe_send_burst(fd, number, count - number < burst ? count - number : burst, payload);
	}
	return 0;
}

int main(int argc, char **argv)
{
	/* wake up at the exact nanosecond */
	prctl(PR_SET_TIMERSLACK, 1);
	if (argc == 4 && !strcmp(argv[1], "capture"))
		return probe_capture(argv + 2);
	if (argc == 8 && !strcmp(argv[1], "send") && atoi(argv[3]) >= 28 + (int)sizeof(struct stamp))
		return probe_send(argv + 2);
	fprintf(stderr, "usage: probe capture DEVICE END_NS | probe send ADDRESS SIZE COUNT BURST INTERVAL_NS START_NS\n");
	return 2;
}
