"""A small server of a real decoder, with random weights and without downloads: decoder.py --port P [options].

POST /generate {"prompt": TEXT, "tokens": N} streams N tokens, one JSON string a line. GET /health is 200 when it is warm, and
its text is the number of requests under way. A transformers Llama (16 layers of 1,024, bfloat16, eager), a BPE tokeniser made
at the start, requests that join and leave between steps: each new one has a prefill, then all rows have one step.

--engine thread: the event loop with the tokeniser and the engine share a process, and the interpreter's lock. --engine process,
as in vLLM: an API server, an engine core that plans the steps, and one worker a GPU: 2 + N processes for N GPUs. With several
GPUs each has the whole model and a part of the rows, and all step together. Unlike vLLM's, a core without work sleeps.
"""

import argparse
import asyncio
import collections
import inspect
import itertools
import json
import multiprocessing
import os
import queue
import random
import signal
import threading
import time
import traceback

MAX_ROWS, MAX_PROMPT, WARM_ROWS = 64, 1024, 12
os.environ.setdefault("HF_HUB_OFFLINE", "1")


class Batch:
    """The rows of one GPU, padded on the left, so that all end at the same place of the cache."""

    def __init__(self, args, vocabulary, gpu):
        import torch
        import transformers

        self.torch, self.new_cache = torch, transformers.DynamicCache
        self.device = torch.device("cuda", gpu) if torch.cuda.is_available() else torch.device("cpu")
        self.layers = args.layers
        self.model = self.build(
            transformers,
            transformers.LlamaConfig(
                vocab_size=vocabulary,
                hidden_size=args.width,
                intermediate_size=args.width * 11 // 4,
                num_hidden_layers=args.layers,
                num_attention_heads=args.width // 64,
                num_key_value_heads=max(1, args.width // 128),
                max_position_embeddings=4096,
            ),
        )
        self.clear()
        self.warm_up(args.warm)

    def warm_up(self, seconds):
        """A load as it will come: kernels are chosen and loaded for each number of rows and each length. Memory is had at once,
        as engines have it: else the cache's new sizes, a cudaMalloc each, make the first 15 seconds three times as slow."""
        if self.device.type == "cuda":
            sizes = [8 << 30] + [1 << 20] * 512
            held = [self.torch.empty(size, dtype=self.torch.uint8, device=self.device) for size in sizes]
            del held
        dice, left, row, end = random.Random(1), {}, 0, time.perf_counter() + seconds
        while left or time.perf_counter() < end:
            if len(left) < dice.randint(0, WARM_ROWS) and time.perf_counter() < end:
                row -= 1
                left[row] = dice.randint(8, 32)
                self.do(("prefill", row, [5] * dice.randint(16, 320)))
            left = {row: n - 1 for row, n in left.items()}
            self.do(("decode", [row for row, n in left.items() if n < 0]))
            left = {row: n for row, n in left.items() if n >= 0}

    def build(self, transformers, config):
        self.torch.manual_seed(1)
        with self.device:
            model = transformers.LlamaForCausalLM(config)
        return model.to(device=self.device, dtype=self.torch.bfloat16).eval()

    def clear(self):
        self.rows, self.lengths, self.cache, self.mask, self.tokens = [], [], None, None, None

    def do(self, message):
        """("prefill", ROW, TOKENS) or ("decode", ROWS THAT LEAVE FIRST): [(row, its next token)]."""
        with self.torch.inference_mode():
            return self.prefill(*message[1:]) if message[0] == "prefill" else self.decode(message[1])

    def forward(self, cache, tokens, mask, positions):
        out = self.model(
            input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True
        )
        return out.logits[:, -1].argmax(-1, keepdim=True)

    def prefill(self, row, prompt):
        torch, cache = self.torch, self.new_cache()
        tokens = torch.tensor([prompt], device=self.device)
        token = self.forward(cache, tokens, None, torch.arange(len(prompt), device=self.device)[None])
        self.rebuild(list(range(len(self.rows))), cache, len(prompt))
        self.rows.append(row)
        self.tokens = token if self.tokens is None else torch.cat([self.tokens, token])
        return [(row, int(token))]

    def decode(self, leave):
        torch = self.torch
        if leave:
            keep = [i for i, row in enumerate(self.rows) if row not in leave]
            if not keep:
                self.clear()
            else:
                self.rebuild(keep)
                self.rows = [self.rows[i] for i in keep]
                self.tokens = self.tokens[torch.tensor(keep, device=self.device)]
        if not self.rows:
            return []
        self.mask = torch.cat([self.mask, torch.ones_like(self.mask[:, :1])], 1)
        positions = torch.tensor(self.lengths, device=self.device)[:, None]
        self.tokens = self.forward(self.cache, self.tokens, self.mask, positions)
        self.lengths = [length + 1 for length in self.lengths]
        return list(zip(self.rows, self.tokens[:, 0].tolist()))

    def rebuild(self, keep, joined=None, joined_length=0):
        """Makes the cache anew, of the rows to keep and the joined one, as long as the longest of them."""
        torch = self.torch
        lengths = [self.lengths[i] for i in keep] + ([joined_length] if joined else [])
        longest = max(lengths)
        index = torch.tensor(keep, device=self.device)
        old = ([(self.cache, index)] if keep else []) + ([(joined, slice(None))] if joined else [])

        def part(tensor, rows):
            lacks = longest - tensor.shape[2]
            return torch.nn.functional.pad(tensor[rows], (0, 0, lacks, 0))  # below 0: cut off

        made = self.new_cache()
        for layer in range(self.layers):
            kept = [(cache.layers[layer], rows) for cache, rows in old]
            keys = torch.cat([part(kv.keys, rows) for kv, rows in kept])
            values = torch.cat([part(kv.values, rows) for kv, rows in kept])
            made.update(keys, values, layer)
        begins = longest - torch.tensor(lengths, device=self.device)
        self.mask = (torch.arange(longest, device=self.device)[None] >= begins[:, None]).long()
        self.cache, self.lengths = made, lengths


class Local:
    """A worker in this process, as a connection to it would look."""

    def __init__(self, batch):
        self.batch = batch

    def send(self, message):
        self.answer = self.batch.do(message)

    def recv(self):
        return self.answer


class Core:
    """Plans the steps. `requests` (recv, poll) brings (id, prompt, tokens), or (id, None, 0) to give one up."""

    def __init__(self, workers, requests, emit):
        self.workers, self.requests, self.emit = workers, requests, emit
        self.waiting = collections.deque()
        self.left = [{} for _ in workers]  # of each worker, row -> tokens to come
        self.leave = [[] for _ in workers]

    def take(self):
        busy = self.waiting or any(self.left) or any(self.leave)
        while not busy or self.requests.poll():
            busy = True
            row, prompt, tokens = self.requests.recv()
            if prompt is not None:
                self.waiting.append((row, prompt, tokens))
                continue
            self.waiting = collections.deque(request for request in self.waiting if request[0] != row)
            for left, leave in zip(self.left, self.leave):
                if left.pop(row, None) is not None:
                    leave.append(row)

    def ask(self, messages):
        asked = [(i, message) for i, message in enumerate(messages) if message]
        for i, message in asked:
            self.workers[i].send(message)
        news = []
        for i, _ in asked:
            for row, token in self.workers[i].recv():
                self.left[i][row] -= 1
                over = self.left[i][row] <= 0
                if over:
                    del self.left[i][row]
                    self.leave[i].append(row)
                news.append((row, token, over))
        self.emit(news)

    def admit(self):
        """Prefills one request on each worker, while some wait and have room."""
        while self.waiting and min(map(len, self.left)) < MAX_ROWS:
            messages = [None] * len(self.workers)
            for i in sorted(range(len(self.workers)), key=lambda i: len(self.left[i])):
                if self.waiting and len(self.left[i]) < MAX_ROWS:
                    row, prompt, tokens = self.waiting.popleft()
                    self.left[i][row] = tokens
                    messages[i] = ("prefill", row, prompt)
            self.ask(messages)

    def step(self):
        self.take()
        self.admit()
        leave, self.leave = self.leave, [[] for _ in self.workers]
        self.ask([("decode", leave[i]) if self.left[i] or leave[i] else None for i in range(len(leave))])


def serve_core(core):
    core.emit("ready")
    while True:
        core.step()


def run_worker(connection, args, vocabulary, gpu):
    batch = Batch(args, vocabulary, gpu)
    connection.send("ready")
    try:
        while True:
            connection.send(batch.do(connection.recv()))
    except (EOFError, OSError):  # the core has ended
        pass


def run_core(connection, args, vocabulary):
    workers = [spawn(run_worker, args, vocabulary, gpu) for gpu in args.gpu]
    try:
        assert [worker.recv() for worker in workers] == ["ready"] * len(workers)
        serve_core(Core(workers, connection, connection.send))
    except (EOFError, OSError):
        pass


def spawn(run, *rest):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    context.Process(target=run, args=(there, *rest), daemon=run is run_worker).start()
    there.close()
    return here


class Requests:
    """A queue with the names of a connection."""

    def __init__(self):
        self.queue = queue.SimpleQueue()
        self.send, self.recv = self.queue.put, self.queue.get

    def poll(self):
        return not self.queue.empty()


def start_thread(args, vocabulary, deliver):
    loop, requests = asyncio.get_running_loop(), Requests()

    def run():
        try:
            workers = [Local(Batch(args, vocabulary, gpu)) for gpu in args.gpu]
            serve_core(Core(workers, requests, lambda news: loop.call_soon_threadsafe(deliver, news)))
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    threading.Thread(target=run, daemon=True).start()
    return requests.send


def start_process(args, vocabulary, deliver):
    connection = spawn(run_core, args, vocabulary)

    def receive():
        try:
            deliver(connection.recv())
        except (EOFError, OSError):
            print("the engine has ended", flush=True)
            os._exit(1)

    asyncio.get_running_loop().add_reader(connection.fileno(), receive)
    return connection.send


def make_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    dice = random.Random(1)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
    words = ["".join(dice.choices(syllables, k=dice.randint(1, 4))) for _ in range(3000)]
    lines = [" ".join(dice.choices(words, k=40)) for _ in range(400)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=4096, initial_alphabet=alphabet, show_progress=False)
    )
    return tokenizer


