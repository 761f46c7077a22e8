/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Web traffic: transfers of very different sizes, with pauses between them.
 *
 * Sizes are heavy-tailed as measured in M. E. Crovella, A. Bestavros, "Self-Similarity in World Wide Web Traffic",
 * IEEE/ACM Transactions on Networking, 1997. They are uniform over an octave, and the next octave is half as likely: a
 * Pareto distribution of index 1, bounded to WEB_OCTAVES octaves. Pauses are exponential. Both ends of a flow draw the
 * sizes from the same seed, so the receiver knows when a transfer is complete without any header on the wire.
 */
#ifndef FLOW_WEB_H
#define FLOW_WEB_H

#include <stddef.h>
#include <stdint.h>

#define WEB_OCTAVES 11

/* Return the next number of a sequence (S. Vigna's splitmix64). */
static inline uint64_t web_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Return a uniform number from 0 to 1, 1 excluded. */
static inline double web_uniform(uint64_t *state)
{
	return (web_next(state) >> 11) * 0x1p-53;
}

/*
 * Return the bytes of the next transfer. With s the smallest size, octave k, from 2^k s on, has probability 2^-(k+1),
 * the last octave twice that. The middle of octave k is 1.5 2^k s, so the mean is 1.5 ((WEB_OCTAVES - 1) / 2 + 1) s = 9 s.
 */
static inline size_t web_size(uint64_t *state, size_t mean)
{
	int octave = __builtin_ctzll(web_next(state) | 1ULL << (WEB_OCTAVES - 1));
	double size = mean / 9.0 * (1 << octave) * (1 + web_uniform(state));

	return size < 1 ? 1 : size;
}

/* Return an exponential number of mean 1, by comparisons alone (J. von Neumann, 1951). */
static inline double web_exponential(uint64_t *state)
{
	for (int whole = 0;; whole++) {
		double first = web_uniform(state), last = first, next;
		int run = 1;

		while ((next = web_uniform(state)) < last) {
			last = next;
			run++;
		}
		if (run % 2)
			return whole + first;
	}
}

#endif
