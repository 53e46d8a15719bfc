"""A client of decoder.py: decoder_client.py URL (--rate R | --concurrency N) [options]; URL is http://localhost:PORT.

--rate is an open loop: R requests a second by a Poisson schedule, whether or not earlier ones are answered. --concurrency is a
closed loop of N. Latency counts from when a request was due. Prints a line each of ttft_* (to the first token), tpot_* (time per
token: from one token to the next, over all tokens of all requests), tokens_s, requests and unfinished: requests that had not
ended half of --seconds after the last was due. Without a first token they count with the time that they had waited.
"""

import argparse
import asyncio
import math
import random
import time

import aiohttp


class Load:
    def __init__(self, args):
        self.args, self.dice = args, random.Random(args.seed)
        self.ttft, self.gaps, self.tokens, self.requests, self.unfinished = [], [], 0, 0, 0

    def prompt(self):
        return " ".join("".join(self.dice.choices("aeioubdklmnrst", k=5)) for _ in range(self.args.words))

    async def ask(self, session, due, counts):
        """One request; what it saw counts if it was due after the settling time."""
        came = []
        self.requests += counts
        try:
            body = {"prompt": self.prompt(), "tokens": self.args.tokens}
            async with session.post(self.args.url.rstrip("/") + "/generate", json=body) as answer:
                answer.raise_for_status()
                async for _ in answer.content:
                    came.append(time.perf_counter())
            if len(came) != self.args.tokens:
                raise RuntimeError("%d of %d tokens came" % (len(came), self.args.tokens))
        except asyncio.CancelledError:
            self.unfinished += counts
        finally:
            if counts:
                self.ttft.append((came[0] if came else time.perf_counter()) - due)
                self.gaps += [b - a for a, b in zip(came, came[1:])]
                self.tokens += len(came)

    async def open_loop(self, session, begin):
        asked, due = [], begin
        while due < begin + self.args.seconds:
            await asyncio.sleep(max(0, due - time.perf_counter()))
            asked.append(asyncio.create_task(self.ask(session, due, due >= begin + self.args.settle)))
            due += self.dice.expovariate(self.args.rate)
        return asked

    async def closed_loop(self, session, begin):
        async def one():
            while (due := time.perf_counter()) < begin + self.args.seconds:
                await self.ask(session, due, due >= begin + self.args.settle)

        asked = [asyncio.create_task(one()) for _ in range(self.args.concurrency)]
        await asyncio.sleep(self.args.seconds)
        return asked

    async def run(self):
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            begin = time.perf_counter()
            asked = await (self.open_loop if self.args.rate else self.closed_loop)(session, begin)
            ended, late = await asyncio.wait(asked, timeout=self.args.seconds / 2)
            span = time.perf_counter() - begin - self.args.settle
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
            for task in ended:
                task.result()  # raises what failed
        return span


def percentile(values, share):
    """In ms, by nearest rank."""
    return 1e3 * sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--concurrency", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=6, help="in which requests are sent")
    parser.add_argument("--settle", type=float, default=1, help="at the begin, which do not count")
    parser.add_argument("--words", type=int, default=64, help="of a prompt")
    parser.add_argument("--tokens", type=int, default=32, help="of an answer")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if bool(args.rate) == bool(args.concurrency):
        parser.error("either --rate or --concurrency")
    load = Load(args)
    span = asyncio.run(load.run())
    for name, values in ("ttft", load.ttft), ("tpot", load.gaps):
        for share in 50, 99:
            print("%s_p%d_ms %.3f" % (name, share, percentile(values, share / 100)))
    print("tokens_s %.1f\nrequests %d\nunfinished %d" % (load.tokens / span, load.requests, load.unfinished))


if __name__ == "__main__":
    main()