class Server:
    def __init__(self, args, tokenizer):
        self.args, self.tokenizer = args, tokenizer
        self.streams, self.numbers, self.ready = {}, itertools.count(), False

    async def start(self, _):
        start = start_thread if self.args.engine == "thread" else start_process
        self.submit = start(self.args, self.tokenizer.get_vocab_size(), self.deliver)

    def deliver(self, news):
        if news == "ready":
            self.ready = True
            print("ready", flush=True)
            return
        for row, token, over in news:
            if row in self.streams:
                self.streams[row].put_nowait((token, over))

    async def health(self, _):
        from aiohttp import web

        return web.Response(status=200 if self.ready else 503, text="%d\n" % len(self.streams))

    async def generate(self, request):
        from aiohttp import web

        body = await request.json()
        prompt = self.tokenizer.encode(body["prompt"]).ids[:MAX_PROMPT] or [0]
        row, stream, over = next(self.numbers), asyncio.Queue(), False
        self.streams[row] = stream
        self.submit((row, prompt, max(1, int(body["tokens"]))))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        try:
            await response.prepare(request)
            while not over:
                token, over = await stream.get()
                await response.write(json.dumps(self.tokenizer.decode([token])).encode() + b"\n")
            await response.write_eof()
        except ConnectionError:
            pass
        finally:
            del self.streams[row]
            if not over:
                self.submit((row, None, 0))
        return response


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--engine", choices=("thread", "process"), default="thread")
    parser.add_argument("--gpu", type=lambda text: [int(gpu) for gpu in text.split(",")], default=[0])
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--width", type=int, default=1024, help="a multiple of 128")
    parser.add_argument("--warm", type=float, default=3, help="seconds of own load before it is ready")
    args = parser.parse_args()
    from aiohttp import web

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # workers see their connection end
    server, app = Server(args, make_tokenizer()), web.Application()
    app.on_startup.append(server.start)
    app.add_routes([web.get("/health", server.health), web.post("/generate", server.generate)])
    options = {"host": "127.0.0.1", "port": args.port, "handle_signals": False, "access_log": None, "print": None}
    if "handler_cancellation" in inspect.signature(web.run_app).parameters:
        options["handler_cancellation"] = True  # a client that is gone gives its request up
    web.run_app(app, **options)


if __name__ == "__main__":
    main()
