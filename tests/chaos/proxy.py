"""A TCP proxy that does to connections what networks do: delays, cuts, swallows.

Each scheduler reaches its store through proxies of its own, so that one of them can be cut off
while the others are not. All proxies share one thread.
"""
import asyncio
import contextlib
import threading

CHUNK = 64 * 1024
# A store that is down refuses; nothing on loopback takes longer to connect unless it is stopped.
CONNECT_SECONDS = 30


class Loop:
    """The thread that all proxies live on."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    def close(self):
        async def cancel():
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(cancel())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


class Proxy:
    """Forwards connections to 127.0.0.1:target. Control it from any thread."""

    def __init__(self, loop, target):
        self.loop = loop
        self.target = target
        self.mode = "open"
        self.delay_seconds = 0.0
        self.pairs = set()
        self.opened = asyncio.Event()
        self.opened.set()
        self.port = loop.run(self._listen())

    def delay(self, seconds):
        """Everything takes so much longer, in each direction."""
        self.delay_seconds = seconds

    def cut(self):
        """Connections are reset, new ones are closed at once."""
        self.loop.run(self._set("cut"))

    def freeze(self):
        """Nothing passes and nobody is told. What was on its way arrives when it is healed."""
        self.loop.run(self._set("frozen"))

    def half_close(self):
        """The store's end is closed, as seen by the scheduler; what it sends still arrives."""
        self.loop.run(self._set("half_closed"))

    def lose_replies(self):
        """Requests arrive and are carried out; no answer comes back."""
        self.loop.run(self._set("deaf"))

    def heal(self, target=None):
        """As new. Connections that lost bytes are reset, the others go on."""
        self.target = target or self.target
        self.delay_seconds = 0.0
        self.loop.run(self._set("open"))

    async def _listen(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _set(self, mode):
        before, self.mode = self.mode, mode
        if mode == "frozen":
            self.opened.clear()
        else:
            self.opened.set()
        if mode == "cut" or before in ("half_closed", "deaf"):
            for pair in list(self.pairs):
                pair.abort()
        if mode == "half_closed":
            for pair in self.pairs:
                pair.half_close()

    async def _serve(self, reader, writer):
        if self.mode == "cut":
            writer.transport.abort()
            return
        await self.opened.wait()
        try:
            there = await asyncio.wait_for(
                asyncio.open_connection("127.0.0.1", self.target), CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError):
            writer.transport.abort()
            return
        pair = Pair(self, (reader, writer), there)
        self.pairs.add(pair)
        if self.mode == "half_closed":
            pair.half_close()
        try:
            await asyncio.gather(pair.pump_requests(), pair.pump_replies())
        except asyncio.CancelledError:
            pass  # Only when all proxies end; asyncio would complain about it.
        finally:
            pair.abort()
            self.pairs.discard(pair)


class Pair:
    """One connection of a scheduler, and its continuation to the store."""

    def __init__(self, proxy, here, there):
        self.proxy = proxy
        self.here_reader, self.here = here
        self.there_reader, self.there = there

    def half_close(self):
        if self.here.can_write_eof():
            with contextlib.suppress(OSError, RuntimeError):
                self.here.write_eof()

    def abort(self):
        for writer in (self.here, self.there):
            writer.transport.abort()

    async def pump_requests(self):
        await self._pump(self.here_reader, self.there, lambda: False)

    async def pump_replies(self):
        await self._pump(self.there_reader, self.here,
                         lambda: self.proxy.mode in ("deaf", "half_closed"))

    async def _pump(self, reader, writer, swallowed):
        try:
            while data := await reader.read(CHUNK):
                if self.proxy.delay_seconds:
                    await asyncio.sleep(self.proxy.delay_seconds)
                await self.proxy.opened.wait()
                if not swallowed():
                    writer.write(data)
                    await writer.drain()
            writer.write_eof()
        except (OSError, RuntimeError):
            self.abort()
